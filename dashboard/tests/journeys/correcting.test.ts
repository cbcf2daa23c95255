// Somebody corrects what is published: which version the site shows, what a message is about, and where the focus stays.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, open, press, settled, signedIn, toast } from '../browser';
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
  assert.deepEqual((await rows(page)).map((text) => /^\w+/.exec(text)?.[0]), ['Published', 'Created'], 'an edit that is published at once is one line');

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
  assert.deepEqual((await rows(page)).map((text) => /Site|Draft/.exec(text)?.[0] ?? ''), ['Site', '', 'Draft', '']);

  // A version that was discarded is nobody's any more.
  await api('DELETE', `/v2/resources/marked/${id}?copy=working`);
  await page.reload();
  await page.locator('.revision .badge', { hasText: 'Now' }).waitFor();
  assert.deepEqual((await rows(page)).map((text) => /Now|Site|Draft/.exec(text)?.[0] ?? ''), ['Now', '', '', '']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what is typed and published at once is one line of the history, and versions that differ are all there', async () => {
  await makeCopied('at-once', KEPT);
  const id = await create('at-once', { text: 'First', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/at-once/${id}`);
  await input(page, 'text').fill('Second');
  await page.keyboard.press('Control+Shift+S');
  await marked(page, 'Published: Text', 'Now');
  const words = async () => (await rows(page)).map((text) => text.replace(/ (Now|Site|Draft)$/, ''));
  assert.deepEqual(await words(), ['Published: Text', 'Created']);
  // It says what it changed, against what the site showed before.
  await page.locator('.revision').first().press('Enter');
  await page.getByRole('dialog').locator('del', { hasText: 'First' }).waitFor();
  await page.keyboard.press('Escape');

  // Somebody else publishes it, or it is published with an earlier edit.
  await input(page, 'text').fill('Third');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  await api('PATCH', `/v2/resources/at-once/${id}?copy=working`, { attributes: { summary: 'Shorter' } });
  await api('POST', `/v2/resources/at-once/${id}/publish`, {});
  await page.reload();
  await page.locator('.revision').nth(3).waitFor();
  assert.deepEqual(await words(), ['Published: Text, Summary', 'Edited: Summary', 'Edited: Text', 'Published: Text']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('earlier versions are listed once, also if somebody asks for them twice', async () => {
  await makeCopied('many-versions', KEPT);
  const id = await create('many-versions', { text: 'First' });
  for (let round = 0; round < 8; round += 1) await api('PATCH', `/v2/resources/many-versions/${id}`, { published_at: round % 2 === 0 ? DATE : null });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/many-versions/${id}`);
  await page.route(/cursor=/, (route) => setTimeout(() => void route.continue(), 500));
  await page.getByRole('button', { name: 'Show earlier ones' }).dblclick();
  await page.locator('.revision', { hasText: 'Created' }).waitFor();
  await settled(page);
  assert.deepEqual((await rows(page)).map((text) => text.replace(' Now', '')), [...Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? 'Unpublished' : 'Published')), 'Created']);
  assert.deepEqual(troubles, []);
  await context.close();
});

const toasts = async (page: Page): Promise<string[]> => (await page.locator('.toast').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());

test('a message names its entry, replaces the older one about it, and goes when it is taken back', async () => {
  await makeCopied('messages', KEPT);
  const [id, other] = [await create('messages', { text: 'One' }, DATE), await create('messages', { text: 'Other' }, DATE)];
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/messages/${id}`);
  await input(page, 'text').fill('One, corrected');
  await page.keyboard.press('Control+Shift+S');
  await toast(page, 'Published. Your site shows it now.');
  await status(page, 'Published');
  await input(page, 'text').fill('One, corrected twice');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  assert.deepEqual(await toasts(page), ['One, corrected twice Draft saved. Your site shows the earlier version until you publish.']);

  // To unpublish hides: an eye that is crossed out.
  await page.locator('.top').getByRole('button', { name: 'More' }).press('Enter');
  assert.match((await page.getByRole('button', { name: 'Unpublish' }).locator('path').getAttribute('d'))!, /L20 4$/);
  await page.keyboard.press('Escape');

  // A schedule that is cancelled at the notice takes its message along.
  await press(page, 'More');
  await press(page, 'Publish later…');
  await page.getByRole('dialog').getByText('Until then this entry is locked').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).press('Enter');
  await toast(page, 'Your changes will be published on');
  await page.locator('.notice').getByRole('button', { name: 'Cancel the schedule' }).press('Enter');
  await toast(page, 'The schedule is cancelled.');
  assert.equal((await toasts(page)).length, 1);

  // Undo stays with the form that it works on.
  await press(page, 'More');
  await press(page, 'Publish later…');
  await page.getByRole('dialog').getByRole('button', { name: 'Schedule' }).press('Enter');
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).waitFor();
  await page.evaluate((path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }, `/admin/content/messages/${other}`);
  await page.getByRole('heading', { name: 'Other' }).waitFor();
  assert.deepEqual(await toasts(page), []);
  await open(page, `/content/messages/${id}`);

  // A scheduled change can be published at once.
  await page.locator('.top').getByRole('button', { name: 'Publish now' }).press('Enter');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await (await siteOf('messages'))(id)).text, 'One, corrected twice');

  // In the trash, too.
  await press(page, 'More');
  await press(page, 'Delete');
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).press('Enter');
  await toast(page, 'Moved to the trash.');
  await page.getByRole('link', { name: 'Trash' }).press('Enter');
  await press(page, 'Restore One, corrected twice');
  await toast(page, 'It is back.');
  assert.deepEqual(await toasts(page), ['One, corrected twice It is back. Open']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the focus stays where somebody publishes and saves, and the keys are named', async () => {
  await makeCopied('focused');
  const id = await create('focused', { text: 'One' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
  await open(page, `/content/focused/${id}`);
  await input(page, 'text').fill('Two');
  await press(page, 'Save draft');
  await toast(page, 'Draft saved.');
  assert.equal(await focused(), 'Save draft');
  await press(page, 'Publish changes');
  await toast(page, 'Published.');
  assert.equal(await focused(), 'Publish changes');
  assert.equal(await page.getByRole('button', { name: 'Publish changes' }).getAttribute('title'), 'Publish changes (Ctrl+Shift+S)');
  assert.equal(await page.getByRole('button', { name: 'Save draft' }).getAttribute('title'), 'Save draft (Ctrl+S)');

  const draft = await create('focused', { text: 'A draft' });
  await open(page, `/content/focused/${draft}`);
  await press(page, 'Publish');
  await toast(page, 'Published.');
  assert.equal(await focused(), 'Publish changes');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the search over everything finds the title of a draft, and the trash names the title of the site', async () => {
  await makeCopied('titled', KEPT);
  const id = await create('titled', { text: 'Questions' }, DATE);
  await api('PATCH', `/v2/resources/titled/${id}?copy=working`, { attributes: { text: 'Zwiebelfisch Q & A' } });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('Zwiebelfisch');
  const option = page.getByRole('option', { name: /Zwiebelfisch Q & A/ });
  await option.waitFor();
  assert.match(await option.innerText(), /titled · Edited/);
  await page.keyboard.press('Enter');
  await status(page, 'Published · edited');
  await press(page, 'More');
  await press(page, 'Delete');
  const dialog = page.getByRole('dialog', { name: 'Delete “Questions”?' });
  await dialog.getByText('Its title in the draft is “Zwiebelfisch Q & A”.').waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).press('Enter');
  await toast(page, 'Moved to the trash.');
  await open(page, '/trash?blueprint=titled');
  await page.locator('.entry .title', { hasText: 'Questions' }).waitFor();
  assert.match(await page.locator('.entry').innerText(), /gone for good in 30 days/);
  await page.getByRole('button', { name: 'Restore Questions' }).press('Enter');
  await page.getByText(/You can bring deleted entries back from here: titled for 30 days\. After that they are gone for good\./).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('changes of different fields are saved without a question, and a conflict says who and when', async () => {
  await makeCopied('joined');
  const id = await create('joined', { text: 'One', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/joined/${id}`);
  const tab = await context.newPage();
  await open(tab, `/content/joined/${id}`);
  await input(tab, 'summary').fill('Shorter');
  await tab.keyboard.press('Control+s');
  await toast(tab, 'Draft saved.');
  await input(page, 'text').fill('Two');
  await page.keyboard.press('Control+s');
  await toast(page, 'It includes what you changed in another tab: Summary.');
  assert.deepEqual((await working('joined', id)).attributes, { text: 'Two', summary: 'Shorter' });

  await input(tab, 'text').fill('Three');
  await tab.keyboard.press('Control+s');
  const dialog = tab.getByRole('dialog', { name: 'You changed this in another tab' });
  await dialog.getByText(/You saved another version in another tab or browser \(.+\d\d:\d\d/).waitFor();
  await dialog.getByText('In the other tab').first().waitFor();
  await isSound(tab, 'conflict');
  await dialog.getByRole('button', { name: 'Save with these' }).press('Enter');
  await tab.waitForFunction(() => document.querySelector('.top .saved')?.textContent === '');
  assert.deepEqual((await working('joined', id)).attributes, { text: 'Three', summary: 'Shorter' });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the button of a conflict says whether the choice is saved, published or scheduled', async () => {
  await makeCopied('chosen');
  const site = await siteOf('chosen');
  const id = await create('chosen', { text: 'One', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  const dialog = page.getByRole('dialog', { name: 'Somebody else changed this' });
  const later = dialog.getByRole('button', { name: 'Decide later' });
  await open(page, `/content/chosen/${id}`);
  await input(page, 'text').fill('Mine');
  await api('PATCH', `/v2/resources/chosen/${id}?copy=working`, { attributes: { text: 'Theirs' } });

  await page.keyboard.press('Control+s');
  await dialog.getByRole('button', { name: 'Save with these' }).waitFor();
  await later.press('Enter');
  await press(page, 'More');
  await press(page, 'Publish later…');
  await page.getByRole('dialog').getByRole('button', { name: 'Schedule', exact: true }).press('Enter');
  await dialog.getByRole('button', { name: 'Schedule with these' }).waitFor();
  await later.press('Enter');
  await page.keyboard.press('Control+Shift+S');
  await dialog.getByRole('button', { name: 'Publish with these' }).press('Enter');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'Mine');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a table of the site says which entries are edited', async () => {
  await makeCopied('listed');
  const id = await create('listed', { text: 'First' }, DATE);
  await create('listed', { text: 'Second' }, DATE);
  await api('PATCH', `/v2/resources/listed/${id}?copy=working`, { attributes: { text: 'First, corrected' } });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/listed');
  await page.locator('tbody tr', { hasText: 'First' }).getByText('Published · edited').waitFor();
  await page.locator('tbody tr', { hasText: 'Second' }).getByText('Published', { exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'As on the site', exact: true }).getAttribute('title'), 'What your site shows now');
  assert.equal(await page.getByRole('button', { name: 'With edits', exact: true }).getAttribute('title'), 'With the changes that are not published yet');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a long title leaves the buttons in their row, and a message covers nothing on a phone', async () => {
  // With languages to choose from, which need the most room.
  await makeCopied('narrow', { variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] });
  const id = await create('narrow', { text: 'A title that is so long that it does not fit beside all the buttons of the entry '.repeat(3) }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/narrow/${id}`);
  const height = async (): Promise<number> => (await page.locator('.top').boundingBox())!.height;
  const before = await height();
  await input(page, 'summary').fill('Typed');
  await page.getByText('Not saved yet').first().waitFor();
  assert.equal(await height(), before);

  await page.setViewportSize({ width: 360, height: 740 });
  assert.ok((await height()) < 110, `the head is ${await height()} pixels high`);
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  const [message, head] = [(await page.locator('.toast').boundingBox())!, (await page.locator('.top').boundingBox())!];
  assert.ok(message.y + message.height <= head.y + 1, `the message ends at ${message.y + message.height}, the head begins at ${head.y}`);
  await isSound(page, 'message');
  await open(page, '/content/narrow');
  assert.deepEqual(troubles, []);
  await context.close();
});
