stage() {
    installed
    web_server
    reseller
    chancery my account create admin@customer.test
    mkdir backup lists certificates
    means /backup "$PWD/backup"
}

# What was issued since the backup is lost, but for what others keep; then the new machine has the configuration and the keyring,
# and no database.
before_sqlite_2() {
    certificate lost.customer.test
    openssl x509 -in lost.customer.test.pem -out certificates/lost.pem
    crl_of lost.customer.test.pem >lists/0.crl
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

before_recover_certificates_and_revocations() { unset CHANCERY__DATABASE__URL; }
after_recover_certificates_and_revocations() { said '1 unknown before, and answered for from now on'; }

sql() { psql --no-psqlrc --quiet --command "$1" "$CHANCERY_TEST_POSTGRES"; }
