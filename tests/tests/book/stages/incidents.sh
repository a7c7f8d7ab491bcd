stage() {
    installed
    web_server
    reseller
    chancery my account create admin@customer.test
    BASE=https://localhost:$API_PORT
    TOKEN=$(token "$BASE" client.json)
    certificate one.customer.test
    means 4a0b… "$serial"
    certificate two.customer.test
    means 2027-01-10T00:00:00Z "$(date -u -d yesterday +%FT00:00:00Z)"
    means 2027-01-12T00:00:00Z "$(date -u -d tomorrow +%FT00:00:00Z)"
}

issued() { chancery my certificate list --status issued --json | jq '.items | length'; }

# Another client than the one that the rest of the page needs.
before_leaked_client_secret_or_access_token() {
    chancery client create --config chancery.toml --reseller ACME2 --json >leaked.json
    means CLIENT_ID "$(jq -re .client_id leaked.json)"
    curl -sS -H "Authorization: Bearer $(token "$BASE" leaked.json)" -H 'Content-Type: application/json' \
        -d '{"customer_email": "thief@customer.test"}' "$BASE/v1/account"
}
after_leaked_client_secret_or_access_token() { said account.create; }

after_compromised_subscriber_key() { test "$(issued)" = 1; }

after_mass_revocation() {
    test "$(wc -l <serials)" = 2
    said "1 revoked, 1 revoked already, 0 unknown."
    test "$(issued)" = 0
}

before_mass_revocation_2() {
    certificate three.customer.test
    certificate four.customer.test
    test "$(issued)" = 2
}
after_mass_revocation_2() { test "$(issued)" = 0; }

after_compromised_issuing_ca_key() {
    test "$(chancery ca show --config chancery.toml "Example Issuing CA E1" --json | jq -r .state)" = revoked
}
