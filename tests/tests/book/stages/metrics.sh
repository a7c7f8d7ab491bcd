# An order that comes to nothing.
stage() {
    dev
    chancery my login --dev chancery-data
    chancery my account create admin@customer.test
    chancery my order create www.customer.test --account admin@customer.test --no-wait --json >order.json || test $? = 3
    order=$(jq -re .order.lookup order.json)
    chancery my order cancel "$order"
    means ord_01k9… "$order"
}

after_metrics() {
    {
        echo 'groups: [{name: questions, rules: ['
        grep -v '^#' "$BLOCK" | jq -cR '{record: "x\(input_line_number)", expr: .}' | paste -sd ,
        echo ']}]'
    } >rules.yml
    promtool check rules rules.yml
}

after_logs() {
    jq -c 'select(.message == "order cancelled")' "$PLACE/said" >line.json
    test "$(jq -r .order line.json)" = "$order"
}

# The line that is shown has what lines have.
after_logs_2() { test "$(jq -s '(.[0] | keys) - (.[1] | keys) - ["authorization"]' "$BLOCK" line.json)" = "[]"; }
