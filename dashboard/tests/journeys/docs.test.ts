// `/docs`: who enters a token sees their blueprints, and what the viewer prepares can be sent as it is.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator } from 'playwright-core';
import { api, closeBrowser, openBrowser, TOKEN, URL_BASE } from '../browser';

after(closeBrowser);

/** Opens an operation, sends it as it was prepared, and returns the status and the body of the answer. */
async function execute(operation: Locator): Promise<[string, string]> {
  await operation.locator('.opblock-summary').click();
  await operation.locator('.try-out__btn').click();
  await operation.locator('.execute').click();
  const answer = operation.locator('.live-responses-table tbody');
  await answer.waitFor();
  return [(await answer.locator('.response-col_status').first().innerText()).slice(0, 3), await answer.locator('pre').first().innerText()];
}

test('the first requests that the viewer of the API prepares are accepted', async () => {
  // The viewer draws what is in sight only, and this blueprint comes first.
  const fields = [{ name: 'Title', type: 'text', required: true }, { name: 'Address', slug: 'slug', type: 'slug', required: true }];
  await api('POST', '/v2/blueprints', { name: 'A page', slug: 'a-page', fields });
  const page = await (await openBrowser()).newPage();
  await page.goto(`${URL_BASE}/docs`);
  await page.locator('.opblock').first().waitFor();
  await page.locator('button.authorize').click();
  await page.locator('.auth-container input').first().fill(TOKEN);
  await page.locator('.auth-btn-wrapper .authorize').first().click();
  await page.locator('.btn-done').first().click();
  const list = page.locator('#operations-a-page-listAPage');
  await list.waitFor();
  const [status, body] = await execute(list);
  assert.equal(status, '200', body);
  const [created, resource] = await execute(page.locator('#operations-a-page-createAPage'));
  assert.equal(created, '201', resource);
  await page.close();
});
