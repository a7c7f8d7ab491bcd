stage() {
    installed
    mkdir backup
    means /backup "$PWD/backup"
}

before_sqlite_2() {
    stop
    rm chancery.db*
}

after_postgresql() { chancery serve --config chancery.toml; }
