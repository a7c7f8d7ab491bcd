// The console at /console, in a browser, against a running `chancery dev`: every page, and how it is used. See console.mjs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { LOOKS, Visitor, csr, missing } from './console.mjs';

describe('the console', { skip: missing, timeout: 540_000 }, () => {
  let visitor, dev, things;
  const at = (path) => visitor.at(path);
  const open = (options) => visitor.open(options);
  const signIn = (page) => visitor.signIn(page);
  const signInAsOperator = (page) => visitor.signInAsOperator(page);
  const look = (page, path, name) => visitor.look(page, path, name);

  before(async () => {
    visitor = await Visitor.start();
    dev = visitor.dev;
    things = await furnish();
  });

  after(() => visitor?.close());

  // Through the API: one customer, group and policy, an order of each kind and one that comes to a certificate.
  async function furnish() {
    const api = await visitor.api();
    const { lookup: account } = await api.call('POST', '/account', { customer_email: 'first@customer.example', external_id: 'C-1' });
    const group = await api.call('POST', '/account-group', { name: 'Retail' });
    const policy = await api.call('POST', '/policy', { name: 'Names only', allow_wildcards: false });
    const failed = await api.order(account, 'failing.customer.test', false);
    const ready = await api.order(account, 'ready.customer.test', true);
    const pending = await api.call('POST', '/order', { account_lookup: account, csr: csr('pending.customer.test') });
    const good = await api.issue(account, 'www.customer.test');
    const { items: [{ notAfter: end }] } = await api.call('GET', '/certificates?name=www.customer.test');
    return {
      account, group: group.lookup, policy: policy.lookup, order: failed.lookup, ready: ready.lookup, pending: pending.lookup,
      certificate: good.certificateLookup, day: end.slice(0, 10),
    };
  }

  const pages = () => ['', '/customers', '/customers/new', `/customers/${things.account}`, '/certificates', `/certificates/${things.certificate}`, '/calendar', `/calendar?day=${things.day}`,
    '/orders', `/orders/${things.order}`, `/orders/${things.pending}`, `/orders/${things.ready}`,
    '/groups', '/groups/new', `/groups/${things.group}`, '/policies', '/policies/new', `/policies/${things.policy}`,
    '/policies/try?customer=first%40customer.example&names=*.customer.test', '/clients', '/clients/new', `/clients/${dev.client_id}`, '/audit'];
  const operatorPages = ['/operator', '/operator/resellers', '/operator/resellers/DEMO', '/operator/authorities', '/operator/nodes', '/operator/errors', '/operator/audit'];

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
      await other.waitForSelector('h1:text-is("Customers")');
      assert.equal(await other.locator('text=New customer').count(), 0, 'it may only look');
      await page.goto(at(`/clients/${id}`));
      await page.click('summary:text("Get a second secret…")');
      await page.fill('#f-current-rotate', dev.client_secret);
      await page.click('button:text-is("Get a second secret")');
      assert.match(await page.textContent('main'), /Both secrets work now/);
      // axe cannot run where no script can.
      if (options.javaScriptEnabled !== false) await visitor.inspectAll(page, 'a second secret');
      await page.goto(at(`/clients/${id}`));
      await page.click('summary:text("Drop the old secret…")');
      await page.fill('#f-current-finish-rotation', dev.client_secret);
      await page.click('button:text-is("Drop the old secret")');
      assert.equal(await page.textContent('.notice'), 'The old secret does not work any more.');
      await page.waitForSelector('summary:text("Get a second secret…")');
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
    await page.check('[id="scope-read:account"]');
    await page.click('text=Create client');
    assert.match(await page.textContent('main'), /chs_/);
  });
});
