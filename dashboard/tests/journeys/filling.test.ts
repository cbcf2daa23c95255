// Filling in a form with the keyboard: no key that is typed does anything else, and what a field cannot do is said at the field.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { choose, closeBrowser, makeBlueprint, open, signedIn, toast } from '../browser';

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

  // What the buttons do is reached with the keyboard from the field, and taken back as with the buttons.
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
