// Filling in a form with the keyboard: no key that is typed does anything else, and what a field cannot do is said at the field.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { choose, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn, toast } from '../browser';

after(closeBrowser);

/** As people type. */
const SPEED = { delay: 40 };
const hasFocus = (locator: Locator): Promise<boolean> => locator.evaluate((one) => one === document.activeElement);
const input = (page: Page, slug: string): Locator => field(page, slug).getByRole('textbox');

test('Tab leads from one input to the next, and the search over everything has the actions of the field', async () => {
  await makeBlueprint('filled-forms', {}, [['Text', 'text'], ['Slug', 'slug'], ['Home', 'link'], ['Many', 'references', { blueprint: 'authors' }], ['After', 'text']]);
  const { page, context, troubles } = await signedIn('Fia', 'editor');
  await open(page, '/content/filled-forms/new');
  await input(page, 'text').click();
  await page.keyboard.type('Ada Lovelace', SPEED);
  await page.keyboard.press('Tab', SPEED);
  await page.keyboard.type('ada lovelace', SPEED);
  await page.keyboard.press('Tab', SPEED);
  await page.keyboard.type('https://x.org/', SPEED);
  assert.deepEqual(await Promise.all(['text', 'slug', 'home'].map((slug) => input(page, slug).inputValue())), ['Ada Lovelace', 'ada lovelace', 'https://x.org/']);

  // The keyboard reaches the actions of the buttons from the field, because Tab passes over them.
  await input(page, 'slug').focus();
  await choose(page, 'Empty Slug');
  await toast(page, 'Slug is empty now.');
  assert.equal(await input(page, 'slug').inputValue(), '');
  assert.equal(await hasFocus(input(page, 'slug')), true, 'the input has the focus');
  await choose(page, 'Undo: Slug is empty now.');
  assert.equal(await input(page, 'slug').inputValue(), 'ada lovelace');
  await input(page, 'text').focus();
  await choose(page, 'Undo the change of Text');
  assert.equal(await input(page, 'text').inputValue(), '');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('HTML that was written by hand is not replaced by blocks without a question', async () => {
  await makeBlueprint('filled-pages', {}, [['Text', 'text'], ['Page', 'html-page']]);
  const id = await create('filled-pages', { text: 'Page', page: { html: '<section class="heading"><h2>Stored</h2></section>', css: '', blocks: [{ type: 'heading', heading: 'Stored' }] } });
  const { page, context, troubles } = await signedIn('Pia', 'editor');
  await open(page, `/content/filled-pages/${id}`);
  const tab = (name: string) => field(page, 'page').getByRole('button', { name, exact: true });
  const heading = field(page, 'page').getByLabel('Heading', { exact: true });
  await heading.waitFor();
  await tab('HTML').click();
  await field(page, 'page').locator('textarea.code').focus();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('<p>By hand</p>', SPEED);
  await tab('Blocks').click();
  await field(page, 'page').getByText('Building it from blocks replaces it').waitFor();
  assert.equal(await heading.count(), 0, 'no block can be changed');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.match(String(((await read('filled-pages', id)).attributes.page as { html: string }).html), /By hand/);
  await tab('Build from blocks').click();
  await heading.fill('Changed');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.equal(((await read('filled-pages', id)).attributes.page as { html: string }).html, '<section class="heading"><h2>Changed</h2></section>');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a block that was removed comes back with Undo, and the focus goes to the next one', async () => {
  await makeBlueprint('filled-blocks', {}, [['Text', 'text'], ['Page', 'html-page']]);
  const { page, context, troubles } = await signedIn('Bob', 'editor');
  await open(page, '/content/filled-blocks/new');
  const builder = field(page, 'page');
  for (const [type, part, text] of [['Heading', 'Heading', 'First'], ['Quote', 'Text', 'Second'], ['List', 'Heading', 'Third']] as const) {
    await builder.getByRole('button', { name: 'Add a block' }).click();
    await builder.getByRole('button', { name: type, exact: true }).click();
    await builder.locator('ol > li').last().getByLabel(part, { exact: true }).fill(text);
  }
  const names = (): Promise<string[]> => builder.locator('ol > li strong').allInnerTexts();
  await builder.getByRole('button', { name: 'Remove Quote' }).click();
  assert.deepEqual(await names(), ['Heading', 'List']);
  assert.equal(await hasFocus(builder.getByRole('button', { name: 'Remove List' })), true, 'the next block has the focus');
  await page.locator('.toast', { hasText: 'Quote is removed.' }).getByRole('button', { name: 'Undo', exact: true }).click();
  assert.deepEqual(await names(), ['Heading', 'Quote', 'List']);
  assert.equal(await builder.locator('ol > li').nth(1).getByLabel('Text', { exact: true }).inputValue(), 'Second');
  await builder.getByRole('button', { name: 'Remove List' }).click();
  assert.equal(await hasFocus(builder.getByRole('button', { name: 'Remove Quote' })), true, 'behind the last one, the one before it');
  await builder.getByRole('button', { name: 'Remove Quote' }).click();
  await builder.getByRole('button', { name: 'Remove Heading' }).click();
  assert.equal(await hasFocus(builder.getByRole('button', { name: 'Add a block' })), true, 'without blocks, the button that adds one');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a search for related entries says that the server cannot be reached', async () => {
  await makeBlueprint('filled-relations', {}, [['Text', 'text'], ['One', 'reference', { blueprint: 'authors' }]]);
  const { page, context } = await signedIn('Olaf', 'editor');
  await open(page, '/content/filled-relations/new');
  await settled(page);
  await page.route('**/v2/resources/authors?**', (route) => route.abort());
  const search = field(page, 'one').getByRole('combobox');
  await search.click();
  await page.keyboard.type('ada', SPEED);
  await field(page, 'one').getByText('The server cannot be reached.').waitFor();
  assert.equal(await field(page, 'one').getByText('Nothing found').count(), 0);
  await page.unroute('**/v2/resources/authors?**');
  await search.fill('zzzz no author');
  await field(page, 'one').getByText('Nothing found').waitFor();
  await context.close();
});

test('a number with more digits than are stored says what is stored', async () => {
  await makeBlueprint('filled-numbers', {}, [['Text', 'text'], ['Number', 'number'], ['Price', 'money', { currencies: ['EUR'] }]]);
  const { page, context } = await signedIn('Nina', 'editor');
  await open(page, '/content/filled-numbers/new');
  const said = (slug: string): Locator => field(page, slug).getByText('12345678901234567000 is stored');
  await input(page, 'number').fill('1234567890.123');
  assert.equal(await said('number').count(), 0);
  for (const slug of ['number', 'price']) {
    await input(page, slug).fill('12345678901234567890.123');
    await said(slug).waitFor();
    await input(page, slug).blur();
    assert.equal(await input(page, slug).inputValue(), '12345678901234567000');
    await said(slug).waitFor();
    await input(page, slug).fill('0.30');
    await said(slug).waitFor({ state: 'detached' });
  }
  await context.close();
});

test('a tab from before an update says so where a part of the dashboard is gone, and a reload finds the text that was typed', async () => {
  await makeBlueprint('filled-updates', {}, [['Text', 'text'], ['Rich', 'rich-text'], ['Page', 'html-page']]);
  const { page, context } = await signedIn('Uma', 'editor');
  const old = /\/admin\/assets\/(RichText|PageBuilder)-[^/]*\.js$/;
  await page.route(old, (route) => route.fulfill({ status: 404, body: '' }));
  await open(page, '/content/filled-updates/new');
  await input(page, 'text').first().fill('Typed before');
  for (const slug of ['rich', 'page']) await field(page, slug).getByText('The dashboard was updated. Reload the page.').waitFor();
  await page.unroute(old);
  await field(page, 'rich').getByRole('button', { name: 'Reload' }).click();
  await field(page, 'rich').locator('.prose').waitFor();
  assert.equal(await input(page, 'text').first().inputValue(), 'Typed before');

  const screen = /\/admin\/assets\/SearchScreen-[^/]*\.js$/;
  await page.route(screen, (route) => route.fulfill({ status: 404, body: '' }));
  await open(page, '/search');
  await page.getByRole('heading', { name: 'The dashboard was updated. Reload the page.' }).waitFor();
  await open(page, '');
  await page.route(/\/admin\/(assets\/SearchScreen-[^/]*\.js)?$/, (route) => route.abort());
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  await page.getByRole('heading', { name: 'The server cannot be reached. Check your connection.' }).waitFor();
  await context.close();
});
