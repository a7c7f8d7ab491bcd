stage() {
    configured
    mkdir tokens
    printf 'directories.tokendir = %s\n' "$PWD/tokens" >softhsm2.conf
    export SOFTHSM2_CONF=$PWD/softhsm2.conf
    means /etc/chancery/pin "$PWD/pin"
}

after_set_up_a_token_2() { cat "$BLOCK" >>chancery.toml; }
after_set_up_a_token_3() {
    chancery ca list --config chancery.toml --json | jq -e 'length == 4 and all(.key_in == "token")'
}

after_existing_cas() {
    chancery ca list --config chancery.toml --json | jq -e 'any(.name == "Example Issuing CA E3" and .key_in == "token")'
}
