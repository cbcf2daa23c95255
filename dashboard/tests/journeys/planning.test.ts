// Changes of what is published are compared with the site, scheduled for a moment, cancelled, and found again in tables.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, choose, closeBrowser, create, field, makeBlueprint, open, press, read, settled, signedIn, toast } from '../browser';
import { DATE, input, isSound, makeCopied, siteOf, status, working } from '../copies';

after(closeBrowser);

const LATER = '2090-05-06T07:08';
const edit = (slug: string, id: string, attributes: Record<string, unknown>): Promise<unknown> => api('PATCH', `/v2/resources/${slug}/${id}?copy=working`, { attributes });
const dialog = (page: Page) => page.getByRole('dialog');

/** Waits for what the server does at a moment. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 150, 'it does not happen');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function planFor(page: Page, time: string): Promise<void> {
  await press(page, 'More');
  await press(page, 'Publish later…');
  await dialog(page).getByLabel('Date and time, in your time zone').fill(time);
}

test('a plan for one language says that only this language is locked', async () => {
  await makeCopied('planned-language', { variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] });
  const id = await create('planned-language', { text: 'The old price' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/planned-language/${id}`);
  await input(page, 'text').fill('The new price');
  await planFor(page, LATER);
  await dialog(page).getByText('Until then this entry is locked in this language').waitFor();
  await press(page, 'Schedule');
  await page.locator('.notice').getByText('Until then this entry is locked in this language').waitFor();
  assert.equal(await input(page, 'text').count(), 0);
  await page.locator('.top select').selectOption('de');
  await input(page, 'text').fill('Der neue Preis');
  assert.equal(await page.getByText('is locked').count(), 0);
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  assert.equal((await working('planned-language', id, '&variant=de')).attributes.text, 'Der neue Preis');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('changes are published at a moment, and until then the schedule can be cancelled', async () => {
  await makeCopied('planned');
  const site = await siteOf('planned');
  const id = await create('planned', { text: 'The old price', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/planned/${id}`);
  await input(page, 'text').fill('The new price');
  await planFor(page, LATER);
  await dialog(page).getByText(/^Your site shows the changes from/).waitFor();
  await isSound(page, 'planning');
  await press(page, 'Schedule');
  await toast(page, 'Your changes will be published on');
  await status(page, 'Published · scheduled');
  await page.getByText(/^These changes will be published on/).waitFor();
  assert.equal(await input(page, 'text').count(), 0, 'nothing is typed until then');
  assert.equal(await page.getByRole('button', { name: 'Publish changes' }).count(), 0);
  const planned = await working('planned', id);
  assert.equal(planned.working_copy?.publish_at, `${new Date(LATER).toISOString().slice(0, 23)}+00:00`);
  assert.equal(planned.published_at, DATE, 'the date of the entry stays');
  assert.equal((await site(id)).text, 'The old price');
  await isSound(page, 'planned');

  await choose(page, 'Undo');
  await toast(page, 'The schedule is cancelled.');
  await status(page, 'Published · edited');
  assert.equal((await working('planned', id)).working_copy?.publish_at, null);
  assert.equal(await input(page, 'text').inputValue(), 'The new price');

  await choose(page, 'Publish later');
  await press(page, 'Tomorrow, 9:00');
  await press(page, 'Schedule');
  await status(page, 'Published · scheduled');
  await page.reload();
  await status(page, 'Published · scheduled');
  await press(page, 'Cancel the schedule');
  await status(page, 'Published · edited');

  // A moment that is over means now.
  await planFor(page, '2020-01-01T00:00');
  await dialog(page).getByText('This moment is over: the changes are published at once.').waitFor();
  await dialog(page).getByRole('button', { name: 'Publish', exact: true }).press('Enter');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'The new price');
  assert.equal((await working('planned', id)).published_at, DATE);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what is not ready or would replace newer values is not scheduled without a word', async () => {
  await makeCopied('planned-unready');
  const id = await create('planned-unready', { text: 'Complete', summary: 'Short' }, DATE);
  await edit('planned-unready', id, { text: null });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/planned-unready/${id}`);
  await planFor(page, LATER);
  await press(page, 'Schedule');
  await page.getByText('Saved as a draft, but not published: one field needs your attention.').waitFor();
  assert.equal(await field(page, 'text').locator('.fault').count(), 1);
  assert.equal((await working('planned-unready', id)).working_copy?.publish_at, null);

  await input(page, 'text').fill('Mine');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  await api('PATCH', `/v2/resources/planned-unready/${id}`, { attributes: { text: 'Theirs' } });
  await planFor(page, LATER);
  await press(page, 'Schedule');
  await dialog(page).getByText('Text was changed on your site since you changed it here.').waitFor();
  assert.equal((await working('planned-unready', id)).working_copy?.publish_at, null);
  await press(page, 'Publish anyway');
  await status(page, 'Published · scheduled');
  assert.notEqual((await working('planned-unready', id)).working_copy?.publish_at, null);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a publication that failed at its moment says why, in the entry and in the table', async () => {
  await makeCopied('a-failed');
  const site = await siteOf('a-failed');
  const id = await create('a-failed', { text: 'Ten' }, DATE);
  await edit('a-failed', id, { text: 'Twelve' });
  await api('POST', `/v2/resources/a-failed/${id}/publish`, { at: new Date(Date.now() + 1500).toISOString() });
  await api('PATCH', `/v2/resources/a-failed/${id}`, { attributes: { text: 'Eleven' } });
  await until(async () => (await working('a-failed', id)).working_copy?.publish_failed !== undefined);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/a-failed?copy=working');
  await page.locator('tbody').getByText('Publication failed').waitFor();
  await isSound(page, 'failed-table');
  await open(page, '/');
  const edited = page.locator('section', { has: page.getByRole('heading', { name: 'Edited, not published' }) });
  await edited.getByRole('link', { name: /Twelve.*Publication failed/ }).waitFor();
  await isSound(page, 'home');
  await page.goBack();
  await page.getByRole('link', { name: 'Twelve' }).press('Enter');
  await page.getByText(/^These changes were to be published .* Text: was changed on your site meanwhile/).waitFor();
  await status(page, 'Publication failed');
  await isSound(page, 'failed');
  await press(page, 'Publish changes');
  await press(page, 'Publish anyway');
  await toast(page, 'Published. Your site shows it now.');
  await status(page, 'Published');
  assert.equal(await page.getByText('Publication failed').count(), 0);
  assert.equal((await site(id)).text, 'Twelve');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a draft is compared with the site, field by field, and single values go back', async () => {
  await makeCopied('compared');
  const id = await create('compared', { text: 'The red house', summary: 'Short' }, DATE);
  await edit('compared', id, { text: 'The blue house' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/compared/${id}`);
  await input(page, 'summary').fill('Shorter');
  await press(page, 'More');
  await press(page, 'Compare with the site…');
  await dialog(page).locator('del', { hasText: 'red' }).waitFor();
  await dialog(page).locator('ins', { hasText: 'blue' }).waitFor();
  await dialog(page).getByRole('heading', { name: 'Summary' }).waitFor();
  await isSound(page, 'compared');
  // The keys that save and publish do nothing behind a dialog.
  for (const keys of ['Control+s', 'Control+Shift+S']) await page.keyboard.press(keys);
  await settled(page);
  assert.equal(await page.locator('.toast').count(), 0);
  assert.equal((await working('compared', id)).attributes.summary, 'Short');
  await press(page, 'Summary: use the site’s value');
  await dialog(page).getByRole('heading', { name: 'Summary' }).waitFor({ state: 'detached' });
  await press(page, 'Close');
  const values = async (): Promise<string[]> => [await input(page, 'text').inputValue(), await input(page, 'summary').inputValue()];
  assert.deepEqual(await values(), ['The blue house', 'Short']);
  await toast(page, 'What your site shows is in the form, and not saved yet.');
  await choose(page, 'Undo');
  assert.deepEqual(await values(), ['The blue house', 'Shorter']);
  await page.getByRole('button', { name: 'Undo the change of Summary' }).click();
  // The badge opens it, too, with the keyboard or the mouse, and has the focus afterwards.
  await press(page, 'Published · edited');
  await dialog(page).locator('ins', { hasText: 'blue' }).waitFor();
  await page.keyboard.press('Escape');
  const badge = page.locator('.top').getByRole('button', { name: 'Published · edited', description: /^Compare with the site…/ });
  assert.equal(await badge.evaluate((one) => one === document.activeElement), true);
  await badge.click();
  await dialog(page).locator('ins', { hasText: 'blue' }).waitFor();
  await press(page, 'Close');
  await isSound(page, 'compare-badge');
  // Who cannot write compares, too.
  const viewer = await signedIn('Vera', 'author');
  await api('POST', `/v2/resources/compared/${id}/publish`, { at: `${LATER}:00Z` });
  await open(viewer.page, `/content/compared/${id}`);
  await press(viewer.page, 'More');
  await press(viewer.page, 'Compare with the site…');
  await dialog(viewer.page).locator('ins', { hasText: 'blue' }).waitFor();
  assert.equal(await dialog(viewer.page).getByRole('button', { name: /use the site/ }).count(), 0);
  await viewer.context.close();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a table finds what is edited and not published, and publishes the changes at a moment', async () => {
  await makeCopied('bulk-planned', { scheduled: true });
  const ids = [await create('bulk-planned', { text: 'Edited' }, DATE), await create('bulk-planned', { text: 'Untouched' }, DATE), await create('bulk-planned', { text: 'A draft' })];
  await edit('bulk-planned', ids[0]!, { text: 'Edited, corrected' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/bulk-planned');
  const total = (text: string) => page.getByTestId('total').getByText(text, { exact: true }).waitFor();
  await total('3 entries');
  await page.getByRole('button', { name: 'Edited, not published' }).press('Enter');
  await total('1 entry');
  await page.getByRole('link', { name: 'Edited, corrected' }).waitFor();
  assert.equal(await page.locator('tbody a.title').count(), 1);
  await page.getByRole('button', { name: 'With edits', exact: true, pressed: true }).waitFor();
  await isSound(page, 'edited-only');
  // The site has no answer to this question, so the table of the site is the whole one.
  await page.getByRole('button', { name: 'As on the site', exact: true }).press('Enter');
  await total('3 entries');
  assert.equal(await page.getByRole('alert').count(), 0);
  await page.goBack();
  await total('1 entry');
  await page.getByRole('button', { name: 'Filter' }).press('Enter');
  assert.equal(await page.getByLabel('Field', { exact: true }).inputValue(), 'working_copy');
  await page.getByLabel('Value', { exact: true }).selectOption('false');
  await total('2 entries');
  await page.getByRole('button', { name: 'Clear', exact: false }).first().press('Enter');
  await total('3 entries');

  // The table of the site publishes drafts only, and says so.
  await page.getByRole('button', { name: 'As on the site', exact: true }).press('Enter');
  await page.getByRole('link', { name: 'Edited', exact: true }).waitFor();
  for (const text of ['Edited', 'Untouched']) await page.getByRole('checkbox', { name: `Select ${text}`, exact: true }).press('Space');
  await press(page, 'Publish');
  await dialog(page).getByText('Changes that are not published yet stay drafts.', { exact: false }).waitFor();
  await press(page, 'Publish');
  await toast(page, '2 entries were published already.');
  assert.equal(await page.locator('.toast', { hasText: 'published.' }).count(), 0);
  assert.notEqual((await working('bulk-planned', ids[0]!)).working_copy, null);
  await page.getByRole('button', { name: 'With edits', exact: true }).press('Enter');

  await page.getByLabel('Select all rows').press('Space');
  await press(page, 'Publish changes');
  await dialog(page).getByLabel('Date and time').fill(LATER);
  await dialog(page).getByText(/^Your site shows the changes from/).waitFor();
  await isSound(page, 'bulk-planning');
  await press(page, 'Schedule');
  await toast(page, '2 entries will be published on');
  await toast(page, '1 entry had no changes to publish.');
  const instant = `${new Date(LATER).toISOString().slice(0, 23)}+00:00`;
  const row = (text: string) => page.locator('tbody tr', { hasText: text });
  await row('Edited, corrected').getByText('Published · scheduled').waitFor();
  await row('A draft').getByText('Scheduled').waitFor();
  const [edited, untouched, draft] = await Promise.all(ids.map((id) => working('bulk-planned', id)));
  assert.deepEqual([edited!.working_copy?.publish_at, edited!.published_at], [instant, DATE]);
  assert.deepEqual([untouched!.working_copy, untouched!.published_at], [null, DATE]);
  assert.deepEqual([draft!.working_copy, draft!.published_at], [null, instant]);
  await choose(page, 'Undo');
  await toast(page, 'The schedules of 2 entries are cancelled.');
  await row('A draft').getByText('Draft', { exact: true }).waitFor();
  assert.equal((await working('bulk-planned', ids[0]!)).working_copy?.publish_at, null);
  assert.equal((await read('bulk-planned', ids[2]!)).published_at, null);
  assert.deepEqual(troubles, []);
  await context.close();

  const german = await signedIn('Grete', 'editor', { scheme: 'dark', locale: 'de-DE' });
  await open(german.page, '/content/bulk-planned?copy=working&filter[working_copy][eq]=true');
  await german.page.getByRole('button', { name: 'Bearbeitet, nicht veröffentlicht', pressed: true }).waitFor();
  await isSound(german.page, 'edited-only-german');
  await open(german.page, `/content/bulk-planned/${ids[0]}`);
  await german.page.getByRole('button', { name: 'Mehr', exact: true }).press('Enter');
  await isSound(german.page, 'menu-german');
  await german.page.getByRole('button', { name: /^Später veröffentlichen/ }).press('Enter');
  await isSound(german.page, 'planning-german');
  await german.context.close();
});

test('what was typed and discarded comes back with Undo', async () => {
  await makeBlueprint('discarded-typing', { record_title: 'text' }, [['Text', 'text'], ['Summary', 'text']]);
  const id = await create('discarded-typing', { text: 'Stored', summary: 'Short' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/discarded-typing/${id}`);
  await input(page, 'text').fill('Typed for an hour');
  await press(page, 'More');
  await press(page, 'Discard my changes');
  await toast(page, 'What was not saved is discarded.');
  assert.equal(await input(page, 'text').inputValue(), 'Stored');
  await input(page, 'summary').fill('Typed since');
  await choose(page, 'Undo');
  assert.deepEqual([await input(page, 'text').inputValue(), await input(page, 'summary').inputValue()], ['Typed for an hour', 'Typed since']);
  await page.reload();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await input(page, 'text').inputValue(), 'Typed for an hour');
  // From the notice, too.
  await page.locator('.notice').getByRole('button', { name: 'Discard my changes' }).press('Enter');
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).press('Enter');
  assert.equal(await input(page, 'text').inputValue(), 'Typed for an hour');
  // The offer ends with the form that it is about.
  await choose(page, 'Discard my changes');
  await toast(page, 'What was not saved is discarded.');
  await page.getByRole('link', { name: 'Home' }).first().press('Enter');
  await settled(page);
  assert.equal(await page.locator('.toast').count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the home screen has what is edited and not published, however long ago it was changed', async () => {
  await makeCopied('a-edited');
  const id = await create('a-edited', { text: 'Ten' }, DATE);
  await edit('a-edited', id, { text: 'Twelve' });
  for (let part = 0; part < 2; part += 1) await api('POST', '/v2/resources/a-edited/bulk', { resources: Array.from({ length: 60 }, (_, index) => ({ attributes: { text: `Later ${part}-${index}` }, published_at: DATE })) });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/');
  await page.locator('section', { has: page.getByRole('heading', { name: 'Edited, not published' }) }).getByRole('link', { name: 'Twelve' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the home screen has a publication that failed, however many entries were edited since', async () => {
  await makeCopied('a-missed');
  const id = await create('a-missed', { text: 'Ten' }, DATE);
  await edit('a-missed', id, { text: 'Missed' });
  await api('POST', `/v2/resources/a-missed/${id}/publish`, { at: new Date(Date.now() + 1500).toISOString() });
  await api('PATCH', `/v2/resources/a-missed/${id}`, { attributes: { text: 'Eleven' } });
  await until(async () => (await working('a-missed', id)).working_copy?.publish_failed !== undefined);
  // More than a page of the list has room for, all of them edited later.
  for (let part = 0; part < 2; part += 1) {
    const { body } = await api<{ data: { created: { id: string }[] } }>('POST', '/v2/resources/a-missed/bulk', { resources: Array.from({ length: 60 }, (_, index) => ({ attributes: { text: `Later ${part}-${index}` }, published_at: DATE })) });
    const updates = body.data.created.map((one) => ({ id: one.id, attributes: { summary: 'Edited' } }));
    const edited = await api('PATCH', '/v2/resources/a-missed/bulk?copy=working', { updates });
    assert.equal(edited.status, 200, JSON.stringify(edited.body));
  }
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/');
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Edited, not published' }) });
  await section.getByRole('link', { name: /Missed.*Publication failed/ }).waitFor();
  await section.getByRole('heading').getByText('1 publication failed', { exact: true }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});
