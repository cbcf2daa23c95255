// Two editors on one article; the roles; an owner's blueprints, members and tokens; content that attacks.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { api, closeBrowser, create, field, makeBlueprint, open, PASSWORD, openBrowser, read, settled, signedIn, toast } from '../browser';

after(closeBrowser);

const NOTE = [['Text', 'text'], ['Body', 'rich-text'], ['Count', 'number']] as const;

test('the second of two editors sees what the first changed, and loses nothing', async () => {
  await makeBlueprint('shared-notes', {}, NOTE);
  const id = await create('shared-notes', { text: 'Start', body: '<p>Start</p>', count: 1 });
  const [first, second] = [await signedIn('First', 'editor'), await signedIn('Second', 'editor')];
  for (const { page } of [first, second]) await open(page, `/content/shared-notes/${id}`);
  await field(second.page, 'text').getByRole('textbox').fill('From the second');
  await field(second.page, 'count').getByRole('textbox').fill('2');

  await field(first.page, 'text').getByRole('textbox').fill('From the first');
  await field(first.page, 'body').getByRole('textbox').click();
  await first.page.keyboard.press('Control+End');
  await first.page.keyboard.type(' and on');
  await first.page.keyboard.press('Control+s');
  await toast(first.page, 'Saved');

  await second.page.keyboard.press('Control+s');
  const dialog = second.page.getByRole('dialog', { name: 'Somebody else changed this' });
  await dialog.waitFor();
  await dialog.getByText('You both changed one field').waitFor();
  await dialog.getByText('From the first').waitFor();
  await dialog.getByText('From the second').waitFor();
  assert.equal((await read('shared-notes', id)).attributes.text, 'From the first', 'nothing is overwritten before the choice');

  // Decided later: the work survives even a reload, and the comparison comes back.
  await dialog.getByRole('button', { name: 'Decide later' }).click();
  await second.page.waitForFunction(() => Object.entries(localStorage).some(([key, kept]) => key.startsWith('bindery.unsaved.') && kept.includes('From the second')));
  await second.page.reload();
  await second.page.getByRole('dialog', { name: 'Somebody else changed this' }).waitFor();
  await second.page.getByRole('button', { name: 'Continue with these' }).click();
  assert.equal(await field(second.page, 'text').getByRole('textbox').inputValue(), 'From the second');
  await second.page.keyboard.press('Control+s');
  await toast(second.page, 'Saved');
  const { attributes } = await read('shared-notes', id);
  assert.deepEqual(attributes, { text: 'From the second', body: '<p>Start and on</p>', count: 2 });
  assert.deepEqual([...first.troubles, ...second.troubles], []);
  await first.context.close();
  await second.context.close();
});

test('a conflict that shows when an entry is opened stays undecided until somebody decides it', async () => {
  await makeBlueprint('undecided-notes', { record_title: 'text', working_copy: true }, [['Text', 'text'], ['Other', 'text']]);
  const id = await create('undecided-notes', { text: 'Start' }, '2020-01-01T00:00:00Z');
  const theirs = async (text: string) => api('PATCH', `/v2/resources/undecided-notes/${id}?copy=working`, { attributes: { text } });
  const { page, context, troubles } = await signedIn('Olga', 'editor');
  const text = field(page, 'text').getByRole('textbox');
  const dialog = page.getByRole('dialog', { name: 'Somebody else changed this' });
  const later = async () => {
    await dialog.getByRole('button', { name: 'Decide later' }).click();
    await page.getByText('saved another version while you were working').waitFor();
  };
  await open(page, `/content/undecided-notes/${id}`);
  await text.fill('Mine');
  await page.getByRole('link', { name: 'Back to undecided-notes' }).click();
  await theirs('Theirs');
  await open(page, `/content/undecided-notes/${id}`);
  await later();
  for (const key of ['Control+s', 'Control+Shift+S']) {
    await page.keyboard.press(key);
    await later();
  }
  await text.press('End');
  await page.keyboard.type(', longer', { delay: 40 });
  await page.waitForFunction(() => Object.values(localStorage).some((kept) => String(kept).includes('Mine, longer')));
  await page.reload();
  await later();
  const found = (await api<{ data: { published_at: string; attributes: unknown } }>('GET', `/v2/resources/undecided-notes/${id}?copy=working`)).body.data;
  assert.deepEqual(found.attributes, { text: 'Theirs', other: null });
  assert.equal((await read('undecided-notes', id)).attributes.text, 'Start');

  // Discarding the unsaved text shows what they saved. Taking that back leaves the conflict undecided again.
  await page.getByRole('button', { name: 'Discard my changes' }).click();
  assert.equal(await text.inputValue(), 'Theirs');
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await later();
  assert.equal(await text.inputValue(), 'Mine, longer');
  await page.keyboard.press('Control+s');
  await dialog.getByRole('button', { name: 'Save with these' }).click();
  await toast(page, 'Draft saved.');
  assert.equal((await read('undecided-notes', id, '?copy=working')).attributes.text, 'Mine, longer');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('pictures in a comparison leave room for the words that changed', async () => {
  await makeBlueprint('pictured-notes', {}, NOTE);
  const picture = '<figure><img src="/admin/icon.svg" alt="" width="2000" height="2000"><figcaption>A picture</figcaption></figure>';
  const id = await create('pictured-notes', { text: 'Pictures', body: `<p>Before</p>${picture}<p>The end</p>` });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/pictured-notes/${id}`);
  const body = field(page, 'body').locator('.prose');
  await body.getByText('The end').click();
  await page.keyboard.press('End');
  await page.keyboard.type(', mine');
  await api('PATCH', `/v2/resources/pictured-notes/${id}`, { attributes: { body: `<p>Before</p>${picture}<p>The end, theirs</p>` } });
  await page.keyboard.press('Control+s');
  const frame = page.getByRole('dialog').locator('iframe').first();
  await frame.waitFor();
  await settled(page);
  const { image, bottom, seen } = await frame.evaluate((one: HTMLIFrameElement) => {
    const inner = one.contentDocument!;
    return { image: inner.querySelector('img')!.getBoundingClientRect().height, bottom: inner.querySelector('ins')!.getBoundingClientRect().bottom, seen: one.clientHeight };
  });
  assert.ok(image > 0 && image <= 48, `the picture is ${image} high`);
  assert.ok(bottom <= seen, 'the change is seen without scrolling');
  await context.close();
});

test('changes to different languages do not stand in each other’s way', async () => {
  const id = await create('articles', { title: 'Two languages', slug: `two-${Date.now()}` });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/articles/${id}`);
  await field(page, 'title').getByRole('textbox').fill('Two languages, changed');
  await api('PATCH', `/v2/resources/articles/${id}?variant=de`, { attributes: { title: 'Zwei Sprachen', slug: `zwei-${Date.now()}` } });
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.equal((await read('articles', id, '?variant=de')).attributes.title, 'Zwei Sprachen');
  assert.equal((await read('articles', id)).attributes.title, 'Two languages, changed');
  await context.close();
});

test('an author writes drafts and cannot publish; a viewer only reads', async () => {
  const author = await signedIn('Aron', 'author');
  await open(author.page, '/content/authors/new');
  assert.equal(await author.page.getByRole('button', { name: 'Publish' }).count(), 0);
  await field(author.page, 'name').getByRole('textbox').fill('By an author');
  await field(author.page, 'slug').getByRole('textbox').fill(`author-${Date.now()}`);
  await author.page.getByRole('button', { name: 'Save draft' }).click();
  await toast(author.page, 'Saved');
  assert.equal(await author.page.getByRole('link', { name: 'Blueprints' }).count(), 0);
  const id = author.page.url().split('/').pop()!;
  await author.context.close();

  const viewer = await signedIn('Vera', 'viewer');
  await open(viewer.page, `/content/authors/${id}`);
  await viewer.page.getByText('By an author').first().waitFor();
  assert.equal(await viewer.page.locator('[data-field] input, [data-field] textarea').count(), 0);
  assert.equal(await viewer.page.getByRole('button', { name: /Save|Publish|More/ }).count(), 0);
  await viewer.context.close();
});

test('an owner makes a blueprint, changes it after seeing what that does, and deletes it', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/new');
  await page.getByLabel('Name', { exact: true }).first().fill('Recipes');
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.getByRole('button', { name: /^Choice/ }).click();
  await page.locator('[id^="field-name-"]').fill('Course');
  await page.getByLabel('Any value may be typed').uncheck();
  await page.getByLabel('Values, one a line').fill('starter\nmain\ndessert');
  await page.getByRole('button', { name: 'Create the blueprint' }).click();
  await page.getByRole('heading', { name: 'No entries in Recipes yet' }).waitFor();
  await page.getByRole('link', { name: 'New entry' }).first().click();
  await field(page, 'title').getByRole('textbox').fill('Soup');
  await field(page, 'course').getByRole('combobox').selectOption('starter');
  await page.getByRole('button', { name: 'Publish' }).click();
  await toast(page, 'Published.');

  // Narrowing the choice stands against the soup; removing the field loses its value.
  await open(page, '/blueprints/recipes');
  await page.locator('.open', { hasText: 'Course' }).click();
  await page.getByLabel('Values, one a line').fill('main\ndessert');
  await page.getByLabel('Values, one a line').blur();
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await page.getByText('1 entry has a value that would be invalid').waitFor();
  await page.getByRole('link', { name: 'Soup' }).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Apply the changes' }).isDisabled());
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Remove Course' }).click();
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.getByRole('button', { name: /^Yes or no/ }).click();
  await page.locator('[id^="field-name-"]').fill('Vegetarian');
  await page.getByRole('button', { name: 'Move Vegetarian up' }).click();
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await page.getByText('1 entry loses its value').waitFor();
  // By their names, as the form shows them.
  const changes = (await page.locator('.changes li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  assert.deepEqual(changes.filter((text) => !text.startsWith('Set')), ['Remove Course 1 entry loses its value', 'Add Vegetarian']);
  await page.getByRole('button', { name: 'Apply the changes' }).click();
  await toast(page, 'Saved');
  const stored = await api<{ data: { fields: { slug: string }[] } }>('GET', '/v2/blueprints/recipes');
  assert.deepEqual(stored.body.data.fields.map((one) => one.slug), ['vegetarian', 'title']);

  await page.getByRole('button', { name: 'Delete the blueprint' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete it with all entries' }).click();
  await toast(page, 'Deleted');
  assert.equal((await api('GET', '/v2/blueprints/recipes')).status, 404);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a field that somebody else added to a blueprint is not removed by a screen that was open before', async () => {
  await makeBlueprint('shared-plans', {}, [['Text', 'text']]);
  const add = async (...slugs: string[]): Promise<void> => {
    const { data } = (await api<{ data: { name: string; fields: { slug: string }[] } }>('GET', '/v2/blueprints/shared-plans')).body;
    const answer = await api('PUT', '/v2/blueprints/shared-plans', { ...data, fields: [...data.fields, ...slugs.map((slug) => ({ name: slug, slug, type: 'text', settings: {} }))] });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };
  const stored = async () => (await api<{ data: { name: string; fields: { slug: string }[] } }>('GET', '/v2/blueprints/shared-plans')).body.data;
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/shared-plans?tab=settings');
  await add('motto');
  const id = await create('shared-plans', { text: 'One', motto: 'Filled' });
  const name = page.getByLabel('Name', { exact: true }).first();
  await name.fill('Renamed');
  await page.getByRole('button', { name: 'Review the changes' }).press('Enter');
  const plan = page.getByRole('dialog');
  await plan.getByText('The blueprint was changed since.').waitFor();
  assert.equal(await plan.getByText('Remove', { exact: true }).count(), 0);
  assert.deepEqual((await plan.locator('.changes li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim()), ['Set Name']);
  // Once more, while the plan is read: it is shown again first.
  await add('later');
  await Promise.all([page.waitForResponse((response) => response.url().includes('dry_run=true')), plan.getByRole('button', { name: 'Apply the changes' }).press('Enter')]);
  assert.equal((await stored()).name, 'shared-plans');
  await plan.getByRole('button', { name: 'Apply the changes' }).press('Enter');
  await toast(page, 'Saved');
  assert.deepEqual([(await stored()).name, (await stored()).fields.map((one) => one.slug)], ['Renamed', ['text', 'motto', 'later']]);
  assert.equal((await read('shared-plans', id)).attributes.motto, 'Filled');

  // Work that a reload restores takes it over, too.
  await name.fill('Renamed twice');
  await add('last');
  await page.reload();
  await page.getByText('Work that was not saved was restored').waitFor();
  await page.getByText('The blueprint was changed since.').waitFor();
  assert.equal(await name.inputValue(), 'Renamed twice');
  await page.getByRole('link', { name: 'Fields' }).click();
  await page.locator('.open', { hasText: 'last' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an owner invites a member, and makes and revokes a token', async () => {
  const { page, context } = await signedIn('Olga', 'owner');
  await open(page, '/settings/members');
  await page.getByRole('button', { name: 'Add a member' }).click();
  const email = `new-${Date.now()}@example.org`;
  await page.locator('dialog').getByLabel('Name').fill('New Member');
  await page.locator('dialog').getByLabel('Email').fill(email);
  await page.locator('dialog').getByRole('button', { name: 'Add a member' }).click();
  const link = await page.getByLabel('Link to choose a password').inputValue();
  const other = await (await openBrowser()).newContext({ locale: 'de-DE' });
  const guest = await other.newPage();
  await guest.goto(link);
  await guest.getByLabel('Passwort').fill(PASSWORD);
  await guest.getByRole('button', { name: 'Speichern und anmelden' }).click();
  await guest.getByRole('heading', { name: 'Hallo New' }).waitFor();
  await other.close();

  await page.getByRole('button', { name: 'Close' }).first().click();
  await page.getByRole('button', { name: 'New Member' }).click();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText(email).waitFor({ state: 'detached' });
  assert.ok(!JSON.stringify((await api('GET', '/v2/members')).body).includes(email));
  await open(page, '/settings/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.locator('dialog').getByLabel('Name').fill('journey');
  await page.getByRole('button', { name: 'Create the token' }).click();
  const secret = await page.getByLabel('Token', { exact: true }).inputValue();
  assert.match(secret, /^bnd_/);
  assert.equal((await api('GET', '/v2/blueprints', undefined, { authorization: `Bearer ${secret}` })).status, 200);
  // It is not shown again, so no key closes it.
  for (let times = 0; times < 3; times += 1) await page.keyboard.press('Escape', { delay: 35 });
  assert.equal(await page.getByLabel('Token', { exact: true }).inputValue(), secret);
  assert.equal(await page.getByRole('dialog').getByRole('button', { name: 'Close' }).count(), 0);
  await page.getByRole('button', { name: 'Done' }).press('Enter');
  await page.getByRole('button', { name: 'Revoke journey' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Revoke' }).click();
  await toast(page, 'journey was revoked');
  assert.equal((await api('GET', '/v2/blueprints', undefined, { authorization: `Bearer ${secret}` })).status, 401);
  await context.close();
});

test('bulk operations reach over pages', async () => {
  await makeBlueprint('many-notes', {}, [['Text', 'text']]);
  for (let batch = 0; batch < 3; batch += 1) await api('POST', '/v2/resources/many-notes/bulk', { resources: Array.from({ length: 50 }, (_, index) => ({ attributes: { text: `Note ${batch * 50 + index}` } })) });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, '/content/many-notes');
  await page.getByLabel('Select Note 149').check();
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('26–50 of 150').waitFor();
  await page.getByText('1 selected').waitFor();
  await page.getByRole('button', { name: 'Select all 150' }).click();
  await page.getByText('150 selected').waitFor();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Publish' }).click();
  await toast(page, '150 entries published');
  const drafts = await api<{ meta: { total: number } }>('GET', '/v2/resources/many-notes?filter[published_at][null]=true');
  assert.equal(drafts.body.meta.total, 0);
  await context.close();
});

test('a bulk operation is stopped: what was done stays and comes back with Undo, and the rest stays selected', async () => {
  await makeBlueprint('halted-notes', {}, [['Text', 'text']]);
  for (let batch = 0; batch < 3; batch += 1) await api('POST', '/v2/resources/halted-notes/bulk', { resources: Array.from({ length: 100 }, (_, index) => ({ attributes: { text: `Note ${batch * 100 + index}` } })) });
  const { page, context } = await signedIn('Ada', 'editor');
  let requests = 0;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/bulk-publish', async (route) => {
    requests += 1;
    if (requests === 2) await held;
    await route.continue();
  });
  await open(page, '/content/halted-notes');
  await page.getByLabel('Select Note 299').check();
  // The last row can be seen above the bar.
  const room = await page.locator('tbody tr').last().evaluate((row) => {
    row.closest('.wrap')!.scrollTop = 1e6;
    return document.querySelector('.bulk')!.getBoundingClientRect().top - row.getBoundingClientRect().bottom;
  });
  assert.ok(room >= 0, String(room));
  await page.getByRole('button', { name: 'Select all 300' }).click();
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Publish' }).click();
  await page.waitForFunction(() => document.querySelector<HTMLProgressElement>('dialog progress')?.value === 100);
  await page.locator('dialog').getByRole('button', { name: 'Stop' }).click();
  release();
  await toast(page, '200 entries published');
  await page.getByText('100 selected').waitFor();
  const published = async (): Promise<number> => (await api<{ meta: { total: number } }>('GET', '/v2/resources/halted-notes?filter[published_at][null]=false')).body.meta.total;
  assert.equal(await published(), 200);
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await toast(page, '200 entries are as they were before.');
  assert.equal(await published(), 0);

  // A failure in the middle is told like that, with what went wrong.
  await page.unroute('**/bulk-publish');
  await page.getByRole('button', { name: 'Clear the selection' }).click();
  await page.getByLabel(/^Select Note/).first().check();
  await page.getByRole('button', { name: 'Select all 300' }).click();
  requests = 0;
  await page.route('**/bulk-publish', (route) => ((requests += 1) === 2 ? route.abort() : route.continue()));
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Publish' }).click();
  await toast(page, '100 entries published');
  await toast(page, 'The server cannot be reached.');
  await page.getByText('200 selected').waitFor();
  await context.close();
});

test('an address that is older than the blueprint still shows its table, and a page that is gone leads to the last one', async () => {
  await makeBlueprint('aged-notes', { record_title: 'text', variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, [['Text', 'text']]);
  await api('POST', '/v2/resources/aged-notes/bulk', { resources: Array.from({ length: 27 }, (_, index) => ({ attributes: { text: `Note ${index}` } })) });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/aged-notes?sort=-gone&variant=fr&columns=gone');
  await page.locator('tbody a.title', { hasText: 'Note 26' }).waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
  await open(page, '/content/aged-notes?page=2');
  await page.getByText('26–27 of 27').waitFor();
  await page.getByLabel('Select all rows').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('1–25 of 25').waitFor();
  await page.locator('tbody a.title', { hasText: 'Note 26' }).waitFor();
  assert.equal(new URL(page.url()).search, '');
  await open(page, '/content/aged-notes?filter[gone][eq]=1');
  await page.getByRole('alert').filter({ hasText: 'gone' }).waitFor();
  assert.equal(await page.locator('tr.ghost').count(), 0, 'nothing looks as if it were coming');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a condition filters as it is shown, and a selection says what of it is not shown', async () => {
  await makeBlueprint('seen-notes', { record_title: 'text' }, [['Text', 'text'], ['Count', 'number']]);
  for (let n = 1; n <= 6; n += 1) await create('seen-notes', { text: `Note ${n}`, count: n }, n <= 4 ? '2024-01-01T00:00:00Z' : undefined);
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/seen-notes');
  for (const n of [1, 5, 6]) await page.getByLabel(`Select Note ${n}`).check();
  await page.getByText('3 selected', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByText('This condition has no effect yet').waitFor();
  await page.getByText('6 entries').waitFor();
  await page.getByLabel('Field').selectOption('published');
  await page.getByText('4 entries').waitFor();
  assert.equal(await page.getByLabel('Value').locator('option:checked').innerText(), 'Yes');
  await page.getByText('3 selected, 2 not shown').waitFor();
  await page.getByLabel('Value').selectOption('No');
  await page.getByText('2 entries').waitFor();
  await page.getByText('3 selected, 1 not shown').waitFor();

  // Only both ends make a range.
  await page.getByLabel('Field').selectOption('count');
  await page.getByText('6 entries').waitFor();
  await page.getByLabel('Condition', { exact: true }).selectOption('between');
  await page.getByLabel('From').fill('2');
  await page.getByText('This condition has no effect yet').waitFor();
  await page.getByText('6 entries').waitFor();
  await page.getByLabel('To', { exact: true }).fill('4');
  await page.getByText('3 entries').waitFor();
  await page.getByText('3 selected, 3 not shown').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').getByText('3 of them are not shown').waitFor();
  await page.locator('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.getByLabel('To', { exact: true }).fill('5');
  await page.getByText('4 entries').waitFor();
  await page.getByRole('button', { name: 'Only those shown' }).click();
  await page.getByText('1 selected', { exact: true }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('several entries are published at a date, and the words say what happens', async () => {
  for (const [slug, scheduled] of [['dated-notes', true], ['undated-notes', false]] as const) {
    await makeBlueprint(slug, { record_title: 'text', scheduled }, [['Text', 'text']]);
    const ids = [await create(slug, { text: 'One' }), await create(slug, { text: 'Two' }, '2024-01-01T00:00:00Z')];
    const { page, context } = await signedIn('Ada', 'editor');
    await open(page, `/content/${slug}`);
    await page.getByLabel('Select all rows').check();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByLabel('Date and time').fill('2099-05-06T07:08');
    await page.locator('dialog').getByText(scheduled ? 'They appear on your site from' : 'This blueprint does not wait for dates').waitFor();
    await page.locator('dialog').getByRole('button', { name: scheduled ? 'Schedule' : 'Publish', exact: true }).click();
    await toast(page, scheduled ? '2 entries will be published on 6 May 2099' : '2 entries published');
    for (const id of ids) assert.equal((await read(slug, id)).published_at?.slice(0, 7), '2099-05');
    await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
    await toast(page, '2 entries are as they were before.');
    assert.deepEqual(await Promise.all(ids.map(async (id) => (await read(slug, id)).published_at)), [null, '2024-01-01T00:00:00.000+00:00']);
    await context.close();
  }
});

test('counts of values stand in the filters, and a click filters', async () => {
  await makeBlueprint('counted-notes', {}, [['Text', 'text'], ['Colour', 'enum', { values: ['red', 'blue'] }]]);
  for (const colour of ['red', 'red', 'blue']) await create('counted-notes', { text: `A ${colour} note`, colour });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, '/content/counted-notes');
  await page.getByRole('button', { name: 'Filter' }).click();
  const red = page.getByRole('group', { name: 'Colour' }).getByRole('button', { name: 'red' });
  assert.equal((await red.innerText()).replace(/\s+/g, ' '), 'red 2');
  await red.click();
  await page.getByText('2 entries').waitFor();
  assert.equal(await red.getAttribute('aria-pressed'), 'true');
  await red.click();
  await page.getByText('3 entries').waitFor();

  // Those that are left out are shown by a button.
  await makeBlueprint('counted-many', {}, [['Text', 'text'], ['Kind', 'enum', { values: null }]]);
  for (let kind = 1; kind <= 9; kind += 1) await create('counted-many', { text: 'A note', kind: `kind ${kind}` });
  await open(page, '/content/counted-many');
  await page.getByRole('button', { name: 'Filter' }).click();
  const kinds = page.getByRole('group', { name: 'Kind' }).getByRole('button');
  await kinds.filter({ hasText: 'and 3 more' }).click();
  await kinds.filter({ hasText: 'kind 9' }).waitFor();
  assert.equal(await kinds.count(), 9);
  await context.close();
});

/** Attacks of our own, and those of the test data if they are there. */
function attacks(): string[] {
  const own = ['<script>window.hit=1</script>', '<img src=x onerror="parent.hit=1;top.hit=1">', '<a href="javascript:parent.hit=1">x</a>', '<svg onload=parent.hit=1>', '<iframe srcdoc="<script>top.hit=1</script>"></iframe>', '<details open ontoggle=top.hit=1>x</details>', '<style>@import "x"</style>', '<meta http-equiv=refresh content="0;url=javascript:top.hit=1">', '<base href="https://evil.example/"><form action=x><button autofocus onfocus=top.hit=1>'];
  const file = path.join(process.env.BINDERY_TEST_DATA ?? '', 'html-hostile.ndjson.zst');
  if (!process.env.BINDERY_TEST_DATA || !existsSync(file)) return own;
  try {
    const lines = execFileSync('zstd', ['-dc', file], { encoding: 'utf8' }).split('\n').filter(Boolean);
    return [...own, ...lines.map((line) => (JSON.parse(line) as { attributes: { body: string } }).attributes.body)];
  } catch {
    return own;
  }
}

test('no script of content runs: in tables, forms, previews, comparisons and search', async () => {
  const payloads = attacks();
  await makeBlueprint('hostile', {}, [['Text', 'text'], ['Body', 'rich-text'], ['Page', 'html-page'], ['Link', 'link']]);
  const ids: string[] = [];
  for (const payload of payloads) {
    const value = { text: payload, body: payload, page: { html: payload, css: '', blocks: [{ type: payload.slice(0, 200), heading: payload.slice(0, 2000) }] } };
    const answer = await api<{ data: { id: string } }>('POST', '/v2/resources/hostile', { attributes: value });
    // Some of them are rejected as too expensive to parse.
    if (answer.status === 201) ids.push(answer.body.data.id);
  }
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const foreign: string[] = [];
  page.on('request', (request) => !request.url().startsWith(new URL(page.url()).origin) && !/^(data|blob|about):/.test(request.url()) && foreign.push(request.url()));
  const unharmed = async (where: string): Promise<void> => {
    await settled(page);
    assert.equal(await page.evaluate(() => (window as unknown as { hit?: number }).hit), undefined, where);
    // What is typed as HTML is parsed here, where the policy blocks what it has of scripts, and says so.
    assert.deepEqual(troubles.filter((one) => !where.includes('typed') || one.startsWith('dialog')), [], where);
    troubles.length = 0;
  };
  await open(page, '/content/hostile?columns=text,body,page');
  await page.locator('tbody a.title').first().waitFor();
  await unharmed('table');
  for (const id of ids.slice(0, 12)) {
    await open(page, `/content/hostile/${id}`);
    await page.locator('iframe').first().waitFor();
    await unharmed('editor');
  }
  // Typed, not yet seen by the server: the page's own HTML, and rich text as HTML and then visually.
  await open(page, '/content/hostile/new');
  await field(page, 'page').getByRole('button', { name: 'HTML' }).click();
  for (const payload of payloads) {
    await field(page, 'page').getByRole('textbox', { name: 'HTML' }).fill(payload);
    // The preview shows slow ones less often, so not every one is waited for.
    await field(page, 'page').locator('iframe[aria-busy=false]').waitFor({ timeout: 1000 }).catch(() => {});
  }
  await unharmed('preview of what was typed');
  for (const payload of payloads.slice(0, 30)) {
    await field(page, 'body').getByRole('button', { name: 'HTML' }).click();
    await field(page, 'body').locator('textarea').fill(payload);
    const visually = field(page, 'body').getByRole('button', { name: /visually/ });
    await visually.click();
    if (await visually.isVisible()) await visually.click();
    await field(page, 'body').locator('.prose').waitFor();
  }
  await unharmed('visual editor of what was typed');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('script');
  await unharmed('search');
  const viewer = await signedIn('Vera', 'viewer');
  await open(viewer.page, `/content/hostile/${ids[0]}`);
  await viewer.page.locator('iframe').first().waitFor();
  await settled(viewer.page);
  assert.equal(await viewer.page.evaluate(() => (window as unknown as { hit?: number }).hit), undefined, 'read only');
  for (const frame of await viewer.page.locator('iframe').all()) assert.equal(await frame.getAttribute('sandbox'), 'allow-same-origin');
  await context.close();
  await viewer.context.close();
});
