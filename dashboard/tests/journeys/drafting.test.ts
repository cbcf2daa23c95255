// Work on what is published is not lost: in an ended session, in two tabs, and in the history, of which single paragraphs come back.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, choose, closeBrowser, create, field, open, PASSWORD, press, read, signedIn, toast } from '../browser';
import { DATE, input, isSound, makeCopied, siteOf, status, working } from '../copies';

after(closeBrowser);

const BODY = [{ name: 'Text', slug: 'text', type: 'text', required: true }, { name: 'Summary', slug: 'summary', type: 'text' }, { name: 'Body', slug: 'body', type: 'rich-text' }];

async function signInAgain(page: Page): Promise<void> {
  await page.locator('dialog input[type=password]').fill(PASSWORD);
  await page.keyboard.press('Enter');
}

test('changes of a published entry that an ended session could not save are saved and published after signing in', async () => {
  await makeCopied('expired-drafts');
  const site = await siteOf('expired-drafts');
  const id = await create('expired-drafts', { text: 'Before' }, DATE);
  const { page, context, email } = await signedIn('Una', 'editor');
  await open(page, `/content/expired-drafts/${id}`);
  await input(page, 'text').fill('Typed in an ended session');
  await context.clearCookies();
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Sign in again to continue' }).waitFor();
  assert.equal(await page.getByLabel('Email').last().inputValue(), email);
  await signInAgain(page);
  await toast(page, 'Draft saved.');
  await status(page, 'Published · edited');
  assert.equal((await working('expired-drafts', id)).attributes.text, 'Typed in an ended session');
  assert.equal((await site(id)).text, 'Before');

  // The session ends between saving and publishing.
  await input(page, 'summary').fill('Typed in another one');
  const ended = { errors: { code: 'UNAUTHENTICATED', message: 'the session has ended' } };
  await page.route(`**/${id}/publish`, async (route) => {
    await context.clearCookies();
    await route.fulfill({ status: 401, contentType: 'application/json', body: JSON.stringify(ended) });
  }, { times: 1 });
  await press(page, 'Publish changes');
  await signInAgain(page);
  await toast(page, 'Published. Your site shows it now.');
  assert.deepEqual(await site(id), { text: 'Typed in an ended session', summary: 'Typed in another one' });

  // Nobody saves, the session ends, and the page is loaded again.
  await input(page, 'text').fill('Typed and left');
  await page.waitForFunction(() => Object.values(localStorage).some((kept) => String(kept).includes('Typed and left')));
  await context.clearCookies();
  await page.reload();
  await page.getByLabel('Email').fill(email);
  await page.locator('input[type=password]').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await input(page, 'text').inputValue(), 'Typed and left');
  await context.close();
});

test('two tabs that change one draft lose nothing of each other', async () => {
  await makeCopied('tabbed-drafts');
  const id = await create('tabbed-drafts', { text: 'Stored', summary: 'Short' }, DATE);
  const { page: first, context, troubles } = await signedIn('Una', 'editor');
  const second = await context.newPage();
  for (const page of [first, second]) await open(page, `/content/tabbed-drafts/${id}`);
  await input(first, 'text').fill('From the first tab');
  await input(second, 'summary').fill('From the second tab');
  await first.keyboard.press('Control+s');
  await toast(first, 'Draft saved.');

  // Another field was changed: nothing has to be decided, and the message says that both changes are in.
  await second.keyboard.press('Control+s');
  await toast(second, 'It includes what you changed in another tab: Text.');
  assert.equal(await input(second, 'text').inputValue(), 'From the first tab');
  assert.deepEqual((await working('tabbed-drafts', id)).attributes, { text: 'From the first tab', summary: 'From the second tab' });

  // Both changed one field: somebody chooses, and the text that was not chosen stands in the other tab.
  await input(first, 'summary').fill('First again');
  await first.keyboard.press('Control+s');
  await first.getByRole('dialog').locator('del, ins, p').getByText('second', { exact: false }).first().waitFor();
  await first.getByRole('dialog').getByText('One field changed in both tabs').waitFor();
  await first.getByRole('dialog').getByText('Changed in both tabs', { exact: true }).waitFor();
  await first.getByRole('dialog').getByRole('button', { name: /^Save/ }).press('Enter');
  await first.getByRole('dialog').waitFor({ state: 'detached' });
  // The message of the first save may still be there.
  for (let tries = 0; (await working('tabbed-drafts', id)).attributes.summary !== 'First again'; tries += 1) {
    assert.ok(tries < 100, 'the choice is not saved');
    await first.waitForTimeout(50);
  }
  assert.equal(await input(second, 'summary').inputValue(), 'From the second tab');
  assert.deepEqual((await read('tabbed-drafts', id)).attributes, { text: 'Stored', summary: 'Short' });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what is saved again and again within minutes is one version of the history', async () => {
  await makeCopied('often-saved', { history: { keep: 50, days: 365 } });
  const id = await create('often-saved', { text: 'Zero' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/often-saved/${id}`);
  for (const text of ['One', 'Two', 'Three', 'Four']) {
    await input(page, 'text').fill(text);
    await page.keyboard.press('Control+s');
    while ((await working('often-saved', id)).attributes.text !== text) await page.waitForTimeout(30);
  }
  const { body } = await api<{ data: { op: string }[] }>('GET', `/v2/resources/often-saved/${id}/history`);
  assert.ok(body.data.filter((one) => one.op === 'edited').length <= 1, JSON.stringify(body.data));
  assert.deepEqual(troubles, []);
  await context.close();
});

test('one paragraph of an earlier version comes back, and the others stay', async () => {
  await makeCopied('paragraphs', { history: { keep: 50, days: 365 }, fields: BODY });
  const site = await siteOf('paragraphs');
  const id = await create('paragraphs', { text: 'Title', body: '<p>Yesterday one.</p><p>Between.</p><p>Yesterday two.</p>' }, DATE);
  await api('PATCH', `/v2/resources/paragraphs/${id}`, { attributes: { body: '<p>Today one.</p><p>Between.</p>' } });
  const { page, context, troubles } = await signedIn('Hana', 'editor');
  await open(page, `/content/paragraphs/${id}`);
  await page.locator('.revision').last().press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Bring this passage back: Body, 2' }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: /^Bring this passage back/ }).count(), 2);
  await isSound(page, 'passages');
  await press(page, 'Bring this passage back: Body, 2');
  await toast(page, 'It is back in the form, and not saved yet.');
  // The one that remains has its button still.
  await dialog.getByRole('button', { name: 'Bring this passage back: Body, 2' }).waitFor({ state: 'detached' });
  assert.equal(await dialog.getByRole('button', { name: 'Bring this passage back: Body, 1' }).count(), 1);
  await isSound(page, 'one-passage');
  await press(page, 'Close');
  await field(page, 'body').locator('.prose p', { hasText: 'Yesterday two.' }).waitFor();
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  const wanted = '<p>Today one.</p><p>Between.</p><p>Yesterday two.</p>';
  assert.equal((await working('paragraphs', id)).attributes.body, wanted);
  assert.equal((await site(id)).body, '<p>Today one.</p><p>Between.</p>');
  await choose(page, 'Compare with the site');
  await dialog.locator('.passage, iframe').first().waitFor();
  await isSound(page, 'compared-rich');
  await press(page, 'Close');
  await press(page, 'Publish changes');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).body, wanted);
  assert.deepEqual(troubles, []);
  await context.close();
});
