// The forms of the console that change things, each filled in by a browser; and what is another reseller's. See console.mjs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Visitor, csr, missing } from './console.mjs';

describe('the forms of the console', { skip: missing, timeout: 540_000 }, () => {
  let visitor, api, south;
  const at = (path) => visitor.at(path);

  before(async () => {
    visitor = await Visitor.start();
    api = await visitor.api();
    south = await neighbour('SOUTH');
  });

  after(() => visitor?.close());

  // Presses a button of the page, and waits until the page that follows says this.
  async function press(page, button, notice) {
    await Promise.all([page.waitForEvent('load'), page.click(`button:text-is("${button}")`)]);
    assert.equal(await page.textContent('.notice'), notice);
  }

  const unfold = (page, words) => page.click(`summary:text-is("${words}")`);
  const title = (page) => page.textContent('main .title');
  const customer = async (email) => (await api.call('POST', '/account', { customer_email: email })).lookup;

  // A reseller whom the operator makes, with a client.
  async function reseller(page, code) {
    await page.goto(at('/operator/resellers'));
    await page.fill('#f-code', code);
    await page.fill('#f-name', `The ${code}`);
    await press(page, 'Create reseller', 'Created.');
    await unfold(page, 'New client');
    await page.fill('#f-name', 'Laptop');
    await page.click('button:text-is("Create client")');
    await page.waitForSelector('.copyable');
    const [client_id, client_secret] = await page.locator('.copyable code').allTextContents();
    return { client_id, client_secret };
  }

  // One that has something of everything.
  async function neighbour(code) {
    const { page } = await visitor.open();
    await visitor.signInAsOperator(page);
    const client = await reseller(page, code);
    await visitor.inspectAll(page, 'the secret of a new client');
    const theirs = await visitor.api(client);
    const account = (await theirs.call('POST', '/account', { customer_email: 'anna@neighbour.example' })).lookup;
    const group = (await theirs.call('POST', '/account-group', { name: 'Theirs' })).lookup;
    const policy = (await theirs.call('POST', '/policy', { name: 'Theirs', allow_wildcards: false })).lookup;
    const order = await theirs.issue(account, 'www.neighbour.test');
    const certificate = order.certificateLookup;
    const paths = [`/customers/${account}`, `/groups/${group}`, `/policies/${policy}`, `/orders/${order.lookup}`,
      `/certificates/${certificate}`, `/clients/${client.client_id}`];
    return { client, paths, lookups: [account, group, policy, order.lookup, certificate, client.client_id] };
  }

  test('another reseller’s addresses are not found', async () => {
    const [theirs, mine] = [await visitor.as(south.client), await visitor.as()];
    for (const path of south.paths) {
      assert.equal((await theirs.goto(at(path))).status(), 200, `it is there for them: ${path}`);
      assert.equal((await mine.goto(at(path))).status(), 404, path);
      assert.equal(await mine.textContent('h1'), 'Not found', path);
      for (const word of ['neighbour', 'Theirs', 'Laptop']) assert.ok(!(await mine.content()).includes(word), `${path} tells ${word}`);
    }
    for (const path of ['/customers', '/customers?q=anna@neighbour.example', '/groups', '/policies', '/orders', '/certificates',
      '/certificates?q=www.neighbour.test', '/clients', '/audit', '/calendar']) {
      await mine.goto(at(path));
      const page = await mine.content();
      for (const lookup of south.lookups) assert.ok(!page.includes(lookup), `${path} shows ${lookup}`);
    }
    for (const path of ['/operator', '/operator/resellers', '/operator/resellers/SOUTH', '/operator/nodes']) {
      assert.equal((await mine.goto(at(path))).status(), 404, path);
    }
  });

  test('a page that is not there, and one that is not allowed, shut nobody out', async () => {
    const page = await visitor.as();
    assert.equal((await page.goto(at('/nothing/here'))).status(), 404);
    await visitor.inspectAll(page, 'not found');
    await page.goto(at('/clients/new'));
    await page.fill('#f-name', 'Orders alone');
    await page.check('[id="scope-read:order"]');
    await page.fill('#f-current-create', visitor.dev.client_secret);
    await page.click('text=Create the client');
    await page.waitForSelector('.copyable');
    await visitor.inspectAll(page, 'the secret of a client');
    const [client_id, client_secret] = await page.locator('.copyable code').allTextContents();
    const clerk = await visitor.as({ client_id, client_secret });
    assert.equal((await clerk.goto(at('/customers'))).status(), 403);
    assert.match(await clerk.textContent('main'), /does not have the scope read:account/);
    await visitor.inspectAll(clerk, 'not allowed');
  });

  test('a customer is changed, suspended, resumed, and terminated', async () => {
    const account = await customer('before@customer.example');
    const page = await visitor.as();
    await page.goto(at(`/customers/${account}`));
    await page.fill('#f-email', 'after@customer.example');
    await page.fill('#f-external_id', 'C-77');
    await press(page, 'Save', 'Saved.');
    assert.match(await title(page), /after@customer\.example/);
    assert.match(await page.textContent('.facts'), /C-77/);
    await page.fill('#f-email', 'nobody');
    await page.$eval('#f-email', (field) => { field.form.noValidate = true; });
    await Promise.all([page.waitForEvent('load'), page.click('button:text-is("Save")')]);
    assert.equal(await page.getAttribute('#f-email', 'aria-invalid'), 'true');
    assert.equal(await page.inputValue('#f-email'), 'nobody');
    await page.goto(at(`/customers/${account}`));
    await press(page, 'Suspend', 'Suspended. Nothing is issued until you resume.');
    assert.match(await title(page), /suspended/);
    await press(page, 'Resume', 'Resumed.');
    assert.match(await title(page), /active/);
    await unfold(page, 'Terminate…');
    await page.click('button:text-is("Terminate the customer")');
    assert.ok(await page.$eval('#sure', (box) => box.matches(':invalid')), 'the browser asks whether one is sure');
    await page.check('#sure');
    await press(page, 'Terminate the customer', 'The customer is terminated.');
    assert.match(await title(page), /terminated/);
    assert.equal(await page.locator('button:text-is("Suspend")').count(), 0);
  });

  test('an ACME key is made, shown once, and revoked', async () => {
    const account = await customer('keys@customer.example');
    const page = await visitor.as();
    await page.goto(at(`/customers/${account}`));
    await unfold(page, 'New key');
    await page.fill('#f-label', 'Server in the cellar');
    await page.fill('#f-days', '30');
    await page.fill('#f-max_bindings', '1');
    await Promise.all([page.waitForEvent('load'), page.click('button:text-is("Create key")')]);
    const [kid, hmac] = await page.locator('.copyable code').allTextContents();
    assert.match(await page.textContent('.tabs'), new RegExp(`--eab-kid ${kid} --eab-hmac-key ${hmac}`));
    await visitor.inspectAll(page, 'the key of a customer');
    await page.goto(at(`/customers/${account}`));
    assert.ok(!(await page.content()).includes(hmac), 'it is shown once');
    const row = page.locator('tr', { hasText: kid });
    assert.match(await row.textContent(), /Server in the cellar.*unused/s);
    await row.locator('summary').click();
    await Promise.all([page.waitForEvent('load'), row.locator('button:text-is("Revoke this key")').click()]);
    assert.equal(await page.textContent('.notice'), 'Revoked.');
    assert.match(await row.textContent(), /revoked/);
    assert.equal(await row.locator('summary').count(), 0);
  });

  test('a group is made and changed, has policies and members, and is deleted', async () => {
    const emails = ['one', 'two'].map((name) => `${name}@grouped.example`);
    for (const email of emails) await customer(email);
    const page = await visitor.as();
    const make = async (name) => {
      await page.goto(at('/groups/new'));
      await page.fill('#f-name', name);
      await page.fill('#f-description', `All of ${name}`);
      await press(page, 'Create group', 'Created.');
      return new URL(page.url()).pathname.replace('/console', '');
    };
    const [east, west] = [await make('East'), await make('West')];
    await page.goto(at(east));
    await page.fill('#f-name', 'Far east');
    await press(page, 'Save', 'Saved.');
    assert.match(await title(page), /Far east/);
    await api.call('POST', '/policy', { name: 'Grouped', allow_wildcards: false });
    await page.goto(at(east));
    await page.selectOption('#f-policy', { label: 'Grouped' });
    await press(page, 'Assign', 'The policy is assigned.');
    await page.waitForSelector('.row a:text-is("Grouped")');
    await Promise.all([page.waitForEvent('load'), page.click('button:text("Take off")')]);
    assert.equal(await page.textContent('.notice'), 'The policy is taken off.');
    assert.equal(await page.locator('.row a:text-is("Grouped")').count(), 0);
    await page.fill('#f-accounts', emails.join('\n'));
    await press(page, 'Add', 'Added.');
    await page.check(`[aria-label="Choose ${emails[0]}"]`);
    await page.selectOption('#f-to', { label: 'West' });
    await press(page, 'Move the chosen', 'Moved.');
    assert.equal(await page.locator('table.cards a').allTextContents().then(String), emails[1]);
    await page.check(`[aria-label="Choose ${emails[1]}"]`);
    await press(page, 'Remove the chosen', 'Removed.');
    assert.match(await page.textContent('main'), /Nobody is in this group/);
    await page.goto(at(west));
    assert.equal(await page.locator('table.cards a').allTextContents().then(String), emails[0]);
    for (const [path, name] of [[east, 'Far east'], [west, 'West']]) {
      await page.goto(at(path));
      await unfold(page, 'Delete…');
      await press(page, 'Delete the group', 'Deleted.');
      assert.equal(await page.locator(`main a:text-is("${name}")`).count(), 0);
    }
  });

  test('a policy is made, saved, and deleted', async () => {
    const page = await visitor.as();
    await page.goto(at('/policies/new'));
    await page.fill('#f-name', 'Short');
    await page.fill('#f-max_validity_days', '30');
    await press(page, 'Create policy', 'Created.');
    await page.fill('#f-allowed_domains', 'example.com\n*.example.com');
    await page.selectOption('#f-allow_wildcards', 'no');
    await page.check('#allowed_key_types-ec-p256');
    await page.fill('#f-max_validity_days', '20');
    await press(page, 'Save', 'Saved.');
    await page.reload();
    assert.equal(await page.inputValue('#f-allowed_domains'), 'example.com\n*.example.com');
    assert.deepEqual([await page.inputValue('#f-allow_wildcards'), await page.inputValue('#f-max_validity_days')], ['no', '20']);
    assert.deepEqual([await page.isChecked('#allowed_key_types-ec-p256'), await page.isChecked('#allowed_key_types-ec-p384')], [true, false]);
    await unfold(page, 'Delete…');
    await press(page, 'Delete the policy', 'Deleted.');
    assert.equal(await page.locator('main a:text-is("Short")').count(), 0);
  });

  test('an order is cancelled, and another comes to its certificate', async () => {
    const account = await customer('orders@customer.example');
    const cancelled = await api.call('POST', '/order', { account_lookup: account, csr: csr('cancelled.customer.test') });
    const ready = await api.order(account, 'finalized.customer.test', true);
    const page = await visitor.as();
    await page.goto(at(`/orders/${cancelled.lookup}`));
    assert.match(await title(page), /pending/);
    await unfold(page, 'Cancel…');
    await press(page, 'Cancel the order', 'The order is cancelled.');
    assert.match(await title(page), /cancelled/);
    assert.equal(await page.locator('summary:text-is("Cancel…")').count(), 0);
    await page.goto(at(`/orders/${ready.lookup}`));
    await press(page, 'Issue the certificate', 'The certificate is being issued.');
    // The page looks again by itself.
    await page.waitForSelector('.title .pill:text-is("valid")');
  });

  test('the operator renews a secret, disables, enables, suspends and resumes', async () => {
    const { page } = await visitor.open();
    await visitor.signInAsOperator(page);
    const client = await reseller(page, 'WEST');
    let them = await visitor.as(client);
    const change = async (button, notice) => {
      await page.goto(at('/operator/resellers/WEST'));
      await unfold(page, 'Change…');
      if (notice) return press(page, button, notice);
      return Promise.all([page.waitForEvent('load'), page.click(`button:text-is("${button}")`)]);
    };
    const isIn = async () => { await them.goto(at('/customers')); return !them.url().includes('sign-in'); };
    assert.ok(await isIn());
    await change('New secret beside the old');
    const [, client_secret] = await page.locator('.copyable code').allTextContents();
    await visitor.inspectAll(page, 'the second secret of a client');
    await visitor.as({ ...client, client_secret });
    await change('Drop the old secret', 'The old secret does not work any more.');
    assert.ok(!await isIn(), 'who signed in with the old one is out');
    them = await visitor.as({ ...client, client_secret });
    await change('Disable', 'Disabled. Its tokens and sessions end at once.');
    assert.ok(!await isIn());
    await change('Enable', 'Enabled.');
    them = await visitor.as({ ...client, client_secret });
    await page.goto(at('/operator/resellers/WEST'));
    await press(page, 'Suspend', 'Suspended. Nothing is issued until you resume.');
    assert.match(await title(page), /suspended/);
    assert.ok(!await isIn());
    await press(page, 'Resume', 'Resumed.');
    assert.match(await title(page), /active/);
    them = await visitor.as({ ...client, client_secret });
  });
});
