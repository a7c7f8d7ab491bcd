# An installation that commands find by themselves, with what those between backticks are about.
stage() {
    installed
    reseller
    web_server
    chancery my account create admin@customer.test
    certificate www.customer.test
    openssl x509 -in www.customer.test.pem -out certificate.pem
    export CHANCERY_CONFIG=$PWD/chancery.toml CHANCERY_CA_FILE=$PWD/tls/server.pem CHANCERY_URL=https://localhost:$API_PORT
    CHANCERY_CLIENT_ID=$(jq -re .client_id client.json)
    CHANCERY_CLIENT_SECRET=$(jq -re .client_secret client.json)
    export CHANCERY_CLIENT_ID CHANCERY_CLIENT_SECRET
    chancery ca create --kind ec-p256
    means https://ca.example.com "https://localhost:$API_PORT"
    chancery reseller create --code OTHER --name Other
    means CODE OTHER
    # One that is active still.
    # shellcheck disable=SC2016
    means NAME '"$(chancery ca list --json | jq -r "[.[] | select(.state == \"active\" and .key_type == \"ec-p256\")][0].name")"'
    means NORTH ACME2
    # Another one each time.
    # shellcheck disable=SC2016
    means FILE '"$(mktemp -u "$PLACE/copy.XXXXXX")"'
}
