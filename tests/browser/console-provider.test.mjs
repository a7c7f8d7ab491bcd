// Signing in to the console through a provider, in a browser, against a running `chancery serve`; and what only such a
// server is configured for. See console.mjs.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LOOKS, Visitor, missing } from './console.mjs';

describe('the console of a server with a provider', { skip: missing, timeout: 540_000 }, () => {
  let visitor;
  const at = (path) => visitor.at(path);

  before(async () => { visitor = await Visitor.start(); });
  after(() => visitor?.close());

  // To the provider, and as somebody back: each time a link is followed, as people do.
  async function through(page, person, path = '/orders') {
    await page.goto(at(path));
    await page.click('text=Sign in with Partners');
    await page.waitForSelector('h1:text-is("Who are you?")');
    assert.notEqual(new URL(page.url()).hostname, new URL(at('')).hostname, 'the provider is another site');
    await page.click(`text=${person}`);
    await page.waitForURL(`${at('')}/**`);
  }

  test('somebody signs in through the provider, and goes on where they wanted to', async () => {
    const { page, complaints } = await visitor.open();
    await through(page, 'Anna of North');
    // From another site the browser sends the cookies of neither the journey nor the session, were they `Strict`.
    assert.equal(page.url(), at('/orders'));
    assert.match(await page.textContent('.who'), /The North.*Anna of North/s);
    const cookies = await page.context().cookies(at(''));
    const [session] = cookies.filter(({ name }) => name === '__Host-chancery-session');
    assert.deepEqual([session.httpOnly, session.secure, session.sameSite, session.path], [true, true, 'Lax', '/']);
    assert.deepEqual(cookies.filter(({ name }) => name === '__Host-chancery-sign-in'), [], 'the journey is over');
    assert.deepEqual(complaints, []);
    await page.click('text=Sign out');
    await page.waitForURL(at('/sign-in'));
  });

  test('whom the provider knows and nobody else does is told so', async () => {
    const { page } = await visitor.open();
    await through(page, 'Nobody');
    assert.match(await page.textContent('.complaint'), /says of no reseller here/);
    assert.equal(await page.locator('.side').count(), 0);
    await visitor.inspectAll(page, 'refused after the provider');
  });

  test('the page to sign in has a provider, and shuts nobody out', async () => {
    for (const [name, options] of Object.entries(LOOKS)) {
      const { page, complaints } = await visitor.open(options);
      await visitor.look(page, '/sign-in', name);
      assert.match(await page.textContent('.providers'), /Sign in with Partners/);
      assert.deepEqual(complaints, []);
    }
  });

  test('a pause is seen, and lifted', async () => {
    const api = await visitor.api();
    const { lookup: account } = await api.call('POST', '/account', { customer_email: 'paused@customer.example' });
    // One failure is enough here.
    await api.order(account, '127.0.0.1', false);
    const { page, complaints } = await visitor.open();
    await visitor.signIn(page);
    await page.goto(at('/orders'));
    const pauses = page.locator('section', { hasText: 'Paused names' });
    assert.match(await pauses.textContent(), /127\.0\.0\.1.*1 time/s);
    await visitor.inspectAll(page, 'orders with a pause');
    await Promise.all([page.waitForEvent('load'), pauses.locator('button').click()]);
    assert.equal(await page.textContent('.notice'), 'Lifted: new orders are taken again.');
    assert.equal(await pauses.count(), 0);
    assert.deepEqual(complaints, []);
  });
});
