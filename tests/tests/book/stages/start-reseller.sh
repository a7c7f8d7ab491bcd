after_try_it_without_anybody() {
    is_dev
    means '"audience": "https://ca.example.com"' "\"audience\": \"$(fact audience)\""
    means cli_… "$(fact client_id)"
    means chs_… "$(fact client_secret)"
    means -----BEGIN\ CERTIFICATE\ REQUEST-----… "$(openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
        -keyout /dev/null -subj / -addext subjectAltName=DNS:www.customer.test 2>/dev/null | awk '{printf "%s\\n", $0}')"
}

after_the_shortest_way_to_a_certificate() { said hmacKey; }

after_what_to_build_in_from_the_first_day() { said '"status"'; }
