// An OpenID provider on loopback for the tests of external identity: the package `oidc-provider` as it is, with
// clients of three kinds and keys that a test can turn.
//
// Prints {"issuer": …} when it can be asked. Then each line of standard input is a command, {"do": "token", …}, and
// each line of standard output its answer. Ends when its input does, so that it never outlives the test.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const installed = createRequire(join(process.env.CHANCERY_TEST_NODE_MODULES, "here.js"));
const load = (name) => import(pathToFileURL(installed.resolve(name)).href);
// The package chats on standard output, which here is for answers alone.
console.info = console.error;
const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);
const [{ default: Provider }, jose] = await Promise.all([load("oidc-provider"), load("jose")]);

// Which reseller a client acts for: one that is there, one that is not, none at all.
const RESELLERS = { demo: "DEMO", ghost: "GHOST", nobody: undefined };
const SECRET = "the secret of a client of the provider";

let callback;
let issuer;
let keys = [];
let turned = 0;
let asked = 0;
let unavailable = false;

const commands = {
    // A token by the client-credentials grant, over HTTP like any client's.
    async token({ client, audience, scope }) {
        const credentials = { client_id: client, client_secret: SECRET };
        const form = { grant_type: "client_credentials", ...credentials, resource: audience, scope };
        const response = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams(form) });
        const body = await response.json();
        if (!response.ok) throw new Error(JSON.stringify(body));
        return { token: body.access_token };
    },

    // Whatever a test wants signed, by the key that the provider signs with now.
    async sign({ header, claims }) {
        const { kid, alg } = keys[0];
        const payload = new TextEncoder().encode(JSON.stringify({ iss: issuer, ...claims }));
        const signing = new jose.CompactSign(payload).setProtectedHeader({ alg, kid, typ: "at+jwt", ...header });
        return { token: await signing.sign(await jose.importJWK(keys[0], alg)) };
    },

    // A new key to sign with. The ones before stay published, or are withdrawn.
    async turn({ keep, alg }) {
        const kid = `key-${++turned}`;
        const { privateKey } = await jose.generateKeyPair(alg, { extractable: true });
        const key = { ...(await jose.exportJWK(privateKey)), kid, alg, use: "sig" };
        keys = [key, ...(keep ? keys : [])];
        callback = provider(alg, kid).callback();
        return { kid };
    },

    // The key of the moment, without its private half.
    async public() {
        const { d, p, q, dp, dq, qi, ...key } = keys[0];
        return key;
    },

    // Whether the keys are to be had.
    async outage({ out }) {
        unavailable = out;
        return {};
    },

    // How often the keys were asked for.
    async asked() {
        return { asked };
    },
};

// The package reads its keys when it is made, so another one takes the place of the one before.
function provider(alg, kid) {
    return new Provider(issuer, {
        jwks: { keys },
        clients: Object.keys(RESELLERS).map((client_id) => ({
            client_id,
            client_secret: SECRET,
            grant_types: ["client_credentials"],
            redirect_uris: [],
            response_types: [],
            token_endpoint_auth_method: "client_secret_post",
        })),
        clientDefaults: { id_token_signed_response_alg: alg },
        enabledJWA: { idTokenSigningAlgValues: ["RS256", "PS256", "ES256", "ES384"] },
        extraTokenClaims: (_, token) => ({ "https://ca.test/reseller": RESELLERS[token.clientId] }),
        features: {
            devInteractions: { enabled: false },
            clientCredentials: { enabled: true },
            resourceIndicators: {
                enabled: true,
                getResourceServerInfo: (_, resource) => ({
                    scope: "reseller read:account write:account something:else",
                    audience: resource,
                    accessTokenFormat: "jwt",
                    accessTokenTTL: 600,
                    jwt: { sign: { alg, kid } },
                }),
            },
        },
    });
}

const server = createServer((request, response) => {
    if (request.url === "/jwks") {
        asked += 1;
        if (unavailable) return response.writeHead(503).end();
    }
    callback(request, response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
issuer = `http://127.0.0.1:${server.address().port}`;
await commands.turn({ keep: false, alg: "ES256" });
say({ issuer });

for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...details } = JSON.parse(line);
    say(await commands[name](details).catch((error) => ({ error: String(error) })));
}
process.exit(0);
