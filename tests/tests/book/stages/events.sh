# A receiver that keeps what it is told in ./told, head and body.
receiver() {
    ports RECEIVER_PORT
    beside python3 -c '
import http.server, json, sys
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        open("told", "w").write(json.dumps({"headers": {k.lower(): v for k, v in self.headers.items()}, "body": body.decode()}))
        self.send_response(204)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()' "$RECEIVER_PORT"
}

stage() {
    dev
    api POST /v1/account '{"customer_email": "admin@customer.test"}'
    API=$(fact base_url)
    TOKEN=$(token "$API" chancery-data/dev.json)
}

# The example has the members that events have.
after_events() {
    api GET /v1/event >events.json
    diff <(jq -S 'keys' "$BLOCK") <(jq -S '.items[0] | keys' events.json)
}

# Asked again, with the cursor that was kept, it has nothing new; after something has happened, that.
after_the_feed() {
    said account.created
    test -s cursor
    source "$BLOCK" >again
    test ! -s again
    api POST /v1/account '{"customer_email": "second@customer.test"}' >second.json
    source "$BLOCK" >again
    test "$(wc -l <again)" = 1
}

before_verifying_a_message() {
    receiver
    api POST /v1/webhook "{\"url\": \"http://127.0.0.1:$RECEIVER_PORT/\"}" >webhook.json
    SECRET=$(jq -re .secret webhook.json)
    api POST "/v1/webhook/$(jq -re .lookup webhook.json)/test"
    for _ in $(seq 200); do
        if jq -e .body told; then break; fi
        sleep 0.1
    done
}
after_verifying_a_message() {
    cat "$BLOCK" - >verify.py <<'PY'

import json, sys
told, secret = json.load(open("told")), sys.argv[1]
assert verify(secret, told["headers"], told["body"].encode())
assert not verify(secret, told["headers"], told["body"].encode() + b" ")
PY
    python3 verify.py "$SECRET"
}

before_verifying_a_message_2() {
    WEBHOOK_ID=$(jq -r '.headers["webhook-id"]' told)
    WEBHOOK_TIMESTAMP=$(jq -r '.headers["webhook-timestamp"]' told)
    BODY=$(jq -r .body told)
}
after_verifying_a_message_2() { test "v1,$(cat "$PLACE/said")" = "$(jq -r '.headers["webhook-signature"]' told)"; }
