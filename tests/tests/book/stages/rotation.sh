stage() {
    installed
    reseller
}

# An installation whose one key comes from the environment.
before_key_encryption_key_3() {
    mkdir elsewhere
    cd elsewhere
    printf '[server]\nbase_url = "https://ca.example.com"\n' >chancery.toml
    CHANCERY__KEYS__KEK=$(openssl rand -base64 32)
    export CHANCERY__KEYS__KEK
    chancery init --config chancery.toml
}
after_key_encryption_key_3() {
    chancery kek rotate --config chancery.toml
    cd ..
}

before_issuing_cas_3() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -days 3650 -subj "/O=Company/CN=Company Root" \
        -keyout company-key.pem -out company.pem 2>/dev/null
    openssl x509 -req -in e4.csr -CA company.pem -CAkey company-key.pem -copy_extensions copyall -days 1825 -out e4.pem
    cat e4.pem company.pem >chain.pem
}
after_issuing_cas_3() { chancery ca show --config chancery.toml "Example Issuing CA E4" | grep -F ", preferred)"; }

before_token_signing_keys() {
    TOKEN=$(token "https://localhost:$API_PORT" client.json)
    stop
}
after_token_signing_keys() {
    python3 -c 'import sqlite3, sys
sqlite3.connect("chancery.db", isolation_level=None).execute(sys.stdin.read())' <"$BLOCK"
    chancery serve --config chancery.toml
    if curl -sS -H "Authorization: Bearer $TOKEN" "https://localhost:$API_PORT/v1/account"; then return 1; fi
    TOKEN=$(token "https://localhost:$API_PORT" client.json)
    curl -sS -H "Authorization: Bearer $TOKEN" "https://localhost:$API_PORT/v1/account"
}
