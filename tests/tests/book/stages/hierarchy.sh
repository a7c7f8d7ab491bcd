stage() { installed; }

before_cross_sign_an_issuing_ca_2() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -days 3650 -subj "/O=Company/CN=Company Root" \
        -keyout company-key.pem -out company.pem 2>/dev/null
}
after_cross_sign_an_issuing_ca_3() {
    said 'are given chain 1, up to CN=Company Root,O=Company, until'
    chancery ca show --config chancery.toml "Example Issuing CA E1" | grep -F ", preferred)"
}
