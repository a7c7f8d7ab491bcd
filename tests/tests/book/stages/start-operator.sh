stage() {
    ports API_PORT HTTP_PORT ADMIN_PORT DNS_PORT
    export CHANCERY__SERVER__ADMIN_LISTEN=127.0.0.1:$ADMIN_PORT
    mkdir -p etc/chancery/tls var/lib/chancery
    self_signed etc/chancery/tls/server.pem etc/chancery/tls/server-key.pem
    trust "$PWD/etc/chancery/tls/server.pem"
    means /etc/chancery "$PWD/etc/chancery"
    means /var/lib/chancery "$PWD/var/lib/chancery"
    means 0.0.0.0:8443 "127.0.0.1:$API_PORT"
    means 0.0.0.0:8080 "127.0.0.1:$HTTP_PORT"
    means http://127.0.0.1:9090 "http://127.0.0.1:$ADMIN_PORT"
    means https://ca.example.com:8443 "https://127.0.0.1:$API_PORT"
}

after_2_write_the_configuration() { cp "$BLOCK" etc/chancery/chancery.toml; }

after_4_start_2() { openssl x509 -in root.pem -noout -subject | grep "Example GmbH Root CA 1"; }

after_5_add_a_reseller() { said client_secret || said 'client secret'; }
