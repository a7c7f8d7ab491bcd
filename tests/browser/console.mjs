// What the tests of the console have in common: a browser, ways to sign in, and a hard look at a page.
//
//   CHANCERY_TEST_DEV_JSON        the dev.json of a running `chancery dev`, or what says as much of another server
//   CHANCERY_TEST_NODE_MODULES    node_modules with playwright-core and axe-core
//   CHANCERY_TEST_CHROMIUM        the browser; where it is not set, `chromium` of the PATH
//   CHANCERY_TEST_SCREENSHOTS     a folder for pictures of every page, for people to look at
//
// Run with `node --test tests/browser`. Without the first two it is skipped, unless CHANCERY_REQUIRE_TOOLS is set.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { chromium } from './chromium.mjs';

const { CHANCERY_TEST_DEV_JSON: devJson, CHANCERY_TEST_NODE_MODULES: modules, CHANCERY_REQUIRE_TOOLS: required, CHANCERY_TEST_SCREENSHOTS: pictures } = process.env;
export const missing = (!devJson && 'CHANCERY_TEST_DEV_JSON is not set') || (!modules && 'CHANCERY_TEST_NODE_MODULES is not set');
if (missing && required) throw new Error(missing);

const DESKTOP = { width: 1360, height: 900 };
const PHONE = { width: 390, height: 844 };
export const LOOKS = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { viewport: PHONE, hasTouch: true } };

export class Visitor {
  static async start() {
    const visitor = new Visitor();
    const require = createRequire(join(modules, 'from-here.js'));
    visitor.dev = JSON.parse(readFileSync(devJson, 'utf8'));
    visitor.axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    visitor.browser = await require('playwright-core').chromium.launch({ executablePath: chromium(), args: ['--no-sandbox', '--headless'] });
    // The customers' web server: it answers for those names that are to be shown, and for no others.
    visitor.answers = new Map();
    visitor.site = createServer((request, response) => {
      const answer = visitor.answers.get(request.url);
      response.writeHead(answer ? 200 : 404).end(answer ?? 'nothing here');
    }).listen(visitor.dev.http01_port, '127.0.0.1');
    return visitor;
  }

  async close() {
    await this.browser?.close();
    this.site?.close();
  }

  at(path) {
    return `${this.dev.base_url.replace(/\/$/, '')}/console${path}`;
  }

  // A page of a browser of its own, and what the browser complains of: errors, refusals by the policy, failed loads.
  async open(options = {}) {
    // Without motion: a colour that is on its way to another is none that anybody has to read.
    const context = await this.browser.newContext({ ignoreHTTPSErrors: true, viewport: DESKTOP, reducedMotion: 'reduce', ...options });
    const page = await context.newPage();
    const complaints = [];
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
    page.on('pageerror', (error) => complaints.push(String(error.stack)));
    return { page, complaints };
  }

  async signIn(page, { client_id: id, client_secret: secret } = this.dev) {
    await page.goto(this.at('/sign-in'));
    await page.fill('#f-client_id', id);
    await page.fill('#f-client_secret', secret);
    await page.click('main button.primary');
    await page.waitForSelector('.side');
  }

  async signInAsOperator(page) {
    await page.goto(this.at('/sign-in'));
    await page.click('summary');
    await page.fill('#f-operator_key', this.dev.operator_key);
    await page.click('details button.primary');
    await page.waitForSelector('.side');
  }

  // A page of its own, signed in.
  async as(credentials, options) {
    const opened = await this.open(options);
    await this.signIn(opened.page, credentials);
    return opened.page;
  }

  // Opened as a person would, everything that can be opened; looked at by axe, and measured.
  async look(page, path, name) {
    await page.goto(this.at(path));
    await this.inspect(page, path, name);
  }

  // The same for the page that is there.
  async inspect(page, path, name) {
    await page.$$eval('main details', (all) => all.forEach((details) => { details.open = true; }));
    if (pictures) await page.screenshot({ path: join(pictures, `${path.replace(/\W+/g, '_') || 'overview'}-${name}.png`), fullPage: true });
    assert.deepEqual(await this.#violations(page), [], `${path}, ${name}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${path} is ${wide} pixels too wide: ${name}`);
  }

  // The page that is there in all looks, for what is shown once.
  async inspectAll(page, path) {
    for (const [name, { colorScheme = 'light', viewport = DESKTOP }] of Object.entries(LOOKS)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await this.inspect(page, path, name);
    }
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(DESKTOP);
  }

  async #violations(page) {
    // The policy forbids scripts from elsewhere, as it should; the browser's own tools may still run one.
    await page.evaluate(this.axe);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    return violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => `${impact} ${id} at ${target}: ${failureSummary}`));
  }

  // The API with a token of a client.
  async api({ client_id, client_secret } = this.dev) {
    const { request } = await this.browser.newContext({ ignoreHTTPSErrors: true });
    const form = { grant_type: 'client_credentials', audience: this.dev.audience, client_id, client_secret };
    const granted = await request.post(`${this.dev.auth_url}/oauth/token`, { form });
    assert.ok(granted.ok(), await granted.text());
    return new Api(this, request, (await granted.json()).access_token);
  }
}

class Api {
  constructor(visitor, request, token) {
    Object.assign(this, { visitor, request, token });
  }

  async call(method, path, data) {
    const answer = await this.request.fetch(`${this.visitor.dev.base_url}/v1${path}`, { method, data, headers: { authorization: `Bearer ${this.token}` } });
    assert.ok(answer.ok(), `${method} ${path}: ${answer.status()} ${await answer.text()}`);
    return answer.json();
  }

  // An order, its name shown or not, as soon as it is known what came of that.
  async order(account, name, shown) {
    const order = await this.call('POST', '/order', { account_lookup: account, csr: csr(name) });
    const codes = await this.call('POST', `/authz/${order.authorizations[0].lookup}/challenges`);
    const challenge = codes.challenges.find((one) => one.type === 'http-01');
    if (shown) this.visitor.answers.set(`/.well-known/acme-challenge/${challenge.token}`, challenge.keyAuthorization);
    await this.call('POST', `/challenge/${challenge.lookup}`);
    await this.ends(order, 'pending');
    return order;
  }

  async issue(account, name) {
    const order = await this.order(account, name, true);
    await this.call('POST', `/order/${order.lookup}/finalize`);
    await this.ends(order, 'processing');
    return order;
  }

  async ends(order, status) {
    const deadline = Date.now() + 60_000;
    while ((await this.call('GET', `/order/${order.lookup}`)).status === status) {
      assert.ok(Date.now() < deadline, `the order stays ${status}`);
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }
}

export function csr(name) {
  const kind = /^[\d.]+$/.test(name) ? 'IP' : 'DNS';
  const made = execFileSync('openssl', ['req', '-new', '-nodes', '-subj', '/', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
    '-keyout', '/dev/null', '-addext', `subjectAltName=${kind}:${name}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  return made.toString();
}
