stage() {
    configured
    web_server
}

after_installation() { curl -sS "https://localhost:$API_PORT/v1/version" | jq -e .; }

before_resellers_and_api_clients() {
    chancery reseller create --config chancery.toml --code OTHER --name Other
    chancery client create --config chancery.toml --reseller OTHER --json >client.json
    means CLIENT_ID "$(jq -re .client_id client.json)"
}
after_resellers_and_api_clients() {
    chancery reseller resume --config chancery.toml ACME2
    chancery client create --config chancery.toml --reseller ACME2 --json >client.json
    CHANCERY_CLIENT_SECRET=$(jq -re .client_secret client.json) chancery my login --url "https://localhost:$API_PORT" \
        --client-id "$(jq -re .client_id client.json)" --ca-file tls/server.pem
    chancery my account create admin@customer.test
}

before_certificate_authorities() {
    certificate one.customer.test
    means 4a:0b:… "$serial"
    certificate many.customer.test
    echo "$serial" >serials
    openssl x509 -in many.customer.test.pem -out certificates.pem
    crl_of many.customer.test.pem | openssl crl -inform DER -out lists.pem
    cross_signed "Example Issuing CA E1" chain.pem
}

after_several_nodes() {
    mkdir nginx
    sed "s|listen 443 ssl;.*|listen 127.0.0.1:$WEB_PORT ssl; ssl_certificate $PWD/tls/server.pem; ssl_certificate_key $PWD/tls/server-key.pem;|" \
        "$BLOCK" >nginx/site
    echo "pid $PWD/nginx/pid; error_log stderr; events {} http { access_log off; include $PWD/nginx/site; }" >nginx/nginx.conf
    PATH=$PATH:/usr/sbin nginx -t -p "$PWD/nginx" -c "$PWD/nginx/nginx.conf"
}

before_crls_ocsp_and_ca_certificates() {
    certificate two.customer.test
    cp two.customer.test.pem certificate.pem
    openssl x509 -in certificate.pem -noout -issuer
    sed -n '/BEGIN/,$p' two.customer.test.pem | awk '/BEGIN/ { n++ } n > 1' >chain.pem
    cp chain.pem issuer.pem
    chancery ca show --config chancery.toml "Example Root CA 1" --pem >root.pem
}
after_crls_ocsp_and_ca_certificates() { said 'certificate.pem: OK'; said 'certificate.pem: good'; }
