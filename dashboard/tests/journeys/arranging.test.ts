// Putting things in order by mouse and by keyboard, and translations whose source changed.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, read, signedIn, toast } from '../browser';

after(closeBrowser);

async function drag(page: Page, from: Locator, to: Locator): Promise<void> {
  const [start, end] = [(await from.boundingBox())!, (await to.boundingBox())!];
  await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(start.x + start.width / 2 + 8, start.y + start.height / 2 + 8, { steps: 3 });
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2, { steps: 6 });
  await page.mouse.up();
}

const focused = (page: Page): Promise<string | null> => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? null);

test('related entries, blocks, values and fields are put in order by dragging and by keys', async () => {
  await makeBlueprint('ordered-things', { record_title: 'text' }, [['Text', 'text'], ['Many', 'references', { blueprint: 'authors' }], ['Tags', 'multi-enum', { values: null }], ['Page', 'html-page']]);
  const authors = (await api<{ data: { id: string; attributes: { name: string } }[] }>('GET', '/v2/resources/authors?per_page=3&sort=name')).body.data;
  const ids = authors.map((one) => one.id);
  const blocks = ['heading', 'quote', 'divider'].map((type) => ({ type }));
  const id = await create('ordered-things', { text: 'Things', many: ids, tags: ['one', 'two', 'three'], page: { html: '', css: '', blocks } });
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, `/content/ordered-things/${id}`);
  await field(page, 'page').locator('li').nth(2).waitFor();

  const many = field(page, 'many').locator('li:has(.grip)');
  await drag(page, many.nth(0).locator('.grip'), many.nth(2));
  await field(page, 'many').getByRole('button', { name: `Move ${authors[2]!.attributes.name} up` }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), `Move ${authors[2]!.attributes.name} down`, 'the focus goes with the entry, to the button that is left');

  const tags = field(page, 'tags').locator('.chip');
  await drag(page, tags.nth(0).locator('.grip'), tags.nth(1));
  await field(page, 'tags').getByRole('button', { name: 'Remove three' }).focus();
  await page.keyboard.press('Alt+ArrowLeft');
  assert.equal(await focused(page), 'Remove three');

  const parts = field(page, 'page').locator('ol > li');
  await drag(page, parts.nth(2).locator('.grip'), parts.nth(0));
  await field(page, 'page').getByRole('button', { name: 'Move Quote up' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  const stored = (await read('ordered-things', id)).attributes;
  assert.deepEqual(stored.many, [ids[2], ids[1], ids[0]]);
  assert.deepEqual(stored.tags, ['two', 'three', 'one']);
  assert.deepEqual((stored.page as { blocks: { type: string }[] }).blocks.map((one) => one.type), ['divider', 'quote', 'heading']);

  await open(page, '/blueprints/ordered-things');
  const fields = page.locator('.fields > li');
  await drag(page, fields.nth(3).locator('.grip'), fields.nth(1));
  await page.getByRole('button', { name: 'Move Tags up' }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'Move Tags up');
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await page.getByRole('button', { name: 'Apply the changes' }).click();
  await toast(page, 'Saved');
  const blueprint = await api<{ data: { fields: { slug: string }[] } }>('GET', '/v2/blueprints/ordered-things');
  assert.deepEqual(blueprint.body.data.fields.map((one) => one.slug), ['text', 'page', 'tags', 'many']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a translation says which fields of its source changed since it was saved', async () => {
  const id = await create('articles', { title: 'Source', slug: `source-${Date.now()}`, summary: 'A summary' });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/articles/${id}?variant=de`);
  await field(page, 'title').getByRole('textbox').fill('Quelle');
  await page.getByRole('button', { name: 'Show English beside it' }).click();
  await page.getByText('Not translated').first().waitFor();
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.equal(await page.getByText('changed since').count(), 0);
  await api('PATCH', `/v2/resources/articles/${id}`, { attributes: { title: 'Another source' } });
  await page.reload();
  await page.getByText('English changed in one field since').waitFor();
  await field(page, 'title').getByText('English changed since').waitFor();
  assert.equal(await field(page, 'summary').getByText('English changed since').count(), 0);
  // Another person's browser has not kept what the source said, but the server knows that it changed.
  const other = await signedIn('Bob', 'editor');
  await open(other.page, `/content/articles/${id}?variant=de`);
  await other.page.getByText('English was changed after this translation was last saved.').waitFor();
  await other.page.getByRole('button', { name: /Deutsch\s*Outdated/ }).waitFor();
  await other.page.getByRole('button', { name: 'It still fits' }).click();
  await other.page.getByText('English was changed after').waitFor({ state: 'detached' });
  assert.equal(await other.page.getByText('Outdated').count(), 0);
  await other.context.close();
  await field(page, 'title').getByRole('textbox').fill('Andere Quelle');
  await page.keyboard.press('Control+s');
  await page.getByText('English changed in one field since').waitFor({ state: 'detached' });
  await context.close();
});
