// The console at /console, in a browser, against a running `chancery dev`.
//
//   CHANCERY_TEST_DEV_JSON        the dev.json of that server
//   CHANCERY_TEST_NODE_MODULES    node_modules with playwright-core and axe-core
//   CHANCERY_TEST_CHROMIUM        the browser; where it is not set, `chromium` of the PATH
//   CHANCERY_TEST_SCREENSHOTS     a folder for pictures of every page, for people to look at
//
// Run with `node --test tests/browser`. Without the first two it is skipped, unless CHANCERY_REQUIRE_TOOLS is set.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { delimiter, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

const { CHANCERY_TEST_DEV_JSON: devJson, CHANCERY_TEST_NODE_MODULES: modules, CHANCERY_REQUIRE_TOOLS: required, CHANCERY_TEST_SCREENSHOTS: pictures } = process.env;
const missing = (!devJson && 'CHANCERY_TEST_DEV_JSON is not set') || (!modules && 'CHANCERY_TEST_NODE_MODULES is not set');
if (missing && required) throw new Error(missing);

const DESKTOP = { width: 1360, height: 900 };
const PHONE = { width: 390, height: 844 };
const LOOKS = { light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { viewport: PHONE, hasTouch: true } };

describe('the console', { skip: missing }, () => {
  let browser, dev, axe, things, site;
  const answers = new Map();

  before(async () => {
    const require = createRequire(join(modules, 'from-here.js'));
    dev = JSON.parse(readFileSync(devJson, 'utf8'));
    axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
    browser = await require('playwright-core').chromium.launch({ executablePath: chromium(), args: ['--no-sandbox', '--headless'] });
    // The customers' web server: it answers for those names that are to be shown, and for no others.
    site = createServer((request, response) => {
      const answer = answers.get(request.url);
      response.writeHead(answer ? 200 : 404).end(answer ?? 'nothing here');
    }).listen(dev.http01_port, '127.0.0.1');
    things = await furnish();
  });

  after(async () => {
    await browser?.close();
    site?.close();
  });

  // A page of a browser of its own, and what the browser complains of: errors, refusals by the policy, failed loads.
  async function open(options = {}) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: DESKTOP, ...options });
    const page = await context.newPage();
    const complaints = [];
    page.setDefaultTimeout(15_000);
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) complaints.push(message.text()); });
    page.on('pageerror', (error) => complaints.push(String(error.stack)));
    return { page, complaints };
  }

  const at = (path) => `${dev.base_url.replace(/\/$/, '')}/console${path}`;

  async function signIn(page) {
    await page.goto(at('/sign-in'));
    await page.fill('#f-client_id', dev.client_id);
    await page.fill('#f-client_secret', dev.client_secret);
    await page.click('main button.primary');
    await page.waitForSelector('.side');
  }

  async function signInAsOperator(page) {
    await page.goto(at('/sign-in'));
    await page.click('summary');
    await page.fill('#f-operator_key', dev.operator_key);
    await page.click('details button.primary');
    await page.waitForSelector('.side');
  }

  async function violations(page) {
    // The policy forbids scripts from elsewhere, as it should; the browser's own tools may still run one.
    await page.evaluate(axe);
    const { violations: found } = await page.evaluate(() => window.axe.run(document));
    return found.flatMap(({ id, impact, nodes }) => nodes.map(({ target, failureSummary }) => `${impact} ${id} at ${target}: ${failureSummary}`));
  }

  // Through the API: one customer, group and policy, an order that fails and one that comes to a certificate.
  async function furnish() {
    const { page } = await open();
    const call = (method, path, body) => page.evaluate(async ([method, path, body, key]) => {
      const answer = await fetch(path, { method, headers: { authorization: key, 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    }, [method, path, body, dev.api_key]);
    const ends = async (order, status) => {
      const deadline = Date.now() + 60_000;
      while ((await call('GET', `/v1/order/${order.lookup}`)).status === status) {
        assert.ok(Date.now() < deadline, `the order stays ${status}`);
        await new Promise((wake) => setTimeout(wake, 200));
      }
    };
    // The policy lets no page of the console fetch; another page of this server may.
    await page.goto(`${dev.base_url}/docs`);
    const account = await call('POST', '/v1/account', { customer_email: 'first@customer.example', external_id: 'C-1' });
    const group = await call('POST', '/v1/account-group', { name: 'Retail' });
    const policy = await call('POST', '/v1/policy', { name: 'Names only', allow_wildcards: false });
    const ordered = async (name, shown) => {
      const order = await call('POST', '/v1/order', { account_lookup: account.lookup, csr: csr(name) });
      const codes = await call('POST', `/v1/authz/${order.authorizations[0].lookup}/challenges`);
      const challenge = codes.challenges.find((one) => one.type === 'http-01');
      if (shown) answers.set(`/.well-known/acme-challenge/${challenge.token}`, challenge.keyAuthorization);
      await call('POST', `/v1/challenge/${challenge.lookup}`);
      await ends(order, 'pending');
      return order;
    };
    const failed = await ordered('failing.customer.test', false);
    const good = await ordered('www.customer.test', true);
    await call('POST', `/v1/order/${good.lookup}/finalize`);
    await ends(good, 'processing');
    await page.context().close();
    return { account: account.lookup, group: group.lookup, policy: policy.lookup, order: failed.lookup, certificate: good.certificateLookup };
  }

  const pages = () => ['', '/customers', '/customers/new', `/customers/${things.account}`, '/certificates', `/certificates/${things.certificate}`, '/calendar', '/orders', `/orders/${things.order}`,
    '/groups', '/groups/new', `/groups/${things.group}`, '/policies', '/policies/new', `/policies/${things.policy}`,
    '/policies/try?customer=first%40customer.example&names=*.customer.test', '/clients', '/clients/new', `/clients/${dev.client_id}`, '/audit'];
  const operatorPages = ['/operator', '/operator/resellers', '/operator/resellers/DEMO', '/operator/authorities', '/operator/nodes', '/operator/audit'];

  // Opened as a person would, everything that can be opened; looked at by axe, and measured.
  async function look(page, path, name) {
    await page.goto(at(path));
    await page.$$eval('main details', (all) => all.forEach((details) => { details.open = true; }));
    if (pictures) await page.screenshot({ path: join(pictures, `${path.replace(/\W+/g, '_') || 'overview'}-${name}.png`), fullPage: true });
    assert.deepEqual(await violations(page), [], path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${path} is ${wide} pixels too wide`);
  }

  for (const [name, options] of Object.entries(LOOKS)) {
    test(`has nothing that shuts people out, and fits: ${name}`, async () => {
      const { page, complaints } = await open(options);
      await look(page, '/sign-in', name);
      await signIn(page);
      for (const path of pages()) await look(page, path, name);
      assert.deepEqual(complaints, []);
    });

    test(`has nothing that shuts the operator out, and fits: ${name}`, async () => {
      const { page, complaints } = await open(options);
      await signInAsOperator(page);
      for (const path of operatorPages) await look(page, path, name);
      assert.deepEqual(complaints, []);
    });
  }

  for (const [name, options] of Object.entries({ 'with a script': {}, 'without a script': { javaScriptEnabled: false } })) {
    test(`creates a customer, and puts it into a group: ${name}`, async () => {
      const email = `${name.replace(/ /g, '-')}@customer.example`;
      const { page } = await open(options);
      await signIn(page);
      await page.click('text=Customers');
      await page.click('text=New customer');
      await page.fill('#f-email', email);
      await page.click('text=Create customer');
      assert.match(await page.textContent('main'), /shown only now/);
      assert.match(await page.textContent('.tabs pre'), new RegExp(`certbot register --server .*/acme/TLS-90d/directory`));
      await page.click('text=To the customer');
      assert.equal(await page.textContent('h1'), email);
      await page.goto(at(`/groups/${things.group}`));
      await page.fill('#f-accounts', email);
      await page.click('button:text-is("Add")');
      assert.equal(await page.textContent('.notice'), 'Added.');
      assert.match(await page.textContent('table.cards'), new RegExp(email));
      await page.goto(at(`/customers?q=${email.slice(0, 8)}`));
      assert.match(await page.textContent('table.cards'), new RegExp(email));
    });

    test(`says what is wrong beside the field: ${name}`, async () => {
      const { page } = await open(options);
      await signIn(page);
      await page.goto(at('/customers/new'));
      await page.fill('#f-email', 'first@customer.example');
      await page.click('text=Create customer');
      assert.match(await page.textContent('#e-email'), /exists already/);
      assert.equal(await page.getAttribute('#f-email', 'aria-invalid'), 'true');
      assert.equal(await page.inputValue('#f-email'), 'first@customer.example');
      await page.goto(at('/policies/new'));
      await page.fill('#f-name', 'Broken');
      await page.fill('#f-allowed_domains', 'not a domain!');
      await page.fill('#f-max_names', '1000');
      await page.click('text=Create policy');
      assert.match(await page.textContent('#e-max_names'), /from 1 to 100/);
      assert.match(await page.textContent('#e-allowed_domains'), /is not/);
    });
  }

  for (const [name, options] of Object.entries({ 'with a script': { permissions: ['clipboard-read', 'clipboard-write'] }, 'without a script': { javaScriptEnabled: false } })) {
    test(`makes an API client, renews its secret, and revokes it: ${name}`, async () => {
      const { page } = await open(options);
      await signIn(page);
      await page.click('text=API clients');
      await page.click('text=New client');
      await page.fill('#f-name', `Laptop ${name}`);
      await page.check('#scope-read\\:account');
      await page.fill('#f-current-create', 'chs_wrong');
      await page.click('text=Create the client');
      assert.match(await page.textContent('.complaint'), /not a secret of the client/);
      assert.ok(await page.isChecked('#scope-read\\:account'), 'what was ticked stays so');
      await page.fill('#f-current-create', dev.client_secret);
      await page.click('text=Create the client');
      const [id, secret] = await page.locator('.copyable code').allTextContents();
      assert.match(secret, /^chs_/);
      if (options.permissions) {
        await page.locator('.copy').nth(1).click();
        await page.waitForSelector('text=Copied');
        assert.equal(await page.evaluate(() => navigator.clipboard.readText()), secret);
      }
      const other = (await open(options)).page;
      await other.goto(at('/sign-in?next=/console/customers'));
      await other.fill('#f-client_id', id);
      await other.fill('#f-client_secret', secret);
      await other.click('main button.primary');
      await other.waitForSelector('text=New customer');
      await page.goto(at(`/clients/${id}`));
      await page.click('summary:text("Get a second secret…")');
      await page.fill('#f-current-rotate', dev.client_secret);
      await page.click('button:text-is("Get a second secret")');
      assert.match(await page.textContent('main'), /Both secrets work now/);
      await page.goto(at(`/clients/${id}`));
      await page.click('summary:text("Revoke…")');
      await page.fill('#f-current-revoke', dev.client_secret);
      await page.click('text=Revoke the client');
      assert.match(await page.textContent('.notice'), /^Disabled\./);
      await other.goto(at('/customers'));
      assert.match(other.url(), /sign-in/);
    });
  }

  test('lists the nodes', async () => {
    const { page } = await open();
    await signInAsOperator(page);
    await page.click('text=Nodes');
    assert.match(await page.textContent('table.cards'), /this one.*active/s);
  });

  test('shows what was seen when a name could not be shown', async () => {
    const { page } = await open();
    await signIn(page);
    await page.goto(at(`/orders/${things.order}`));
    const story = await page.textContent('.timeline');
    assert.match(story, /Control of failing\.customer\.test/);
    assert.match(story, /http:\/\/failing\.customer\.test/);
    assert.match(await page.textContent('.title'), /invalid/);
  });

  test('downloads a certificate, and revokes it', async () => {
    const { page } = await open();
    await signIn(page);
    await page.goto(at('/certificates?q=www.customer.test'));
    await page.click('table.cards a:text("www.customer.test")');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=With its chain, PEM')]);
    assert.equal(download.suggestedFilename(), 'fullchain.pem');
    assert.match(readFileSync(await download.path(), 'utf8'), /^-----BEGIN CERTIFICATE-----/);
    await page.click('text=Revoke…');
    await page.selectOption('#f-reason', 'superseded');
    await page.check('#sure');
    await page.click('text=Revoke the certificate');
    assert.equal(await page.textContent('.notice'), 'Revoked.');
    assert.match(await page.textContent('.title'), /revoked/);
  });

  test('says that a secret is wrong, and keeps the way that was asked for', async () => {
    const { page } = await open();
    await page.goto(at('/policies'));
    await page.fill('#f-client_id', dev.client_id);
    await page.fill('#f-client_secret', 'chs_wrong');
    await page.click('main button.primary');
    assert.match(await page.textContent('#e-client_secret'), /wrong secret/);
    assert.equal(await page.inputValue('#f-client_secret'), '');
    await page.fill('#f-client_secret', dev.client_secret);
    await page.click('main button.primary');
    await page.waitForSelector('.side');
    assert.equal(page.url(), at('/policies'));
  });

  test('keeps its cookie from scripts, and forgets it at the end', async () => {
    const { page } = await open();
    await signIn(page);
    const [cookie] = (await page.context().cookies()).filter(({ name }) => name === '__Host-chancery-session');
    assert.deepEqual([cookie.httpOnly, cookie.secure, cookie.sameSite, cookie.path], [true, true, 'Lax', '/']);
    assert.equal(await page.evaluate(() => document.cookie + localStorage.length + sessionStorage.length), '00');
    await page.click('text=Sign out');
    await page.waitForURL(at('/sign-in'));
    assert.deepEqual((await page.context().cookies()).filter(({ name }) => name === cookie.name), []);
    await page.context().addCookies([cookie]);
    await page.goto(at('/customers'));
    assert.match(page.url(), /sign-in/);
  });

  test('signs out everywhere', async () => {
    const [here, there] = [await open(), await open()];
    await signIn(here.page);
    await signIn(there.page);
    await here.page.click('text=Everywhere');
    await here.page.waitForURL(at('/sign-in'));
    await there.page.goto(at('/customers'));
    assert.match(there.page.url(), /sign-in/);
  });

  test('takes the colours that are chosen, and keeps them', async () => {
    const { page } = await open({ colorScheme: 'light' });
    await signIn(page);
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.click('.themes button:text-is("Dark")');
    assert.notEqual(await background(), light);
    await page.goto(at('/customers'));
    assert.notEqual(await background(), light);
    await page.click('.themes button:text-is("Auto")');
    assert.equal(await background(), light);
    assert.equal(page.url(), at('/customers'));
  });

  test('is used by the keyboard alone', async () => {
    const { page } = await open();
    await signIn(page);
    await page.goto(at('/customers'));
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'New customer');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid', 'the focus is seen');
    await page.keyboard.press('/');
    await page.keyboard.type('first@');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=first/);
    assert.equal(await page.locator('table.cards tbody tr').count(), 1);
  });

  test('copies what is to be pasted', async () => {
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await signIn(page);
    await page.goto(at(`/customers/${things.account}`));
    await page.click('.tabs details[open] .copy');
    await page.waitForSelector('text=Copied');
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^certbot register/);
  });

  test('nothing moves once a page is there', async () => {
    const { page } = await open();
    await signIn(page);
    for (const path of ['', '/customers', `/customers/${things.account}`]) {
      await page.goto(at(path));
      const moved = await page.evaluate(() => new Promise((done) => {
        let sum = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => done(sum), 300);
      }));
      assert.ok(moved < 0.01, `${path} moves by ${moved}`);
    }
  });

  test('the operator makes a reseller and a client', async () => {
    const { page } = await open();
    await signInAsOperator(page);
    await page.goto(at('/operator/resellers'));
    await page.fill('#f-code', 'lower case');
    await page.fill('#f-name', 'North');
    await page.click('text=Create reseller');
    assert.match(await page.textContent('#e-code'), /capital letters/);
    await page.fill('#f-code', 'NORTH');
    await page.click('text=Create reseller');
    assert.equal(await page.textContent('.notice'), 'Created.');
    await page.click('text=New client');
    await page.fill('#f-name', 'Laptop');
    await page.check('#scope-reseller');
    await page.check('[id="scope-read:account"]');
    await page.click('text=Create client');
    assert.match(await page.textContent('main'), /chs_/);
  });
});

function csr(name) {
  const made = execFileSync('openssl', ['req', '-new', '-nodes', '-subj', '/', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256',
    '-keyout', '/dev/null', '-addext', `subjectAltName=DNS:${name}`], { stdio: ['ignore', 'pipe', 'ignore'] });
  return made.toString();
}

function chromium() {
  if (process.env.CHANCERY_TEST_CHROMIUM) return process.env.CHANCERY_TEST_CHROMIUM;
  const found = process.env.PATH.split(delimiter).map((folder) => join(folder, 'chromium')).find((path) => {
    try { accessSync(path); return true; } catch { return false; }
  });
  assert.ok(found, 'there is no chromium on the PATH');
  return found;
}
