// The page at /docs, in a browser, against a running `chancery dev`.
//
//   CHANCERY_TEST_DEV_JSON        the dev.json of that server
//   CHANCERY_TEST_NODE_MODULES    node_modules with playwright-core and axe-core
//   CHANCERY_TEST_CHROMIUM        the browser; where it is not set, `chromium` of the PATH
//
// Run with `node --test tests/browser`. Without the first two it is skipped, unless CHANCERY_REQUIRE_TOOLS is set.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { chromium } from './chromium.mjs';

const { CHANCERY_TEST_DEV_JSON: devJson, CHANCERY_TEST_NODE_MODULES: modules, CHANCERY_REQUIRE_TOOLS: required } = process.env;
const missing = (!devJson && 'CHANCERY_TEST_DEV_JSON is not set') || (!modules && 'CHANCERY_TEST_NODE_MODULES is not set');
if (missing && required) throw new Error(missing);

const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

describe('the page at /docs', { skip: missing }, () => {
  let browser, dev, axe, api;

  before(async () => {
    const require = createRequire(join(modules, 'from-here.js'));
    dev = JSON.parse(readFileSync(devJson, 'utf8'));
    axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    browser = await require('playwright-core').chromium.launch({ executablePath: chromium(), args: ['--no-sandbox', '--headless'] });
    const { page } = await open('');
    api = await page.evaluate(async () => (await fetch('/openapi.json')).json());
    await page.context().close();
  });

  after(() => browser?.close());

  // Opens the page at an address, and keeps what the browser complains of: errors, refusals by the policy, failed loads.
  async function open(hash, { prepare, ...options } = {}) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: DESKTOP, ...options });
    const page = await context.newPage();
    const complaints = [];
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
    page.on('pageerror', (error) => complaints.push(String(error.stack)));
    await prepare?.(page);
    await page.goto(`${dev.base_url.replace(/\/$/, '')}/docs${hash}`);
    await page.waitForSelector('main h1');
    return { page, complaints };
  }

  async function logIn(page, secret = dev.client_secret) {
    await page.click('#session');
    await page.fill('#client-id', dev.client_id);
    await page.fill('#client-secret', secret);
    await page.fill('#audience', dev.audience);
    await page.click('#login button');
    await page.waitForSelector('#logout:visible, #failure:not(:empty)');
  }

  async function go(page, hash) {
    await page.evaluate((target) => { location.hash = target; }, hash);
    await page.waitForFunction((target) => document.querySelector(`#list [aria-current=page]`)?.hash === target, hash);
  }

  async function violations(page) {
    await page.evaluate(axe);
    const { violations: found } = await page.evaluate(() => window.axe.run(document));
    return found.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => `${impact} ${id} at ${target}: ${failureSummary}`));
  }

  test('lists every operation of the document without a login', async () => {
    const { page, complaints } = await open('');
    const count = Object.values(api.paths).flatMap((item) => Object.keys(item).filter((key) => key !== 'parameters')).length;
    assert.equal(await page.locator('.index li').count(), count);
    assert.equal(await page.locator('#list section:not(:last-of-type) li').count(), count);
    assert.deepEqual(complaints, []);
  });

  test('offers the audience of the server', async () => {
    const { page } = await open('');
    await page.waitForFunction(() => document.getElementById('audience').value !== '');
    assert.equal(await page.inputValue('#audience'), dev.audience);
  });

  test('logs in and lists accounts', async () => {
    const { page, complaints } = await open('#listAccounts');
    await logIn(page);
    assert.match(await page.textContent('#scopes'), /reseller/);
    assert.match(await page.textContent('#until'), /\d.* left\)/);
    await page.click('#done');
    assert.match(await page.textContent('#session'), /^Logged in/);

    await page.fill('[id="listAccounts-query-limit"]', '2');
    assert.match(await page.textContent('.console .block:last-child pre'), /^curl 'http.*\/v1\/account\?limit=2' \\\n {2}-H "Authorization: Bearer \$TOKEN"$/);
    await page.click('.send');
    await page.waitForSelector('.result .status');
    assert.match(await page.textContent('.result'), /^200 .*\d+ ms/);
    const answer = JSON.parse(await page.textContent('.answer pre'));
    assert.ok(Array.isArray(answer.items), 'a page of accounts');
    assert.match(await page.textContent('.answer .headers'), /content-type/);
    assert.deepEqual(complaints, []);
  });

  test('keeps the token nowhere but in memory, and forgets it and the answers at logout', async () => {
    const { page } = await open('#listAccounts');
    await logIn(page);
    await page.click('#done');
    await page.click('.send');
    await page.waitForSelector('.result .status');
    assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length + document.cookie.length), 0);
    assert.equal(await page.inputValue('#client-secret'), '');
    await page.click('#session');
    await page.click('#logout');
    assert.equal(await page.locator('.answer pre').count(), 0);
    await page.keyboard.press('Escape');
    assert.equal(await page.textContent('#session'), 'Log in');
    await page.click('.send');
    await page.waitForSelector('.result .status');
    assert.match(await page.textContent('.result'), /^401/);
  });

  test('says in words why there is no token, no answer, no permission', async () => {
    const { page } = await open('#listAccounts');
    await page.click('.send');
    assert.match(await page.textContent('.trouble'), /You are not logged in/);
    await logIn(page, 'not the secret');
    assert.match(await page.textContent('#failure'), /client secret is not right/);
    await page.fill('#pasted', 'not a token');
    await page.click('#paste button');
    await page.click('#done');
    await page.click('.send');
    await page.waitForSelector('.trouble >> text=does not accept your token');
    await page.context().setOffline(true);
    await page.click('.send');
    await page.waitForSelector('.trouble >> text=could not be reached');
  });

  test('draws every operation and schema, and fits a phone', async () => {
    const { page, complaints } = await open('', { viewport: PHONE });
    const hashes = await page.$$eval('#list a', (links) => links.map((link) => link.hash).filter(Boolean));
    assert.ok(hashes.length > 20);
    for (const hash of hashes) {
      await go(page, hash);
      await page.$$eval('main details', (all) => all.forEach((details) => { details.open = true; }));
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${hash} is ${wide} pixels too wide`);
    }
    assert.deepEqual(complaints, []);
  });

  test('is found by the keyboard alone', async () => {
    const { page } = await open('');
    await page.keyboard.press('/');
    await page.keyboard.type('creates root account');
    assert.deepEqual(await page.$$eval('#list li:not([hidden]) a', (links) => links.map((link) => link.hash)), ['#createAccount']);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h1:focus');
    assert.equal(await page.textContent('h1'), api.paths['/v1/account'].post.summary);
  });

  for (const [name, options] of Object.entries({
    light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { viewport: PHONE, hasTouch: true },
  })) {
    test(`has nothing that shuts people out: ${name}`, async () => {
      const { page } = await open('', options);
      assert.deepEqual(await violations(page), []);
      await go(page, '#listAccounts');
      await page.click('.send');
      await page.waitForSelector('.trouble');
      await page.$$eval('main details', (all) => all.forEach((details) => { details.open = true; }));
      assert.deepEqual(await violations(page), []);
      await go(page, '#createAccount');
      assert.deepEqual(await violations(page), []);
      await go(page, '#schema-Account');
      assert.deepEqual(await violations(page), []);
      await page.click('#session');
      assert.deepEqual(await violations(page), []);
      await page.keyboard.press('Escape');
      await logIn(page);
      assert.deepEqual(await violations(page), []);
    });
  }

  test('shows markup in the document as text, and stops at schemas that hold themselves', async () => {
    const { page, complaints } = await open('#hostile', { prepare: (one) => one.route('**/openapi.json', (route) => route.fulfill({ json: HOSTILE })) });
    assert.match(await page.textContent('.lead'), /<img src=x onerror=/);
    assert.equal(await page.locator('main img, main script, main a[href^="javascript"]').count(), 0);
    for (const name of Object.keys(HOSTILE.components.schemas)) {
      await go(page, `#schema-${name}`);
      await page.$$eval('main details', (all) => all.forEach((details) => { details.open = true; }));
    }
    assert.deepEqual(complaints, []);
  });

  test('shows whole numbers as the server sent them', async () => {
    const { page } = await open('#getVersion', { prepare: (one) => one.route('**/v1/version', (route) => route.fulfill({ contentType: 'application/json', body: '{"id":9007199254740993,"none":[],"text":"a \\" b"}' })) });
    await page.click('.send');
    await page.waitForSelector('.answer pre');
    assert.equal(await page.textContent('.answer pre'), '{\n  "id": 9007199254740993,\n  "none": [],\n  "text": "a \\" b"\n}');
  });
});

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
const HOSTILE = {
  openapi: '3.1.0', info: { title: 'T', version: '1' },
  paths: { '/x/{a}': { parameters: [{ name: 'a', in: 'path', required: true, schema: ref('List') }], post: {
    operationId: 'hostile', description: '<img src=x onerror=alert(1)> [here](javascript:alert(1)) `<script>`',
    requestBody: { content: { 'application/json': { schema: ref('Tree') }, 'text/plain': { schema: { type: 'string' } } } },
    responses: { 200: { description: '<b>bold</b>', headers: { 'X-A': { schema: { type: 'integer' } } }, content: { 'application/json': { schema: ref('Loop') }, 'application/xml': {} } }, default: { $ref: '#/nowhere' } },
  } } },
  components: { schemas: {
    Tree: { type: 'object', properties: { parent: { oneOf: [ref('Tree'), { type: 'null' }] }, children: { type: 'array', items: ref('Tree') }, lost: ref('Nowhere') } },
    List: { type: 'array', items: ref('List') }, Map: { type: 'object', additionalProperties: ref('Map') }, Loop: { oneOf: [ref('Loop'), { type: 'string' }] },
    Self: ref('Self'), All: { allOf: [ref('All'), { properties: { a: true } }] }, Old: { type: 'string', nullable: true, enum: ['a', null] },
  } },
};
