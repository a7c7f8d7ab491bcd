// Verifies an access token as any resource server would, with the package `jose` and nothing of ours: reads
// {"token", "jwks", "issuer", "audience", "now"} from standard input, prints {"header", "claims"} or {"refused"}.

import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const installed = createRequire(join(process.env.CHANCERY_TEST_NODE_MODULES, "here.js"));
const jose = await import(pathToFileURL(installed.resolve("jose")).href);

const { token, jwks, issuer, audience, now } = JSON.parse(await text(process.stdin));
const expected = { issuer, audience, typ: "at+jwt", currentDate: new Date(now * 1000) };
const answer = await jose.jwtVerify(token, jose.createLocalJWKSet(jwks), expected).then(
    ({ protectedHeader, payload }) => ({ header: protectedHeader, claims: payload }),
    (error) => ({ refused: error.code }),
);
console.log(JSON.stringify(answer));
