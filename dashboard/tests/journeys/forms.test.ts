// A fault in a form of the settings stands at its input, which gets the focus, and nothing is stored twice.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, open, signedIn } from '../browser';

after(closeBrowser);

/** The input has the focus, says that it is wrong, and is described by this text. */
async function isWrong(page: Page, input: Locator, text: RegExp): Promise<void> {
  await page.locator('dialog .fault', { hasText: text }).waitFor();
  assert.equal(await input.evaluate((element) => element === document.activeElement), true, 'has the focus');
  assert.equal(await input.getAttribute('aria-invalid'), 'true');
  assert.match(await input.evaluate((element) => document.getElementById(element.getAttribute('aria-describedby')!)?.textContent ?? ''), text);
  assert.equal(await page.locator('dialog .notice.red').count(), 0, 'nothing is said twice');
}

test('a webhook', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/settings/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const dialog = page.locator('dialog');
  const save = dialog.getByRole('button', { name: 'Save' });
  await dialog.getByLabel('Name').fill('Site');
  await dialog.getByLabel('Address').fill('ftp://example.org/hook');
  await save.click();
  await isWrong(page, dialog.getByLabel('Address'), /http/);
  await dialog.getByLabel('Address').fill('https://example.org/hook');
  for (const box of await dialog.getByRole('group', { name: 'Call it when' }).getByRole('checkbox').all()) await box.uncheck();
  await save.click();
  await isWrong(page, dialog.getByRole('group', { name: 'Call it when' }).getByRole('checkbox').first(), /./);
  await dialog.getByRole('group', { name: 'Call it when' }).getByRole('checkbox').first().check();
  await page.route('**/v2/webhooks', async (route) => {
    if (route.request().method() === 'POST') await new Promise((resolve) => setTimeout(resolve, 500));
    await route.continue();
  });
  await save.dblclick();
  await page.getByRole('textbox', { name: 'Secret for the signatures' }).waitFor();
  const all = (await api<{ data: { id: number; name: string }[] }>('GET', '/v2/webhooks')).body.data.filter((one) => one.name === 'Site');
  assert.equal(all.length, 1);
  await api('DELETE', `/v2/webhooks/${all[0]!.id}`);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a token', async () => {
  const { page, context } = await signedIn('Olga', 'owner');
  await open(page, '/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.locator('dialog');
  await dialog.getByLabel('Name').fill('Old');
  const make = dialog.getByRole('button', { name: 'Create the token' });
  const until = dialog.getByLabel('Valid until');
  await until.fill('2001-02-03');
  await make.click();
  assert.equal(await until.evaluate((element: HTMLInputElement) => element.validity.rangeUnderflow && element === document.activeElement), true);
  await dialog.getByLabel('Only some blueprints').check();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await until.fill(tomorrow);
  await make.click();
  await isWrong(page, dialog.getByLabel('Only some blueprints'), /Choose at least one/);
  await dialog.getByLabel('Articles').check();
  await make.click();
  await page.getByRole('dialog', { name: 'The token Old' }).waitFor();
  const token = (await api<{ data: { id: string; name: string; expires_at: string }[] }>('GET', '/v2/tokens')).body.data.find((one) => one.name === 'Old')!;
  const end = await page.evaluate((day) => new Date(`${day}T23:59:59`).getTime(), tomorrow);
  assert.equal(Date.parse(token.expires_at), end, 'it is valid through that day');
  await api('DELETE', `/v2/tokens/${token.id}`);
  await context.close();
});

test('a member, also after the form was left', async () => {
  const { page, context, email } = await signedIn('Olga', 'owner');
  await open(page, '/settings/members');
  const dialog = page.locator('dialog');
  await page.getByRole('button', { name: 'Add a member' }).click();
  await dialog.getByLabel('Name').fill('Olga again');
  await dialog.getByLabel('Email').fill(email);
  await dialog.getByRole('button', { name: 'Add a member' }).click();
  await isWrong(page, dialog.getByLabel('Email'), /./);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Add a member' }).click();
  assert.equal(await dialog.getByLabel('Email').inputValue(), '');
  assert.equal(await dialog.locator('.fault').count(), 0);
  await context.close();
});

test('tokens and members on a narrow screen are seen whole, with their buttons', async () => {
  const made = await api<{ data: { id: string } }>('POST', '/v2/tokens', { name: 'A token with a rather long name', abilities: ['view', 'preview', 'create'], blueprints: ['articles'], expires_at: '2001-02-03T00:00:00Z' });
  assert.equal(made.status, 201);
  const { page, context } = await signedIn('Olga Konstantinovna', 'owner', { width: 360, height: 740 });
  await open(page, '/settings/tokens');
  const row = page.locator('tr', { hasText: 'rather long' });
  await row.getByText('Expired', { exact: true }).waitFor();
  await row.getByText('Read, Read drafts, Create · Articles').waitFor();
  const seen = async (element: Locator): Promise<void> => {
    const box = (await element.boundingBox())!;
    assert.ok(box.x >= 0 && box.x + box.width <= 360, JSON.stringify(box));
  };
  await seen(row.getByRole('button', { name: /^Revoke/ }));
  await open(page, '/settings/members');
  const role = page.getByRole('combobox', { name: /^Role of Olga/ }).first();
  await seen(role);
  // The longest role, and the arrow beside it.
  assert.ok((await role.boundingBox())!.width >= 100);
  await seen(page.getByRole('button', { name: /^Actions for Olga/ }).first());
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  await api('DELETE', `/v2/tokens/${made.body.data.id}`);
  await context.close();
});
