after_try_it_locally() {
    is_dev
    means '"audience": "https://ca.example.com"' "\"audience\": \"$(fact audience)\""
    means cli_… "$(fact client_id)"
    means chs_… "$(fact client_secret)"
    means -----BEGIN\ CERTIFICATE\ REQUEST-----… "$(openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout /dev/null -subj / -addext subjectAltName=DNS:www.customer.test 2>/dev/null | awk '{printf "%s\\n", $0}')"
}

after_create_a_customer_account() { said hmacKey; }

after_write_a_robust_client() { said '"status"'; }
