// Somebody corrects what is published: which version the site shows, what a message is about, and where the focus stays.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, open, press, signedIn, toast } from '../browser';
import { DATE, input, isSound, makeCopied, siteOf, status, working } from '../copies';

after(closeBrowser);

const KEPT = { trash: { days: 30 }, history: { keep: 50, days: 365 } };

/** The rows of the history, newest first, with their marks. */
const rows = async (page: Page): Promise<string[]> => (await page.locator('.revision').allInnerTexts()).map((text) => text.replace(/\s*\n[^]*?ago.*|\s*\n.*now.*$/i, '').replace(/\s+/g, ' ').trim());
const marked = (page: Page, words: string, mark: string) => page.locator('.revision', { hasText: words }).filter({ has: page.locator('.badge', { hasText: mark }) }).waitFor();

test('the history marks the version of the site and that of the draft', async () => {
  await makeCopied('marked', KEPT);
  const site = await siteOf('marked');
  const id = await create('marked', { text: 'First', summary: 'Short' }, DATE);
  await api('PATCH', `/v2/resources/marked/${id}?copy=working`, { attributes: { text: 'Second' } });
  await api('POST', `/v2/resources/marked/${id}/publish`, {});
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/marked/${id}`);
  await marked(page, 'Published: Text', 'Now');

  await page.locator('.revision').last().press('Enter');
  await page.getByRole('checkbox', { name: 'Bring back Text' }).press('Space');
  await press(page, 'Bring back 1 field');
  await marked(page, 'Restored: Text', 'Draft');
  await marked(page, 'Published: Text', 'Site');
  assert.equal(await page.locator('.revision .badge').count(), 2);
  assert.equal((await site(id)).text, 'Second');
  assert.equal((await working('marked', id)).attributes.text, 'First');

  // The newest version shows what it changed.
  await page.locator('.revision').first().press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.locator('ins', { hasText: 'First' }).waitFor();
  await dialog.locator('del', { hasText: 'Second' }).waitFor();
  await page.keyboard.press('Escape');

  // The trash brings back both copies.
  await api('DELETE', `/v2/resources/marked/${id}`);
  await api('POST', `/v2/trash/${id}/restore?blueprint=marked`, {});
  await page.reload();
  await marked(page, 'Restored: Text', 'Draft');
  assert.deepEqual((await rows(page)).map((text) => /Site|Draft/.exec(text)?.[0] ?? ''), ['Site', '', 'Draft', '', '']);

  // What is discarded is nobody's version any more.
  await api('DELETE', `/v2/resources/marked/${id}?copy=working`);
  await page.reload();
  await page.locator('.revision .badge', { hasText: 'Now' }).waitFor();
  assert.deepEqual((await rows(page)).map((text) => /Now|Site|Draft/.exec(text)?.[0] ?? ''), ['Now', '', '', '', '']);
  assert.deepEqual(troubles, []);
  await context.close();
});
