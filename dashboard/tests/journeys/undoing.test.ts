// Nothing is lost by mistake: Undo, the trash, and the earlier versions of an entry, with the keyboard only.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, choose, closeBrowser, create, field, makeBlueprint, open, press, reach, read, settled, signedIn, toast } from '../browser';

after(closeBrowser);

const NOTE = [['Text', 'text'], ['Body', 'rich-text'], ['Count', 'number']] as const;
const KEPT = { trash: { days: 30 }, history: { keep: 50, days: 365 } };

/** A blueprint with a trash, a title, and a field whose values are unique. */
async function makeUnique(slug: string, days: number, unique: Record<string, unknown>): Promise<void> {
  const answer = await api('POST', '/v2/blueprints', { name: slug, slug, record_title: 'text', trash: { days }, fields: [{ name: 'Text', type: 'text' }, { ...unique, unique: true }] });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

const statusOf = async (blueprint: string, id: string): Promise<number> => (await api('GET', `/v2/resources/${blueprint}/${id}`)).status;

test('what was deleted or unpublished comes back with Undo', async () => {
  await makeBlueprint('undo-notes', { trash: { days: 30 } }, NOTE);
  const date = '2020-02-03T04:05:06.000+00:00';
  const id = await create('undo-notes', { text: 'Come back', body: '<p>Hello</p>' }, date);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/undo-notes/${id}`);
  await page.locator('.prose').waitFor();

  await choose(page, 'Unpublish');
  await toast(page, 'Unpublished.');
  assert.equal((await read('undo-notes', id)).published_at, null);
  await choose(page, 'Undo');
  await toast(page, 'Published.');
  assert.equal((await read('undo-notes', id)).published_at, date, 'the old date is back');
  await page.locator('.top').getByText('Published', { exact: true }).waitFor();

  // A change that was saved with it must not get onto the site by Undo.
  await field(page, 'text').getByRole('textbox').fill('Come back, please');
  await choose(page, 'Unpublish');
  await page.waitForFunction(() => [...document.querySelectorAll('.toast')].some((one) => one.textContent?.includes('Unpublished') && !one.textContent.includes('Undo')));

  await choose(page, 'Delete');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('You can bring it back for 30 days.').waitFor();
  await press(page, 'Delete');
  await toast(page, 'Moved to the trash.');
  await page.getByTestId('total').getByText('0 entries').waitFor();
  assert.equal(await statusOf('undo-notes', id), 404);
  await choose(page, 'Undo');
  await toast(page, 'It is back.');
  await page.getByRole('link', { name: 'Come back, please' }).waitFor();
  assert.equal(await statusOf('undo-notes', id), 200);

  // The button itself is reached, too.
  await page.keyboard.press('x');
  await page.locator('tbody a.title').first().focus();
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await press(page, 'Delete');
  await page.getByRole('dialog', { name: 'Delete “Come back, please”?' }).getByText('It goes to the trash. You can bring it back for 30 days.').waitFor();
  await press(page, 'Delete');
  await page.getByTestId('total').getByText('0 entries').waitFor();
  // One that was deleted from the table is named, too.
  assert.match((await page.locator('.toast').last().innerText()).replace(/\s+/g, ' '), /^Come back, please Moved to the trash\./);
  await press(page, 'Undo');
  await page.getByRole('link', { name: 'Come back, please' }).waitFor();
  // It is gone with its message, and one goes on at the heading of the list, where the keys of the table work.
  const focused = () => page.evaluate(() => document.activeElement?.outerHTML.slice(0, 80));
  assert.match((await focused())!, /^<h1/);
  await page.keyboard.press('ArrowDown');
  assert.match((await focused())!, /^<a class="title/);
  await toast(page, 'It is back.');
  await page.locator('.toast').getByRole('button', { name: 'Close' }).press('Enter');
  await page.locator('.toast').waitFor({ state: 'detached' });
  assert.match((await focused())!, /^<h1/);
  await page.keyboard.press('n');
  await page.waitForURL(/\/content\/undo-notes\/new/);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('Undo after bulk operations gives each entry its own date, and says what did not come back', async () => {
  await makeUnique('undo-many', 1, { name: 'Code', slug: 'code', type: 'text' });
  const dates = ['2019-01-01T00:00:00.000+00:00', '2020-01-01T00:00:00.000+00:00'];
  const ids = await Promise.all(dates.map((date, index) => create('undo-many', { text: `Entry ${index}`, code: `c${index}` }, date)));
  const draft = await create('undo-many', { text: 'Draft', code: 'c2' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/undo-many');
  await page.locator('tbody a.title').first().waitFor();

  const selectAll = async (): Promise<void> => {
    await reach(page, 'Select all rows of this page');
    await page.keyboard.press('Space');
    await page.getByText('3 selected').waitFor();
  };
  await selectAll();
  await press(page, 'Unpublish');
  await page.getByRole('dialog').waitFor();
  await press(page, 'Unpublish');
  await toast(page, '2 entries unpublished.');
  await toast(page, '1 entry was a draft already.');
  await choose(page, 'Undo');
  await toast(page, '2 entries published.');
  for (const [index, id] of ids.entries()) assert.equal((await read('undo-many', id)).published_at, dates[index]);
  assert.equal((await read('undo-many', draft)).published_at, null, 'a draft stays one');

  await page.locator('#screen').focus();
  await selectAll();
  await press(page, 'Delete');
  await page.getByRole('dialog').getByText('for one day').waitFor();
  await press(page, 'Delete');
  await toast(page, '3 entries moved to the trash.');
  await create('undo-many', { text: 'Takes its code', code: 'c1' });
  await choose(page, 'Undo');
  await toast(page, '2 back, 1 still in the trash. Another entry has the same value in Code by now.');
  await choose(page, 'Open the trash');
  await page.getByRole('heading', { name: 'Trash' }).waitFor();
  await page.getByText('Entry 1').waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the buttons for selected rows are near with the keyboard', async () => {
  await makeBlueprint('near-notes', KEPT, NOTE);
  for (let number = 1; number <= 30; number += 1) await create('near-notes', { text: `Note ${number}` });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/near-notes');
  const inBar = () => page.evaluate(() => document.activeElement?.closest('[role=group]')?.getAttribute('aria-label') === 'Selected entries');
  const top = () => page.locator('thead').evaluate((head) => head.getBoundingClientRect().top);
  await page.locator('tbody a.title').nth(24).waitFor();
  const before = await top();

  await reach(page, 'Select all rows of this page');
  await page.keyboard.press('Space');
  await page.getByText('25 selected').waitFor();
  assert.equal(await top(), before, 'the table stays where it is');
  for (let step = 0; step < 2; step += 1) await page.keyboard.press('Shift+Tab');
  assert.equal(await inBar(), true);

  // The button that clears the selection goes with it.
  await page.getByRole('button', { name: 'Clear the selection' }).press('Enter');
  await page.waitForFunction(() => document.activeElement?.tagName === 'H1');

  // From a row in the middle.
  await page.getByRole('checkbox', { name: 'Select Note 20', exact: true }).press('Space');
  await page.getByText('1 selected').waitFor();
  await page.keyboard.press('b');
  assert.equal(await inBar(), true);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what was typed into a field comes back after it was emptied, or its change undone', async () => {
  await makeBlueprint('emptied-notes', {}, [...NOTE, ['Link', 'link']]);
  const id = await create('emptied-notes', { text: 'Stored', body: '<p>Stored</p>', count: 1, link: '/path' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/emptied-notes/${id}`);
  const [text, body, link] = [field(page, 'text').getByRole('textbox'), field(page, 'body').locator('.prose'), field(page, 'link').getByRole('textbox')];
  const undo = (said: string) => page.locator('.toast', { hasText: said }).getByRole('button', { name: 'Undo', exact: true });
  await text.fill('Typed for an hour');
  await body.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type(' and typed');

  await page.getByRole('button', { name: 'Empty Text' }).click();
  assert.equal(await text.inputValue(), '');
  assert.equal(await text.evaluate((one) => one === document.activeElement), true, 'the input has the focus');
  // A message about another field does not take the place of the first one.
  await page.getByRole('button', { name: 'Undo the change of Body' }).click();
  assert.equal(await body.innerText(), 'Stored');
  assert.equal(await body.evaluate((one) => one === document.activeElement), true, 'the text has the focus');
  await undo('Text is empty now.').click();
  assert.equal(await text.inputValue(), 'Typed for an hour');
  await undo('The change of Body is undone.').click();
  assert.equal(await body.innerText(), 'Stored and typed');

  // What was typed since is not lost either.
  await page.getByRole('button', { name: 'Empty Link' }).click();
  await link.fill('/since');
  await undo('Link is empty now.').click();
  assert.equal(await link.inputValue(), '/path');
  await undo('What was there before is back.').last().click();
  assert.equal(await link.inputValue(), '/since');

  // In the text itself, its own Undo does it.
  await page.getByRole('button', { name: 'Empty Body' }).click();
  await page.keyboard.press('Control+z');
  assert.equal(await body.innerText(), 'Stored and typed');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.deepEqual((await read('emptied-notes', id)).attributes, { text: 'Typed for an hour', body: '<p>Stored and typed</p>', count: 1, link: '/since' });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the browser asks before a page is left that is still bringing entries back', async () => {
  await makeBlueprint('slow-notes', KEPT, NOTE);
  for (const text of ['One', 'Two']) await create('slow-notes', { text });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/slow-notes');
  await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
  await press(page, 'Delete');
  await page.getByRole('dialog').getByText('They go to the trash. You can bring them back for 30 days.').waitFor();
  await press(page, 'Delete');
  await toast(page, '2 entries moved to the trash.');
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/v2/trash/**', (route) => held.then(() => route.continue()));
  const asks = () => page.evaluate(() => !dispatchEvent(new Event('beforeunload', { cancelable: true })));
  await choose(page, 'Undo');
  await toast(page, 'Bringing back 2 entries…');
  assert.equal(await asks(), true);
  release();
  await toast(page, '2 entries are back.');
  assert.equal(await asks(), false);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('without a trash a deletion is final, and says so', async () => {
  await makeBlueprint('final-notes', {}, NOTE);
  const id = await create('final-notes', { text: 'For good' });
  const { page, context } = await signedIn('Una', 'editor');
  await open(page, `/content/final-notes/${id}`);
  await choose(page, 'Delete');
  await page.getByRole('dialog').getByText('This cannot be undone.').waitFor();
  await press(page, 'Delete');
  await toast(page, 'Deleted.');
  assert.equal(await page.locator('.toast').getByRole('button', { name: 'Undo' }).count(), 0);
  await context.close();
});

test('the trash lists what was deleted, and lets it back as it was, as a draft, or go for good', async () => {
  await makeBlueprint('bin-notes', KEPT, NOTE);
  await makeBlueprint('bin-links', {}, [['Text', 'text'], ['Note', 'reference', { blueprint: 'bin-notes' }]]);
  const date = '2020-02-03T04:05:06.000+00:00';
  const ids: string[] = [];
  for (const name of ['First', 'Second', 'Third', 'Fourth']) ids.push(await create('bin-notes', { text: `${name} note` }, date));
  await create('bin-links', { text: 'A link', note: ids[0] });
  for (const id of ids) await api('DELETE', `/v2/resources/bin-notes/${id}`);

  const { page, context, troubles } = await signedIn('Una', 'editor', { width: 360, height: 740 });
  await open(page, '/');
  await choose(page, 'Trash');
  await page.getByRole('heading', { name: 'Trash' }).waitFor();
  await page.getByLabel('Blueprint').selectOption('bin-notes');
  await page.getByTestId('total').getByText('4 entries').waitFor();
  assert.deepEqual(await page.locator('.entry .title').allInnerTexts(), ['Fourth note', 'Third note', 'Second note', 'First note'], 'newest first');
  await page.locator('.entry', { hasText: 'First note' }).getByText('Was used in bin-links · Note (1)').waitFor();
  await page.locator('.entry', { hasText: 'First note' }).getByText(/gone for good in (30 days|4 weeks|1 month|next month)|next month/).waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);

  await press(page, 'Restore Fourth note');
  await toast(page, 'It is back.');
  assert.equal((await read('bin-notes', ids[3]!)).published_at, date);
  await page.getByTestId('total').getByText('3 entries').waitFor();

  await press(page, 'More for Third note');
  await press(page, 'Restore as draft');
  await toast(page, 'It is back, as a draft.');
  await page.getByTestId('total').getByText('2 entries').waitFor();
  assert.equal((await read('bin-notes', ids[2]!)).published_at, null);

  await reach(page, 'Select all rows of this page');
  await page.keyboard.press('Space');
  await page.getByText('2 selected').waitFor();
  await press(page, 'Delete for good');
  await page.getByRole('dialog').getByText('Delete 2 entries for good?').waitFor();
  await press(page, 'Delete for good');
  await page.getByText('The trash is empty').waitFor();
  assert.equal((await api('POST', `/v2/trash/${ids[0]}/restore`)).status, 404);
  assert.deepEqual(troubles, []);
  await context.close();

  // Authors delete their drafts; viewers delete nothing.
  for (const [role, links] of [['author', 1], ['viewer', 0]] as const) {
    const other = await signedIn('Vera', role);
    await open(other.page, '/');
    await other.page.getByRole('link', { name: 'Settings', exact: true }).waitFor();
    assert.equal(await other.page.getByRole('link', { name: 'Trash', exact: true }).count(), links, role);
    if (role === 'author') await restoresDraftsOnly(other.page);
    await other.context.close();
  }
});

async function restoresDraftsOnly(page: Page): Promise<void> {
  const id = await create('bin-notes', { text: 'Of an editor' }, '2020-02-03T04:05:06Z');
  await api('DELETE', `/v2/resources/bin-notes/${id}`);
  await open(page, '/trash?blueprint=bin-notes');
  await page.getByRole('button', { name: 'Restore Of an editor' }).press('Enter');
  await page.getByText('Your role can bring it back as a draft only.').waitFor();
  await page.getByRole('button', { name: 'More for Of an editor' }).press('Enter');
  await page.getByRole('button', { name: 'Restore as draft' }).press('Enter');
  await toast(page, 'It is back, as a draft.');
  assert.equal((await read('bin-notes', id)).published_at, null);
}

test('the trash has pages, and says which values are taken', async () => {
  await makeUnique('bin-pages', 30, { name: 'Address', slug: 'slug', type: 'slug' });
  const ids: string[] = [];
  for (let number = 1; number <= 26; number += 1) ids.push(await create('bin-pages', { text: `Page ${number}`, slug: `page-${number}` }));
  for (const id of ids) await api('DELETE', `/v2/resources/bin-pages/${id}`);
  await create('bin-pages', { text: 'Instead', slug: 'page-1' });
  const { page, context } = await signedIn('Una', 'owner');
  await open(page, '/trash?blueprint=bin-pages');
  await page.getByText('1–25 of 26').waitFor();
  await press(page, 'Next page');
  await page.getByText('26–26 of 26').waitFor();
  await page.locator('#screen').focus();
  await press(page, 'Restore Page 1');
  await page.locator('.entry .fault').getByText('Another entry has the same value in Address by now. Change it there first.').waitFor();
  await press(page, 'More for Page 1');
  await press(page, 'Delete for good');
  await page.getByRole('dialog').waitFor();
  await press(page, 'Delete for good');
  // The page that is empty now gives way to the one before it.
  await page.getByTestId('total').getByText('25 entries').waitFor();
  await context.close();
});

test('everything in the trash is selected over its pages, and comes back or goes for good', async () => {
  await makeBlueprint('bin-many', KEPT, NOTE);
  const ids: string[] = [];
  for (let part = 0; part < 2; part += 1) {
    const { body } = await api<{ data: { created: { id: string }[] } }>('POST', '/v2/resources/bin-many/bulk', { resources: Array.from({ length: 65 }, (_, index) => ({ attributes: { text: `Note ${part}-${index}` } })) });
    ids.push(...body.data.created.map((one) => one.id));
  }
  const throwAway = async (): Promise<void> => {
    for (const part of [ids.slice(0, 65), ids.slice(65)]) assert.equal((await api('DELETE', '/v2/resources/bin-many/bulk', { ids: part })).status, 200);
  };
  const totalOf = async (path: string): Promise<number> => (await api<{ meta: { total: number } }>('GET', path)).body.meta.total;
  await throwAway();
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/trash?blueprint=bin-many');
  await page.getByTestId('total').getByText('130 entries').waitFor();
  await page.locator('.entry input').first().check();
  await page.getByRole('button', { name: 'Select all 130' }).click();
  await page.getByText('130 selected, 105 not shown').waitFor();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('26–50 of 130').waitFor();
  assert.equal(await page.getByRole('checkbox', { name: 'Select all rows of this page' }).isChecked(), true, 'the selection reaches over pages');
  await page.getByRole('button', { name: 'Restore', exact: true }).click();
  await toast(page, '130 entries are back.');
  await page.getByText('The trash is empty').waitFor();
  assert.equal(await totalOf('/v2/resources/bin-many'), 130);

  await throwAway();
  await page.reload();
  await page.getByTestId('total').getByText('130 entries').waitFor();
  // Only those of this page, after all.
  await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
  await page.getByRole('button', { name: 'Select all 130' }).click();
  await page.getByRole('button', { name: 'Only those shown' }).click();
  await page.getByText('25 selected', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Select all 130' }).click();
  await page.getByRole('button', { name: 'Delete for good', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete 130 entries for good?' });
  await dialog.getByText('105 of them are on other pages.').waitFor();
  await dialog.getByRole('button', { name: 'Delete for good' }).click();
  await toast(page, '130 entries deleted for good.');
  await page.getByText('The trash is empty').waitFor();
  assert.equal(await totalOf('/v2/trash?blueprint=bin-many'), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('earlier versions are compared by words, and fields or all of it come back', async () => {
  await makeBlueprint('past-notes', KEPT, NOTE);
  const id = await create('past-notes', { text: 'The old house', body: '<p>It stands on a hill.</p><p>Nobody lives there.</p>', count: 1 }, '2020-02-03T04:05:06Z');
  await api('PATCH', `/v2/resources/past-notes/${id}`, { attributes: { text: 'The new house', count: 2 } });
  await api('PATCH', `/v2/resources/past-notes/${id}`, { attributes: { body: '<p>It stands on a high hill.</p><p>Nobody lives there.</p>' } });
  const { page, context, troubles } = await signedIn('Hana', 'owner');
  await open(page, `/content/past-notes/${id}`);
  await page.locator('.prose').waitFor();
  const revisions = page.locator('.revision');
  await revisions.nth(2).waitFor();
  assert.match(await revisions.nth(0).innerText(), /Changed: Body[^]*Now/);
  assert.match(await revisions.nth(1).innerText(), /Changed: Text, Count/);
  assert.match(await revisions.nth(2).innerText(), /Created/);

  await press(page, /^Created/);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Struck out').waitFor();
  assert.equal(await dialog.locator('del').first().innerText(), 'old ');
  assert.equal(await dialog.locator('ins').first().innerText(), 'new ');
  const rich = dialog.frameLocator('iframe');
  await rich.locator('ins').getByText('high').waitFor();
  await settled(page);

  // Some fields, at once.
  assert.equal(await dialog.getByRole('button', { name: 'Choose fields to bring back' }).isDisabled(), true);
  await reach(page, 'Bring back Text');
  await page.keyboard.press('Space');
  await press(page, 'Bring back 1 field');
  await toast(page, 'The earlier version is back. Your site shows it now.');
  assert.deepEqual((await read('past-notes', id)).attributes, { text: 'The old house', body: '<p>It stands on a high hill.</p><p>Nobody lives there.</p>', count: 2 });
  assert.equal(await field(page, 'text').getByRole('textbox').inputValue(), 'The old house');
  await revisions.filter({ hasText: 'Restored: Text' }).waitFor();
  await choose(page, 'Undo');
  await toast(page, 'As it was before.');
  assert.equal((await read('past-notes', id)).attributes.text, 'The new house');
  await revisions.nth(4).waitFor();

  // All of it into the form, beside what was typed there; nothing is stored before it is saved.
  await field(page, 'count').getByRole('textbox').fill('7');
  await press(page, /^Created/);
  await dialog.getByText('Struck out').waitFor();
  await dialog.getByRole('checkbox', { name: 'Select all' }).press('Space');
  await reach(page, 'Bring back Count');
  await page.keyboard.press('Space');
  await press(page, 'Put into the form');
  await page.getByText('Not saved yet').first().waitFor();
  assert.equal((await read('past-notes', id)).attributes.text, 'The new house');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved.');
  assert.deepEqual((await read('past-notes', id)).attributes, { text: 'The old house', body: '<p>It stands on a hill.</p><p>Nobody lives there.</p>', count: 7 });

  // The dialog shows the changes of one version, and the whole version.
  await press(page, /^Changed: Text, Count/);
  await dialog.getByLabel('Show').selectOption('before');
  await dialog.locator('ins', { hasText: 'new' }).waitFor();
  await dialog.getByLabel('Show').selectOption('whole');
  await dialog.getByText('The new house').waitFor();
  await page.keyboard.press('Escape');

  await page.locator('#screen').focus();
  await press(page, 'More about the history');
  await press(page, 'Delete earlier versions…');
  await page.getByRole('dialog').getByText('This cannot be undone').waitFor();
  await press(page, 'Delete them');
  await toast(page, 'Only the present version is left.');
  await page.getByText('No earlier versions.').waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

for (const working_copy of [true, false]) {
  test(`Undo of a version that was brought back returns what was typed before and since (${working_copy ? 'working copy' : 'live'})`, async () => {
    const slug = `past-typed-${working_copy}`;
    await makeBlueprint(slug, { ...KEPT, working_copy }, NOTE);
    const id = await create(slug, { text: 'First' }, '2020-01-01T00:00:00Z');
    const query = working_copy ? '?copy=working' : '';
    await api('PATCH', `/v2/resources/${slug}/${id}${query}`, { attributes: { text: 'Second', count: 2 } });
    const { page, context, troubles } = await signedIn('Hana', 'editor');
    await open(page, `/content/${slug}/${id}`);
    const [text, count] = ['text', 'count'].map((one) => field(page, one).getByRole('textbox')) as [Locator, Locator];
    await text.press('End');
    await page.keyboard.type(', typed', { delay: 40 });
    await count.fill('7');
    await page.locator('.revision').last().press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'Select all' }).press('Space');
    await press(page, 'Bring back 2 fields');
    await toast(page, 'The earlier version is back.');
    assert.deepEqual([await text.inputValue(), await count.inputValue()], ['First', '']);
    await count.fill('9');
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await toast(page, 'As it was before.');
    assert.deepEqual([await text.inputValue(), await count.inputValue()], ['Second, typed', '9']);
    assert.equal((await read(slug, id, query)).attributes.text, 'Second');
    assert.deepEqual(troubles, []);
    await context.close();
  });
}

test('each language has its own history, and a version that somebody replaced meanwhile is not restored over theirs', async () => {
  await makeBlueprint('past-languages', { ...KEPT, variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, NOTE);
  const id = await create('past-languages', { text: 'House' });
  for (const text of ['Haus', 'Das Haus']) await api('PATCH', `/v2/resources/past-languages/${id}?variant=de`, { attributes: { text } });
  const { page, context } = await signedIn('Hana', 'editor');
  await open(page, `/content/past-languages/${id}?variant=de`);
  await page.locator('.revision').nth(1).waitFor();
  assert.equal(await page.getByRole('button', { name: 'More about the history' }).count(), 0, 'only those who manage delete the history');
  await page.locator('.revision').nth(1).press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.locator('ins').getByText('Das').waitFor();
  await api('PATCH', `/v2/resources/past-languages/${id}?variant=de`, { attributes: { text: 'Ein Haus' } });
  await dialog.getByRole('checkbox', { name: 'Bring back Text' }).press('Space');
  await dialog.getByRole('button', { name: 'Bring back 1 field' }).press('Enter');
  await dialog.getByText('Somebody saved another version meanwhile.').waitFor();
  await dialog.locator('ins').getByText('Ein').waitFor();
  assert.equal((await read('past-languages', id, '?variant=de')).attributes.text, 'Ein Haus');
  await dialog.getByRole('button', { name: 'Bring back 1 field' }).press('Enter');
  await toast(page, 'The earlier version is back.');
  assert.equal((await read('past-languages', id, '?variant=de')).attributes.text, 'Haus');
  assert.equal((await read('past-languages', id)).attributes.text, 'House');
  await context.close();

  const viewer = await signedIn('Vera', 'viewer');
  await open(viewer.page, `/content/past-languages/${id}?variant=de`);
  await viewer.page.locator('.revision').nth(1).press('Enter');
  await viewer.page.getByRole('dialog').getByText('Struck out').waitFor();
  assert.equal(await viewer.page.getByRole('dialog').getByRole('button', { name: /Restore|Put into/ }).count(), 0);
  await viewer.context.close();
});
