stage() { dev; }

after_try_it_with_chancery_dev() {
    openssl x509 -in .lego/certificates/hello.test.crt -noout
    means KID "$KID"
    means HMAC "$HMAC"
}

before_certbot() { certbot_here; }
after_certbot() { openssl x509 -in letsencrypt/live/www.customer.test/fullchain.pem -noout; }

after_lego() { openssl x509 -in .lego/certificates/www.customer.test.crt -noout; }

before_dehydrated() {
    web_server
    mkdir -p www/.well-known/acme-challenge dehydrated
    means /var/lib/dehydrated "$PWD/dehydrated"
}
after_dehydrated() {
    cp "$BLOCK" dehydrated/config
    dehydrated --config dehydrated/config --register --accept-terms
    dehydrated --config dehydrated/config -c -d www.customer.test
    openssl x509 -in dehydrated/certs/www.customer.test/fullchain.pem -noout
}

before_uacme() { export UACME_CHALLENGE_PATH=$PWD/www/.well-known/acme-challenge; }
after_uacme() {
    if grep -q '^skipped' "$PLACE/said"; then return; fi
    openssl x509 -in uacme/www.customer.test/cert.pem -noout
}

before_acme_tiny() {
    openssl req -new -newkey rsa:2048 -nodes -keyout www-key.pem -out www.csr -subj / -addext subjectAltName=DNS:www.customer.test
}
after_acme_tiny() { openssl x509 -in www.pem -noout; }

before_run_a_pebble_compatible_server() { stop; }
after_run_a_pebble_compatible_server() { curl -s "$(fact pebble.directory_url)" | jq -e .newOrder; }

before_run_a_pebble_compatible_server_2() {
    stop
    mkdir -p test/certs/localhost
    self_signed test/certs/localhost/cert.pem test/certs/localhost/key.pem
}
after_run_a_pebble_compatible_server_2() {
    curl -s --cacert test/certs/localhost/cert.pem "$(fact pebble.directory_url)" | jq -e .newOrder
    means https://localhost:15000 "$(fact pebble.management_url)"
}

after_run_a_pebble_compatible_server_3() { openssl x509 -in pebble.minica.pem -noout; }
