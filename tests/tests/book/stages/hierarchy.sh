stage() { installed; }

before_another_root_above() { cross_signed "Example Issuing CA E1" chain.pem; }
after_another_root_above() {
    chancery ca show --config chancery.toml "Example Issuing CA E1" | grep -F "Other Root"
}
