stage() {
    installed
    mkdir backup
    means /backup "$PWD/backup"
}

# The new machine has the configuration and the keyring, and no database.
before_sqlite_2() {
    stop
    rm chancery.db*
}

# Of PostgreSQL where there is one, and of SQLite otherwise, which it is for as well.
before_postgresql() {
    [ -n "${CHANCERY_TEST_POSTGRES-}" ] || return 0
    database=book_restoring_$$
    sql "CREATE DATABASE $database"
    export CHANCERY__DATABASE__URL=${CHANCERY_TEST_POSTGRES%/*}/$database
    chancery init --config chancery.toml --country XX --organization Example
}
after_postgresql() {
    chancery serve --config chancery.toml
    [ -n "${database-}" ] || return 0
    said "$database"
    stop
    sql "DROP DATABASE $database"
}

sql() { psql --no-psqlrc --quiet --command "$1" "$CHANCERY_TEST_POSTGRES"; }
