stage() {
    dev
    chancery my login --dev chancery-data
    mkdir -p completions
    means /etc/bash_completion.d "$PWD/completions"
    means /usr/local/share/man/man1 "$PWD/man1"
}

# What is shown of an error has the members that errors have.
after_for_scripts() {
    local code=0
    chancery my order show ord_00000000000000000000000001 --json 2>error.json || code=$?
    test "$code" = "$(jq -r .error.exitCode "$BLOCK")"
    diff <(jq 'del(.error.answer["…"]) | [paths] | sort' "$BLOCK") \
        <(jq '.error.answer |= {status, code} | [paths] | sort' error.json)
}

after_completions_and_manual_pages() { bash -n completions/chancery && test -s man1/chancery-my-order-create.1; }
