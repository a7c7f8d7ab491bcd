# The log of an order that failed, as another test sees it made (app/chancery/tests/chancery).
stage() {
    means ord_01k9… ord_01k9abc
    printf '%s\n' '{"order": "ord_01k9abc", "message": "order failed"}' '{"order": "ord_other"}' >"$PLACE/log"
}

after_metrics() {
    {
        echo 'groups: [{name: questions, rules: ['
        grep -v '^#' "$BLOCK" | jq -cR '{record: "x", expr: .}' | paste -sd ,
        echo ']}]'
    } >rules.yml
    promtool check rules rules.yml
}

after_logs() { test "$(jq -r .message "$PLACE/said")" = "order failed"; }
