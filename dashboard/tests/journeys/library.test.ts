// Care for the files of a library: drafts of authors, other files in the place of used ones, and texts in each language.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn, toast, URL_BASE } from '../browser';
import { jpeg, lasting, LIBRARY, makeLibrary, png, uploaded, type Stored } from '../pictures';

const VARIANTS = [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }];
const FIELDS = [['Text', 'text'], ['Image', 'image'], ['Rich', 'rich-text'], ['Pictures', 'references', { blueprint: LIBRARY }]] as const;

before(async () => {
  await makeLibrary();
  await makeBlueprint('features', { variants: VARIANTS }, FIELDS);
  await makeBlueprint('columns', { working_copy: true }, FIELDS);
});
after(closeBrowser);

const statusOf = async (address: string): Promise<number> => (await fetch(new URL(address, URL_BASE))).status;
const more = async (page: Page, name: string): Promise<void> => {
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name }).or(page.locator('button.item', { hasText: name })).first().click();
};
const dialog = (page: Page): Locator => page.getByRole('dialog');

const NAMED: [string, (files: Stored[]) => Record<string, unknown>][] = [
  ['an address and a text', ([one, two]) => ({ image: lasting(one!), rich: `<p>A</p><figure><img src="${lasting(two!)}" alt="B"></figure>` })],
  ['a relation', (files) => ({ pictures: files.map(({ id }) => id) })],
];
const PUBLISHED: [string, string, (page: Page) => Promise<void>][] = [
  ['a draft', 'features', (page) => page.getByRole('button', { name: 'Publish', exact: true }).click()],
  ['changes', 'columns', (page) => page.getByRole('button', { name: 'Publish changes', exact: true }).click()],
];
for (const [how, values] of NAMED) {
  for (const [what, blueprint, publish] of PUBLISHED) {
    test(`whoever publishes ${what} learns of drafts that ${how} names, and publishes them too`, async () => {
      const files = await Promise.all([1, 2].map((at) => uploaded(png(`draft-${at}.png`, 40, 30, [at * 60, how.length * 9, what.length * 20]), { alt: 'A' }, null)));
      const id = blueprint === 'features' ? await create(blueprint, { text: 'A feature', ...values(files) }) : await create(blueprint, { text: 'A column' }, '2026-01-01T00:00:00Z');
      if (blueprint === 'columns') await api('PATCH', `/v2/resources/${blueprint}/${id}?copy=working`, { attributes: values(files) });
      const { page, context, troubles } = await signedIn('Mia', 'editor');
      await open(page, `/content/${blueprint}/${id}`);
      await field(page, how === 'a relation' ? 'pictures' : 'image').getByText('Draft', { exact: true }).first().waitFor();
      await publish(page);
      await dialog(page).getByRole('heading', { name: '2 files will not be visible' }).waitFor();
      await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      assert.equal(await statusOf(lasting(files[0]!)), 404);
      await publish(page);
      await dialog(page).getByRole('button', { name: 'Publish them too' }).click();
      await dialog(page).waitFor({ state: 'detached' });
      await page.locator('.toast', { hasText: /published/i }).waitFor();
      assert.notEqual((await read(blueprint, id)).published_at, null);
      for (const one of files) assert.equal(await statusOf(lasting(one)), 200);
      assert.deepEqual(troubles, []);
      await context.close();
    });
  }
}
