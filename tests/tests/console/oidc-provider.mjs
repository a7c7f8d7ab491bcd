// An OpenID provider on loopback for the tests of signing in: the package `oidc-provider` as it is, which insists on PKCE,
// and a browser that goes through it as somebody. A real browser is asked on a page who it is.
//
//   CHANCERY_TEST_REDIRECT    where it sends people back to; else a name that no browser finds
//
// Prints {"issuer": …, "now": …} when it can be asked. Then each line of standard input is a command, {"do": "visit", …},
// and each line of standard output its answer. Ends when its input does, so that it never outlives the test.

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

const BACK = process.env.CHANCERY_TEST_REDIRECT ?? "https://ca.test/console/sign-in/with/partners/return";
const RESELLER = "https://ca.test/reseller";
const PEOPLE = { anna: { name: "Anna of North", [RESELLER]: "NORTH" }, nobody: { name: "Nobody" } };

let visitor;
const commands = {
    // Follows an address through the provider, signing in as somebody, until it leads away: to where.
    async visit({ url, as }) {
        visitor = as;
        const cookies = new Map();
        for (let hops = 0; hops < 10; hops++) {
            const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
            const response = await fetch(url, { redirect: "manual", headers: { cookie } });
            for (const line of response.headers.getSetCookie()) {
                const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
                cookies.set(name, value);
            }
            const to = response.headers.get("location");
            if (to === null) throw new Error(`${response.status}: ${await response.text()}`);
            url = new URL(to, url).href;
            if (!url.startsWith(issuer)) return { url };
        }
        throw new Error("it leads nowhere");
    },
};

// Whoever follows a link of this page comes back to the console from another site.
function ask(response) {
    const people = Object.entries(PEOPLE).map(([id, { name }]) => `<li><a href="?as=${id}">${name}</a></li>`);
    const page = `<!doctype html><html lang="en"><title>Who are you?</title><link rel="icon" href="data:,"><h1>Who are you?</h1><ul>${people.join("")}</ul></html>`;
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
}

const server = createServer();
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;
const { privateKey } = await jose.generateKeyPair("ES256", { extractable: true });
const key = { ...(await jose.exportJWK(privateKey)), kid: "one", alg: "ES256", use: "sig" };
const code = { grant_types: ["authorization_code"], response_types: ["code"], redirect_uris: [BACK] };
const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
        { ...code, client_id: "open", token_endpoint_auth_method: "none" },
        { ...code, client_id: "with-secret", client_secret: "a secret: 100%", token_endpoint_auth_method: "client_secret_basic" },
    ],
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    pkce: { required: () => true },
    cookies: { keys: ["for tests alone"] },
    claims: { openid: ["sub", RESELLER], profile: ["name"] },
    conformIdTokenClaims: false,
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...PEOPLE[id] }) }),
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    loadExistingGrant: async ({ oidc }) => {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope("openid profile");
        await grant.save();
        return grant;
    },
    features: { devInteractions: { enabled: false } },
});
const callback = provider.callback();
server.on("request", (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    const accountId = visitor ?? new URL(request.url, issuer).searchParams.get("as");
    if (accountId === null) return ask(response);
    provider
        .interactionFinished(request, response, { login: { accountId } })
        .catch((error) => response.writeHead(500).end(String(error)));
});
say({ issuer, now: Math.floor(Date.now() / 1000) });

for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...details } = JSON.parse(line);
    say(await commands[name](details).catch((error) => ({ error: String(error) })));
}
process.exit(0);
