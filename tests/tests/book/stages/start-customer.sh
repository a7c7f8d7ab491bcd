stage() {
    dev
    customer
    web_server
}

before_certbot() { certbot_here; }
after_certbot() { openssl x509 -in letsencrypt/live/www.customer.test/fullchain.pem -noout; }

before_lego() {
    web_server_off
    export LEGO_CA_CERTIFICATES
    LEGO_CA_CERTIFICATES=$(fact ca_bundle)
}
after_lego() { openssl x509 -in .lego/certificates/www.customer.test.crt -noout; }
