// acme-client from npm, driven against a running service.
//
// The environment says where it is and who we are, as for every program in this folder; see libraries.rs.

import assert from 'node:assert/strict';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import tls from 'node:tls';

const environment = (name) => process.env[`CHANCERY_${name}`] ?? assert.fail(`CHANCERY_${name} is not set`);
const acme = createRequire(join(environment('TEST_NODE_MODULES'), 'from-here.js'))('acme-client');

const client = new acme.Client({
  directoryUrl: environment('DIRECTORY'),
  accountKey: await acme.crypto.createPrivateEcdsaKey(),
  externalAccountBinding: { kid: environment('KID'), hmacKey: environment('HMAC') },
  // Its own patience with a server that has not decided yet: more looks, sooner.
  backoffAttempts: 30,
  backoffMin: 200,
  backoffMax: 2000,
});

const one = await obtain('one', ['a.npm.test'], 'http-01');
await obtain('hundred', Array.from({ length: 100 }, (_, index) => `n${index + 1}.npm.test`), 'http-01');
await obtain('wild', ['*.w.npm.test', 'w.npm.test'], 'dns-01');
await obtain('alpn', ['t.npm.test'], 'tls-alpn-01');
await obtain('renewed', ['a.npm.test'], 'none: the name is known');

await client.revokeCertificate(one, { reason: 4 });
await assert.rejects(client.revokeCertificate(one), /is revoked already|already/);
await client.updateAccount({ contact: ['mailto:other@example.com'] });
await client.updateAccountKey(await acme.crypto.createPrivateRsaKey());
const account = await client.updateAccount({});
assert.deepEqual([account.status, account.contact], ['valid', ['mailto:other@example.com']]);
assert.equal((await client.updateAccount({ status: 'deactivated' })).status, 'deactivated');
await assert.rejects(client.createOrder({ identifiers: [{ type: 'dns', value: 'a.npm.test' }] }), /deactivated/);

async function obtain(file, altNames, type) {
  const [, csr] = await acme.crypto.createCsr({ altNames }, await acme.crypto.createPrivateEcdsaKey());
  const servers = new Map();
  const chain = await client.auto({
    csr,
    email: 'npm@example.com',
    termsOfServiceAgreed: true,
    // Its own look at the names first would ask a resolver that does not know them.
    skipChallengeVerification: true,
    challengePriority: [type],
    async challengeCreateFn(authorization, challenge, answer) {
      assert.equal(challenge.type, type);
      if (type === 'tls-alpn-01') servers.set(challenge.token, await show(authorization, answer));
      else if (type === 'dns-01') appendFileSync(place(authorization, challenge), `${answer}\n`);
      else writeFileSync(place(authorization, challenge), answer);
    },
    async challengeRemoveFn(authorization, challenge) {
      if (type === 'tls-alpn-01') servers.get(challenge.token).close();
      // Two challenges for one name share a file; the other may not have been looked at yet.
      else if (type === 'http-01') rmSync(place(authorization, challenge));
    },
  });
  if (type === 'dns-01') rmSync(join(environment('ANSWERS'), 'txt', '_acme-challenge.w.npm.test'));
  writeFileSync(join(environment('OUT'), `${file}.pem`), chain);
  return chain;
}

function place(authorization, challenge) {
  const parts = challenge.type === 'dns-01' ? ['txt', `_acme-challenge.${authorization.identifier.value}`] : ['web', challenge.token];
  return join(environment('ANSWERS'), ...parts);
}

async function show(authorization, answer) {
  const [key, cert] = await acme.crypto.createAlpnCertificate(authorization, answer);
  const server = tls.createServer({ key, cert, ALPNProtocols: ['acme-tls/1'] });
  // The server hangs up as soon as it has seen the certificate.
  server.on('tlsClientError', () => {}).on('secureConnection', (socket) => socket.on('error', () => {}).end());
  await new Promise((listening) => server.listen(Number(environment('TLS_PORT')), '127.0.0.1', listening));
  return server;
}
