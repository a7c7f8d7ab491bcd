# Two logs of two operators are on this machine: the test has started them, and tells where in LOGS.
stage() {
    configured
    chancery init --config chancery.toml --country XX --organization Example
    jq -n --argjson logs "$LOGS" '{log_list_timestamp: (now | todate), operators: [$logs[] | {name: .operator, logs: [
        {description: .operator, key, url, state: {usable: {}}}]}]}' >log_list.json
    means /etc/chancery/log_list.json "$PWD/log_list.json"
}

# The page speaks of public certificates, which need perspectives elsewhere, and the customer is on a network of its own.
eval "$(declare -f well_configured | sed '1s/.*/well_configured_as_it_is ()/')"
well_configured() {
    sed -i 's/^public = true/public = false/' "$1"
    well_configured_as_it_is "$1"
}

after_set_up() { cat "$BLOCK" >>chancery.toml; }

# The logs know no root of ours; they take what they are shown all the same.
before_set_up_2() { means "chancery doctor --config chancery.toml" "chancery doctor --config chancery.toml || true"; }

after_set_up_2() {
    chancery doctor --config chancery.toml --json >doctor.json || true
    jq -e '[.findings[] | select(.check == "logs" and (.what | contains("takes nothing below our root")))] | length == 2' doctor.json
    chancery serve --config chancery.toml
    reseller
    web_server
    chancery my account create admin@customer.test
    certificate www.customer.test
}

after_set_up_3() { [ "$(grep -c 'Signed Certificate Timestamp:' "$PLACE/said")" = 2 ]; }
