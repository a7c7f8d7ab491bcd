# The perspective is on this machine, in the same network of its own.
stage() {
    configured
    chancery init --config chancery.toml --country XX --organization Example
    ports PERSPECTIVE_PORT
    cp tls/server.pem north.pem
    cp tls/server-key.pem north-key.pem
    means 0.0.0.0:8444 "127.0.0.1:$PERSPECTIVE_PORT"
    means north.example.net:8444 "127.0.0.1:$PERSPECTIVE_PORT"
    means /etc/chancery/north.secret "$PWD/north.secret"
    means /etc/chancery/north-ca.pem "$PWD/north.pem"
}

after_set_up_a_perspective_3() { cat "$BLOCK" >>chancery.toml; }

# What is promised of it: its look stands beside ours.
after_set_up_a_perspective_4() {
    chancery doctor --config chancery.toml --json | jq -e '[.findings[] | select(.check == "perspectives")] | length == 1 and all(.level == "ok")'
    chancery serve --config chancery.toml
    reseller
    web_server
    chancery my account create admin@customer.test
    chancery my order create www.customer.test --account admin@customer.test --webroot www
    order=$(chancery my order list --json | jq -re '(.items? // .)[0].lookup')
    chancery my order show "$order" --json | jq -e '[.. | .perspective? // empty] | unique == ["north", "primary"]'
}
