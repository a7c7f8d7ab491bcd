stage() {
    installed
    mkdir backup
    means /backup "$PWD/backup"
}

after_backups() { test -s "backup/chancery-$(date +%F).db"; }

after_test_a_restore() { said primary; }
