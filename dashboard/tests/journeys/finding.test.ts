// Finding things: the search with typing errors, the order of entries, and how many requests a screen needs.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn } from '../browser';

after(closeBrowser);

test('a search forgives typing errors and shows what it found', async () => {
  await makeBlueprint('found-notes', { record_title: 'text' }, [['Text', 'text'], ['Body', 'rich-text']]);
  await create('found-notes', { text: 'Bookbinding', body: '<p>The thread goes through the <em>signature</em> & back.</p>' });
  await create('found-notes', { text: 'Printing', body: '<p>Ink on paper.</p>' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/found-notes');
  await page.getByRole('searchbox').fill('bokbinding');
  await page.getByText('1 entry', { exact: true }).waitFor();
  assert.equal(await page.locator('tbody .title mark').innerText(), 'Bookbinding');
  await page.getByRole('searchbox').fill('signature ');
  await page.locator('.excerpt mark', { hasText: 'signature' }).waitFor();
  assert.match(await page.locator('.excerpt').innerText(), /thread goes through the signature & back/);
  await page.getByRole('searchbox').fill('-printing');
  await page.getByText('1 entry', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Bookbinding' }).waitFor();
  await page.getByRole('searchbox').fill('zzzz');
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await page.getByText('2 entries').waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a field may be named like a column that every table has', async () => {
  await makeBlueprint('status-notes', { record_title: 'text' }, [['Text', 'text'], ['Status', 'enum', { values: null }]]);
  await create('status-notes', { text: 'One', status: 'live' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/status-notes?columns=text,status,id');
  await page.getByRole('cell', { name: 'live' }).waitFor();
  assert.deepEqual(await page.locator('thead th').allInnerTexts(), ['', 'Text', 'Status', 'Status', 'Id']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the entries before and after one are a click away, in the order of the table', async () => {
  await makeBlueprint('ordered-notes', { record_title: 'text' }, [['Text', 'text']]);
  for (const text of ['One', 'Two', 'Three']) await create('ordered-notes', { text });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, '/content/ordered-notes?sort=text');
  await page.getByRole('link', { name: 'Three' }).click();
  await page.getByText('2 of 3').waitFor();
  await page.getByRole('link', { name: 'Next: Two' }).click();
  await page.getByText('3 of 3').waitFor();
  await page.getByRole('link', { name: 'Previous: Three' }).click();
  await page.getByRole('link', { name: 'Previous: One' }).click();
  await page.getByText('1 of 3').waitFor();
  assert.equal(await field(page, 'text').getByRole('textbox').inputValue(), 'One');
  await context.close();
});

test('one comes back from an entry to its row', async () => {
  await makeBlueprint('long-notes', { record_title: 'text' }, [['Text', 'text']]);
  for (let number = 10; number < 70; number++) await create('long-notes', { text: `Note ${number}` });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const isBackAt = async (name: string) => {
    const link = page.getByRole('row').getByRole('link', { name });
    await link.and(page.locator(':focus')).waitFor();
    const [row, table] = [await link.boundingBox(), await page.locator('.wrap').boundingBox()];
    assert.ok(row!.y > table!.y && row!.y + row!.height < table!.y + table!.height, `${name} is in sight`);
  };
  await open(page, '/content/long-notes?sort=text&page=2');
  await page.getByRole('link', { name: 'Note 58' }).click();
  await page.getByText('49 of 60').waitFor();
  await page.goBack();
  await isBackAt('Note 58');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Previous: Note 57' }).click();
  await page.getByText('48 of 60').waitFor();
  await page.getByRole('link', { name: 'Back to long-notes' }).click();
  await isBackAt('Note 57');
  assert.deepEqual(troubles, []);
  await context.close();
});

const LANGUAGES = [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }];

test('the search over everything finds titles in every language, and offers what can be done with the open entry', async () => {
  await makeBlueprint('aa-translated', { record_title: 'text', variants: LANGUAGES }, [['Text', 'text']]);
  const id = await create('aa-translated', { text: 'Bookcase' });
  await api('PATCH', `/v2/resources/aa-translated/${id}?variant=de`, { attributes: { text: 'Bücherregalbrett' } });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await page.goto('/admin/');
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('Bücherregal');
  const option = page.getByRole('option', { name: 'Bücherregalbrett' });
  await option.waitFor();
  assert.match(await option.innerText(), /aa-translated · Deutsch/);
  await page.keyboard.press('Enter');
  await page.waitForURL(new RegExp(`/aa-translated/${id}\\?variant=de$`));
  await page.waitForFunction(() => (document.getElementById('field-text') as HTMLTextAreaElement | null)?.value === 'Bücherregalbrett');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('publ');
  await page.getByRole('option', { name: 'Publish This entry' }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('.toast', { hasText: 'Published.' }).waitFor();
  assert.ok((await read('aa-translated', id)).published_at);
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Unpublish This entry' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Home' }).waitFor();
  assert.equal(await page.getByRole('option', { name: /This entry/ }).count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a click on a column sorts, also where its order is the usual one, and a search says that it is ranked', async () => {
  await makeBlueprint('sorted-notes', { record_title: 'text' }, [['Text', 'text'], ['Body', 'text']]);
  await create('sorted-notes', { text: 'Apple', body: 'Pear' });
  await create('sorted-notes', { text: 'Pear pear pear', body: 'Pear' });
  await create('sorted-notes', { text: 'Quince', body: 'Something with a pear in it' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/sorted-notes');
  const head = page.locator('th', { hasText: 'Updated' });
  const rows = async (...expected: string[]): Promise<void> => {
    await settled(page);
    assert.deepEqual(await page.locator('tbody a.title').allInnerTexts(), expected);
  };
  await rows('Quince', 'Pear pear pear', 'Apple');
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  await head.getByRole('button').click();
  await rows('Apple', 'Pear pear pear', 'Quince');
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  await head.getByRole('button').click();
  await rows('Quince', 'Pear pear pear', 'Apple');
  await head.getByRole('button').click();
  await rows('Apple', 'Pear pear pear', 'Quince');

  await open(page, '/content/sorted-notes?search=pear');
  await settled(page);
  assert.equal((await page.locator('tbody a.title').allInnerTexts())[0], 'Pear pear pear');
  assert.equal(await page.locator('th[aria-sort]').count(), 0, 'the best matches come first');
  await head.getByRole('button').click();
  await rows('Apple', 'Pear pear pear', 'Quince');
  await head.getByRole('button').click();
  await rows('Quince', 'Pear pear pear', 'Apple');
  await head.getByRole('button').click();
  await settled(page);
  assert.equal(await page.locator('th[aria-sort]').count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

// Its blueprint comes early in the alphabet: the home screen asks for the first twenty.
test('the home screen has the drafts of the member, what is scheduled, and translations that are outdated', async () => {
  await makeBlueprint('a-home', { record_title: 'text', variants: LANGUAGES, scheduled: true }, [['Text', 'text']]);
  await create('a-home', { text: 'Draft of somebody else' });
  await create('a-home', { text: 'Soon' }, new Date(Date.now() + 86_400_000).toISOString());
  const outdated = await create('a-home', { text: 'Changed later' }, '2024-01-01T00:00:00Z');
  await api('PATCH', `/v2/resources/a-home/${outdated}?variant=de`, { attributes: { text: 'Später geändert' } });
  await api('PATCH', `/v2/resources/a-home/${outdated}`, { attributes: { text: 'Changed since' } });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/a-home/new');
  await field(page, 'text').getByRole('textbox').fill('My own draft');
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.locator('.toast', { hasText: 'Saved' }).waitFor();
  // Beyond the entries that changed last.
  for (let part = 0; part < 2; part += 1) await api('POST', '/v2/resources/a-home/bulk', { resources: Array.from({ length: 60 }, (_, index) => ({ attributes: { text: `Later ${part}-${index}` }, published_at: '2024-01-01T00:00:00Z' })) });
  await page.goto('/admin/');
  const section = (name: string) => page.locator('section', { has: page.getByRole('heading', { name, exact: true }) });
  await section('Your drafts').getByRole('link', { name: 'My own draft' }).waitFor();
  assert.equal(await section('Your drafts').getByRole('link', { name: 'Draft of somebody else' }).count(), 0);
  await section('Scheduled').getByRole('link', { name: 'Soon' }).waitFor();
  await settled(page);
  await api('PATCH', `/v2/resources/a-home/${outdated}`, { attributes: { text: 'Changed again' } });
  await page.reload();
  await section('Outdated translations').getByRole('link', { name: 'Changed again' }).click();
  await page.waitForURL(new RegExp(`/a-home/${outdated}\\?variant=de$`));
  await page.getByText(/English was changed after this translation/).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an export has the columns that were chosen', async () => {
  await makeBlueprint('exported-notes', { record_title: 'text' }, [['Text', 'text'], ['Secret', 'text'], ['Count', 'number']]);
  await create('exported-notes', { text: '=SUM(A1)', secret: 'not wanted', count: 3 });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, '/content/exported-notes');
  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Updated' }).uncheck();
  if (await page.getByRole('checkbox', { name: 'Secret' }).isChecked()) await page.getByRole('checkbox', { name: 'Secret' }).uncheck();
  // The words of a checkbox are part of it.
  const count = page.getByRole('checkbox', { name: 'Count' });
  const before = await count.isChecked();
  await count.locator('xpath=ancestor::label').getByText('Count').click();
  assert.equal(await count.isChecked(), !before);
  await count.check();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Export' }).click();
  await page.getByText('What matches, with the 2 chosen columns.').waitFor();
  const address = (await page.getByRole('link', { name: 'Download as CSV' }).getAttribute('href'))!;
  assert.ok(new URL(address, 'http://x').searchParams.get('spreadsheet') === 'true');
  const text = await (await context.request.get(address)).text();
  assert.equal(text.split('\n')[0]!.trim(), 'id,text,count');
  assert.ok(!text.includes('not wanted'));
  await context.close();
});

/** The requests to the API that a screen makes until nothing more happens. */
async function requestsOf(page: Page, go: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = [];
  const note = (request: { url: () => string; method: () => string }): void => {
    const { pathname, search } = new URL(request.url());
    if (pathname.startsWith('/v2/')) seen.push(`${request.method()} ${pathname}${decodeURIComponent(search)}`);
  };
  page.on('request', note);
  await go();
  await page.locator('#screen h1').first().waitFor();
  // Counts come a moment after the rows.
  for (let known = -1; known !== seen.length; ) {
    known = seen.length;
    await page.waitForTimeout(500);
    await settled(page);
  }
  page.off('request', note);
  return seen;
}

test('a screen needs few requests', async () => {
  const article = (await api<{ data: { id: string }[] }>('GET', '/v2/resources/articles?filter[slug]=allocator')).body.data[0]!.id;
  const { page, context } = await signedIn('Ada', 'editor');
  const blueprints = (await api<{ data: unknown[] }>('GET', '/v2/blueprints')).body.data.length;
  // The session and the blueprints come first; then one request for each of 20 blueprints, of which others may be made
  // meanwhile, and eight for what these leave out.
  const most: [string, string, number][] = [
    ['home', '/', 2 + Math.min(28, blueprints + 8)],
    ['table, what is edited, the next page, no titles of relations', '/content/articles?columns=title,author', 5],
    ['table with counts', '/content/articles?filter[kind][eq]=article', 7],
    ['editor: entry, languages on the site and edited, uses, neighbors, titles, picture, history', `/content/articles/${article}`, 2 + 8],
  ];
  for (const [name, address, limit] of most) {
    const seen = await requestsOf(page, () => open(page, address));
    assert.ok(seen.length <= limit, `${name}: ${seen.length} requests, not ${limit}\n${seen.join('\n')}`);
  }
  await open(page, '/content/articles');
  await settled(page);
  const turned = await requestsOf(page, () => page.getByRole('button', { name: 'Next page' }).click());
  assert.ok(turned.length <= 3, `a page further: ${turned.join(', ')}`);
  await context.close();
});
