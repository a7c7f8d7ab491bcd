stage() {
    installed
    mkdir backup
    means /backup "$PWD/backup"
}

after_backups_an_overview() { test -s "backup/chancery-$(date +%F).db"; }

after_try_it() { said primary; }
