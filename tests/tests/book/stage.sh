# shellcheck shell=bash disable=SC2034
# What the stages of pages are built with. Sourced by `run`.

# means WORD TEXT: WORD, in the blocks that follow, stands for TEXT.
means() { printf '%s\t%s\n' "$1" "$2" >>"$PLACE/words"; }

# settled FILE: the block with its words replaced, in a file beside it; its name.
settled() {
    perl -e '
        my ($words, $file) = @ARGV;
        my %means;
        if (open my $in, "<", $words) { while (<$in>) { chomp; my ($word, $text) = split /\t/, $_, 2; $means{$word} = $text } }
        open my $in, "<", $file or die; local $/; my $text = <$in>;
        my $any = join "|", map quotemeta, sort { length $b <=> length $a } keys %means;
        $text =~ s/(?<![\w\$])($any)(?!\w)/$means{$1}/g if $any;
        print $text' "$PLACE/words" "$1" >"$1.settled"
    echo "$1.settled"
}

# Ends what the page has started.
stop() {
    [ -e "$PLACE/processes" ] || return 0
    local process
    while read -r process; do kill "$process" 2>/dev/null || true; done <"$PLACE/processes"
    while read -r process; do
        while kill -0 "$process" 2>/dev/null && ! grep -q '^State:.Z' "/proc/$process/status" 2>/dev/null; do sleep 0.05; done
    done <"$PLACE/processes"
    rm "$PLACE/processes"
}

# beside COMMAND: runs until `stop`.
beside() {
    "$@" >>"$PLACE/beside.log" 2>&1 8>&- &
    echo $! >>"$PLACE/processes"
}

# ports NAME…: a variable for each, with one of the ports that this page has been given.
ports() {
    local name
    for name in "$@"; do
        [ -n "$PORTS" ] || { echo "a page is given no more than these ports" >&2; return 1; }
        export "$name=${PORTS%% *}"
        PORTS=${PORTS#* }
    done
}
ports WEB_PORT ALPN_PORT

# The web server of www.customer.test: everything in ./www. Where a client answers by itself it must be off.
web_server() {
    mkdir -p www
    means /var/www/html "$PWD/www"
    beside python3 -m http.server --directory www --bind 127.0.0.1 "$WEB_PORT"
    web_server=$!
    until curl -s "http://127.0.0.1:$WEB_PORT/" >/dev/null; do sleep 0.05; done
}
web_server_off() { kill "$web_server"; wait "$web_server" || true; }

fact() { jq -re ".$1" chancery-data/dev.json; }

# Answers that are refusals end a page; `curl` by itself takes them for answers.
trust() { printf 'cacert = %s\nfail-with-body\n' "$1" >"$HOME/.curlrc"; }

# A running `chancery dev` is the service that pages speak of.
is_dev() {
    means https://ca.example.com "$(fact base_url)"
    means /etc/ssl/ca-of-the-service.pem "$(fact ca_bundle)"
    means customer.example customer.test
    trust "$(fact ca_bundle)"
}

dev() {
    chancery dev "$@"
    is_dev
}

# api METHOD PATH [BODY]: a request of the demo reseller.
api() {
    curl -sS -X "$1" -H "Authorization: $(fact api_key)" -H 'Content-Type: application/json' ${3+-d "$3"} "$(fact base_url)$2"
}

# A customer, whose credential is what pages call KID and HMAC.
customer() {
    api POST /v1/account '{"customer_email": "admin@customer.test"}' >account.json
    means KID "$(jq -re .kid account.json)"
    means HMAC "$(jq -re .hmacKey account.json)"
}

# What certbot is not told on its command line.
certbot_here() {
    mkdir -p .config/letsencrypt letsencrypt
    cat >.config/letsencrypt/cli.ini <<INI
config-dir = $PWD/letsencrypt
work-dir = $PWD/letsencrypt
logs-dir = $PWD/letsencrypt
http-01-port = $WEB_PORT
http-01-address = 127.0.0.1
non-interactive = true
INI
    export REQUESTS_CA_BUNDLE
    REQUESTS_CA_BUNDLE=$(fact ca_bundle)
}

# self_signed CERTIFICATE KEY: for this machine.
self_signed() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
        -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
        -keyout "$2" -out "$1" 2>/dev/null
}

# chancery.toml of an installation on SQLite, in a network of its own in which every name leads to this machine.
configured() {
    ports API_PORT HTTP_PORT ADMIN_PORT DNS_PORT
    export CHANCERY__SERVER__ADMIN_LISTEN=127.0.0.1:$ADMIN_PORT
    beside python3 "$BOOK/../../../packaging/deb/try-dns.py" "$DNS_PORT"
    mkdir -p tls
    self_signed tls/server.pem tls/server-key.pem
    trust "$PWD/tls/server.pem"
    means http://pki.example.com "http://127.0.0.1:$HTTP_PORT"
    means customer.example customer.test
    cat >chancery.toml <<TOML
[server]
listen = "127.0.0.1:$API_PORT"
http_listen = "127.0.0.1:$HTTP_PORT"
base_url = "https://localhost:$API_PORT"
http_url = "http://127.0.0.1:$HTTP_PORT"

[server.tls]
certificate = "tls/server.pem"
key = "tls/server-key.pem"

[database]
url = "sqlite://chancery.db"

[dcv]
resolvers = ["127.0.0.1:$DNS_PORT"]
dnssec = "off"
allow_special_addresses = true
http01_port = $WEB_PORT
TOML
}

# The same with keys, schema and CAs, and running.
installed() {
    configured
    chancery init --config chancery.toml --country XX --organization Example
    chancery serve --config chancery.toml
}

# The reseller ACME2, with a client that pages call CLIENT_ID; logged in.
reseller() {
    chancery reseller create --config chancery.toml --code ACME2 --name "Second reseller"
    chancery client create --config chancery.toml --reseller ACME2 --json >client.json
    means CLIENT_ID "$(jq -re .client_id client.json)"
    CHANCERY_CLIENT_SECRET=$(jq -re .client_secret client.json) chancery my login --url "https://localhost:$API_PORT" \
        --client-id "$(jq -re .client_id client.json)" --ca-file tls/server.pem
}

# token URL FILE: for the client that the file tells of.
token() {
    jq '{grant_type: "client_credentials", audience, client_id, client_secret}' "$2" |
        curl -sS "$1/oauth/token" -H 'Content-Type: application/json' -d @- | jq -re .access_token
}

# certificate NAME: one for the customer, in NAME.pem; its serial number is in `serial`.
certificate() {
    chancery my order create "$1" --account admin@customer.test --webroot www
    serial=$(openssl x509 -in "$1.pem" -noout -serial | cut -d = -f 2)
}

# crl_of FILE: the revocation list that a certificate names, in DER.
crl_of() {
    curl -sS "$(openssl x509 -in "$1" -noout -ext crlDistributionPoints | sed -n 's/^ *URI://p')"
}

# cross_signed CA FILE: the chain by which another root vouches for an issuing CA.
cross_signed() {
    chancery ca show --config chancery.toml "$1" --pem >own.pem
    openssl x509 -in own.pem -noout -pubkey >own-key.pem
    local identifier
    identifier=$(openssl x509 -in own.pem -noout -ext subjectKeyIdentifier | tail -n 1 | tr -d ' :')
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/O=Other/CN=Other Root" \
        -keyout other-key.pem -out other.pem 2>/dev/null
    openssl x509 -new -force_pubkey own-key.pem -days 20 -CA other.pem -CAkey other-key.pem \
        -subj "$(openssl x509 -in own.pem -noout -subject -nameopt compat | sed 's/^subject=//')" \
        -extfile <(printf 'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\nsubjectKeyIdentifier=%s\nauthorityKeyIdentifier=keyid\nextendedKeyUsage=serverAuth,clientAuth\n' "$identifier") \
        -out crossed.pem
    cat crossed.pem other.pem >"$2"
}

# A configuration is one that `check-config` takes, beside what this machine needs.
well_configured() {
    local folder
    folder=$(mktemp -d "$PLACE/configured.XXXXXX")
    cp "$1" "$folder/chancery.toml"
    mkdir "$folder/tls"
    self_signed "$folder/tls/server.pem" "$folder/tls/server-key.pem"
    (
        if ! grep -q '^base_url' "$1"; then export CHANCERY__SERVER__BASE_URL=https://ca.example.com; fi
        chancery check-config --config "$folder/chancery.toml"
    )
}

# request FILE: sends what the block says, as $TOKEN where it has a token.
request() {
    local method path header arguments=()
    {
        read -r method path
        while IFS= read -r header && [ -n "$header" ]; do
            arguments+=(-H "${header/Bearer …/Bearer ${TOKEN-}}")
        done
        curl -sS -X "$method" -H 'Content-Type: application/json' "${arguments[@]}" --data-binary @- "$BASE$path"
    } <"$1"
}

# span FILE: a command between backticks runs, or is only named, without what it needs. What it starts is ended at once.
span() {
    local code=0
    echo "$(<"$1")" >&8
    mv "$PLACE/processes" "$PLACE/kept"
    bash "$1" 2>&1 | tee "$PLACE/span" || code=$?
    stop
    mv "$PLACE/kept" "$PLACE/processes"
    if [ "$code" = 2 ] && grep -qE 'required arguments were not provided|a command is missing' "$PLACE/span"; then return 0; fi
    return "$code"
}

# said TEXT: the block has printed this.
said() { grep -qF -- "$1" "$PLACE/said" || { echo "not said: $1"; return 1; }; }
