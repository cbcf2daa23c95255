// Files that are still on their way when a form is saved, published or left.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { isSound, siteOf } from '../copies';
import { api, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn, toast, type Person } from '../browser';
import { give, LIBRARY, makeLibrary, png } from '../pictures';

const NOTES = 'upload-notes';
before(async () => {
  await makeLibrary();
  const variants = [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }];
  await makeBlueprint(NOTES, { working_copy: true, variants }, [['Text', 'text'], ['Rich', 'rich-text'], ['Image', 'image']]);
});
after(closeBrowser);

let count = 0;
const fresh = () => png(`slow-${(count += 1)}.png`, 60 + count, 40, [40, 90, (count * 37) % 200]);

interface Held extends Person {
  id: string;
  /** Lets the uploads go on, or cuts the connection. */
  release: (how?: 'continue' | 'abort') => Promise<void>;
}

/** An entry that is open, whose uploads are held back. */
async function held(): Promise<Held> {
  const id = await create(NOTES, { text: 'A note', rich: '<p>First.</p>' }, '2026-01-01T00:00:00Z');
  const person = await signedIn('Mia', 'editor');
  await open(person.page, `/content/${NOTES}`);
  // Within the dashboard: the browser itself asks before it loads another page.
  await person.page.locator(`a[href*="${id}"]`).first().click();
  await person.page.locator('.prose p').first().waitFor();
  const waiting: Route[] = [];
  let answers = true;
  await person.page.route(`**/v2/media/${LIBRARY}`, (route) => (answers ? void waiting.push(route) : route.continue()));
  const release = async (how: 'continue' | 'abort' = 'continue'): Promise<void> => {
    answers = false;
    for (const one of waiting.splice(0)) await one[how]();
  };
  return { ...person, id, release };
}

const PLACES = {
  'a text': {
    drop: (page: Page) => give(page.locator('.prose p').first(), 'drop', [fresh()]),
    under: (page: Page) => page.locator('.prose .uploading progress').waitFor(),
    count: (page: Page) => page.locator('.prose img:not(.ProseMirror-separator)').count(),
  },
  'a field': {
    drop: (page: Page) => give(field(page, 'image').locator('.target'), 'drop', [fresh()]),
    under: (page: Page) => field(page, 'image').locator('progress').waitFor(),
    count: async (page: Page) => Number((await page.locator('#field-image').inputValue()) !== ''),
  },
};

for (const [name, place] of Object.entries(PLACES)) {
  test(`publishing waits for a picture that is still on its way into ${name}`, async () => {
    const { page, context, troubles, id, release } = await held();
    const site = await siteOf(NOTES);
    await field(page, 'text').getByRole('textbox').fill('A note with a picture');
    await place.drop(page);
    await place.under(page);
    await page.keyboard.press('Control+Shift+s');
    await page.getByText('Saving after the upload…').waitFor();
    assert.equal((await site(id)).text, 'A note');
    await release();
    await toast(page, 'Published');
    const shown = await site(id);
    assert.equal(shown.text, 'A note with a picture');
    assert.match(String(name === 'a text' ? shown.rich : shown.image), /\/media\/[0-9a-f-]{36}\/slow-/);
    assert.equal(await page.getByText('Not saved yet').count(), 0);
    assert.deepEqual(troubles, []);
    await context.close();
  });

  const WAYS: Record<string, (page: Page) => Promise<unknown>> = {
    'a link': (page) => page.getByRole('link', { name: /^Back to/ }).click(),
    'the browser’s Back': (page) => page.evaluate(() => history.back()),
    'another language': (page) => page.getByLabel('Language').selectOption('de'),
  };
  test(`a form with a picture on its way into ${name} is not left without a question`, async () => {
    const { page, context, id, release } = await held();
    await place.drop(page);
    await place.under(page);
    const dialog = page.getByRole('dialog', { name: 'A file is still uploading' });
    for (const [way, leave] of Object.entries(WAYS)) {
      await leave(page);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      assert.match(page.url(), new RegExp(`/${id}$`), way);
      await place.under(page);
    }
    assert.equal(await page.getByLabel('Language').inputValue(), 'en');
    await release();
    await page.getByText('Not saved yet').waitFor();
    assert.equal(await place.count(page), 1);
    await page.getByRole('link', { name: /^Back to/ }).click();
    await page.waitForURL(`**/content/${NOTES}*`);
    await context.close();
  });

  test(`whoever leaves nevertheless does, and the picture of ${name} gets into the library`, async () => {
    for (const leave of Object.values(WAYS)) {
      const { page, context, id, release } = await held();
      await place.drop(page);
      await place.under(page);
      await leave(page);
      await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
      await page.waitForURL((url) => !url.href.endsWith(id));
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      const answered = page.waitForResponse((answer) => answer.url().endsWith(`/v2/media/${LIBRARY}`));
      await release();
      assert.equal((await answered).status(), 201);
      assert.equal((await read(NOTES, id)).attributes.image, null);
      await context.close();
    }
  });
}

test('a picture on its way into a text shows how far it is, can be stopped, and is tried again in its place', async () => {
  const { page, context, troubles, id, release } = await held();
  await PLACES['a text'].drop(page);
  const place = page.locator('.prose .uploading');
  await place.getByText(/^\d+\s?%$/).waitFor();
  await isSound(page, 'uploading');
  await place.getByRole('button', { name: /^Stop uploading slow-/ }).click();
  await place.waitFor({ state: 'detached' });
  assert.ok(await page.locator('.prose').evaluate((element) => element === document.activeElement), 'one goes on in the text');

  await PLACES['a text'].drop(page);
  await place.waitFor();
  await field(page, 'text').getByRole('textbox').fill('Later');
  await page.keyboard.press('Control+s');
  await release('abort');
  await page.getByText('A file could not be uploaded, so nothing was saved.').waitFor();
  assert.equal((await api<{ data: { attributes: Record<string, unknown> } }>('GET', `/v2/resources/${NOTES}/${id}?copy=working`)).body.data.attributes.text, 'A note');
  await place.getByText('The server cannot be reached').waitFor();
  await isSound(page, 'upload-failed');
  await place.getByRole('button', { name: /^Try again/ }).press('Enter');
  await page.locator('.prose img:not(.ProseMirror-separator)').waitFor();
  await place.waitFor({ state: 'detached' });

  await give(page.locator('.prose p').first(), 'drop', [{ name: 'tool.exe', mimeType: 'image/png', buffer: Buffer.from('MZ\x90\0 this is no picture', 'latin1') }]);
  await place.getByRole('button', { name: 'Remove tool.exe' }).waitFor();
  assert.equal(await place.getByRole('button').count(), 1, 'the same file would be rejected again');
  await place.getByRole('button').click();
  await place.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+s');
  await toast(page, 'saved');
  await settled(page);
  const rich = String((await api<{ data: { attributes: Record<string, unknown> } }>('GET', `/v2/resources/${NOTES}/${id}?copy=working`)).body.data.attributes.rich);
  assert.match(rich, /<img[^>]+slow-/);
  assert.doesNotMatch(rich, /uploading|tool|%<|progress/);
  assert.deepEqual(troubles, []);
  await context.close();
});
