// Members who are limited to blueprints, and what the settings say of members and tokens.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { api, closeBrowser, open, openBrowser, PASSWORD, settled, signedIn, URL_BASE } from '../browser';

after(closeBrowser);

interface Members {
  data: { id: number; name: string; email: string; blueprints: string[] | null }[];
}

const memberOf = async (email: string) => (await api<Members>('GET', '/v2/members')).body.data.find((member) => member.email === email)!;

test('an owner limits a member to blueprints, who finds nothing else', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/settings/members');
  await page.getByRole('button', { name: 'Add a member' }).click();
  const email = `limited-${Date.now()}@example.org`;
  const dialog = page.locator('dialog');
  await dialog.getByLabel('Name').fill('Limited Lara');
  await dialog.getByLabel('Email').fill(email);
  await dialog.getByLabel('Only some blueprints').check();
  await dialog.getByLabel('Articles').check();
  await dialog.getByRole('button', { name: 'Add a member' }).click();
  const link = await page.getByLabel('Link to choose a password').inputValue();
  await page.getByRole('button', { name: 'Close' }).first().click();
  const row = page.locator('tr', { hasText: email });
  await row.getByText('Articles').waitFor();
  await row.getByText('Never').waitFor();
  await row.getByText('Invited until').waitFor();
  assert.deepEqual((await memberOf(email)).blueprints, ['articles']);

  const guest = await (await openBrowser()).newContext({ locale: 'en-GB', baseURL: URL_BASE });
  const lara = await guest.newPage();
  await lara.goto(link);
  await lara.getByLabel('Password').fill(PASSWORD);
  await lara.getByRole('button', { name: 'Save and sign in' }).click();
  await lara.getByRole('heading', { name: 'Hello Limited' }).waitFor();
  await settled(lara);
  const navigation = lara.getByRole('navigation').first();
  await navigation.getByText('Articles').waitFor();
  assert.equal(await lara.getByText('Contact messages').count(), 0);
  await lara.keyboard.press('Control+k');
  await lara.keyboard.type('contact');
  await settled(lara);
  assert.equal(await lara.getByText('Contact messages').count(), 0);
  await lara.keyboard.press('Escape');

  // The owner takes the limit away; it counts with the next request.
  await page.reload();
  await row.getByText('Invited until').waitFor({ state: 'detached' });
  await row.getByText('Never').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Actions for Limited Lara' }).click();
  await page.getByRole('button', { name: 'Limit to blueprints…' }).click();
  await dialog.getByLabel('Only some blueprints').uncheck();
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row.getByText('All', { exact: true }).waitFor();
  await lara.reload();
  await navigation.getByText('Contact messages').waitFor();
  assert.deepEqual(troubles, []);
  await guest.close();
  await context.close();
});

test('a token says when it was last used', async () => {
  const name = `used-${Date.now()}`;
  const made = await api<{ data: { secret: string } }>('POST', '/v2/tokens', { name, abilities: ['view'] });
  const { page, context } = await signedIn('Olga', 'owner');
  await open(page, '/settings/tokens');
  const row = page.locator('tr', { hasText: name });
  await row.getByText('Never').waitFor();
  await fetch(`${URL_BASE}/v2/blueprints`, { headers: { authorization: `Bearer ${made.body.data.secret}` } });
  await settled(page);
  await page.reload();
  await row.getByText('now').waitFor();
  await context.close();
});
