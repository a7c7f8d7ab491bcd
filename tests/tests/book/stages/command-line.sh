stage() {
    mkdir -p completions
    means /etc/bash_completion.d "$PWD/completions"
    means /usr/local/share/man/man1 "$PWD/man1"
}

after_completions_and_manual_pages() { bash -n completions/chancery && test -s man1/chancery-my-order-create.1; }
