# What it prints for pasting is pasted, up to the certificate; its pages are there.
after_run_it() {
    is_dev
    sed -n '/^Try it/,/^  Everything/p' "$PLACE/log" | sed '1d;$d' | grep -v '^  #' >printed
    test "$(grep -c . printed)" = 4
    source printed
    curl -sS "$(fact base_url)/docs"
    curl -sS "$(fact base_url)/console"
}
