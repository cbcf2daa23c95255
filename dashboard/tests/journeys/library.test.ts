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
      await page.locator('[data-field] .badge', { hasText: 'Draft' }).first().waitFor({ state: 'detached' });
      assert.deepEqual(troubles, []);
      await context.close();
    });
  }
}

const WORDS = {
  'en-GB': { more: 'More', del: 'Delete', held: /cannot be deleted/, used: /Used in 2 places\. Remove it there first\./, unpublish: 'Unpublish', seen: /It is used in 2 places, where visitors will no longer see it\./, where: 'Show where', usedIn: 'Used in', cancel: 'Cancel' },
  'de-DE': { more: 'Mehr', del: 'Löschen', held: /lässt sich nicht löschen/, used: /Wird an 2 Stellen verwendet\. Entfernen Sie es zuerst dort\./, unpublish: 'Zurückziehen', seen: /an denen Besucher sie dann nicht mehr sehen\./, where: 'Zeigen, wo', usedIn: 'Verwendet in', cancel: 'Abbrechen' },
};
for (const [locale, words] of Object.entries(WORDS)) {
  test(`deleting or unpublishing a used file says where it is used (${locale})`, async () => {
    const file = await uploaded(png(`used-${locale}.png`, 30, 30, [locale.charCodeAt(0), 5, 80]));
    for (const text of ['A', 'B']) await create('features', { text, image: lasting(file) }, '2026-01-01T00:00:00Z');
    const { page, context, troubles } = await signedIn('Mia', 'editor', { locale });
    const menu = async (name: string): Promise<void> => {
      await page.getByRole('button', { name: words.more, exact: true }).click();
      await page.locator('button.item', { hasText: name }).click();
    };
    await open(page, `/content/${LIBRARY}/${file.id}`);
    await settled(page);
    await menu(words.del);
    await dialog(page).getByRole('heading', { name: words.held }).waitFor();
    await dialog(page).getByText(words.used).waitFor();
    assert.equal(await dialog(page).getByRole('button', { name: words.del, exact: true }).count(), 0);
    await dialog(page).getByRole('button', { name: words.where }).click();
    await page.waitForFunction((name) => document.activeElement?.textContent === name, words.usedIn);
    await menu(words.unpublish);
    await dialog(page).getByText(words.seen).waitFor();
    await dialog(page).getByRole('button', { name: words.cancel }).click();
    assert.equal(await statusOf(lasting(file)), 200);
    await menu(words.unpublish);
    await dialog(page).getByRole('button', { name: words.unpublish }).click();
    await page.locator('.toast').waitFor();
    assert.equal(await statusOf(lasting(file)), 404);
    await api('PATCH', `/v2/resources/${LIBRARY}/${file.id}`, { published_at: '2026-01-01T00:00:00Z' });

    await open(page, `/content/${LIBRARY}?search=used-${locale}`);
    await page.locator('.grid li', { hasText: `used-${locale}.png` }).getByRole('checkbox').check();
    await page.locator('.bulk').getByRole('button', { name: words.del }).click();
    await dialog(page).getByRole('button', { name: words.del, exact: true }).click();
    await dialog(page).locator('.fault').getByText(words.used).waitFor();
    assert.deepEqual(troubles, []);
    await context.close();
  });
}

test('a file in the place of a used one is shown before it replaces it, and a picture is replaced by a picture only', async () => {
  const file = await uploaded(png('noon.png', 60, 40, [60, 90, 30]), { alt: 'Noon' });
  await create('features', { text: 'A', image: lasting(file) });
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}/${file.id}`);
  const chooser = page.locator('.media input[type=file]');
  assert.equal(await chooser.getAttribute('accept'), 'image/*');
  await chooser.setInputFiles({ name: 'annual report.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n%%EOF') });
  await toast(page, '“annual report.pdf” is not a picture.');
  const other = await jpeg(page, 'night.jpg', 90, 50, '#124');
  await chooser.setInputFiles(other);
  await dialog(page).getByText('Used in 1 place, which shows the new file at once.').waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll<HTMLImageElement>('dialog img')].filter((one) => one.naturalWidth > 0).length === 2);
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  assert.equal((await read(LIBRARY, file.id)).attributes.width, 60);

  await chooser.setInputFiles(other);
  await api('PATCH', `/v2/resources/${LIBRARY}/${file.id}`, { attributes: { caption: 'Changed by somebody else' } });
  await dialog(page).getByRole('button', { name: 'Replace file' }).click();
  await toast(page, 'Somebody changed this meanwhile. Load it again.');
  await page.locator('.toast').getByRole('button', { name: 'Reload' }).click();
  await page.waitForFunction(() => (document.getElementById('field-caption') as HTMLTextAreaElement | null)?.value === 'Changed by somebody else');
  await chooser.setInputFiles(other);
  await dialog(page).getByRole('button', { name: 'Replace file' }).click();
  await toast(page, 'Check the alt texts and the focal point.');
  assert.equal((await read(LIBRARY, file.id)).attributes.width, 90);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a file that is empty or too large says so in the words of the dashboard', async () => {
  const { page, context } = await signedIn('Mia', 'editor', { locale: 'de-DE' });
  await open(page, `/content/${LIBRARY}`);
  const input = page.locator('input[type=file]').first();
  await input.setInputFiles({ name: 'empty.png', mimeType: 'image/png', buffer: Buffer.alloc(0) });
  await page.locator('.uploads .fault').getByText('Die Datei ist leer.', { exact: true }).waitFor();
  await page.route(`**/v2/media/${LIBRARY}`, (route) => route.fulfill({ status: 413, contentType: 'application/json', body: JSON.stringify({ errors: { code: 'PAYLOAD_TOO_LARGE', message: 'the file is too large; at most 307200 bytes are accepted' } }) }));
  await input.setInputFiles(png('large.png', 9, 9, [1, 1, 1]));
  await page.locator('.uploads .fault').getByText('Zu groß: höchstens 307 kB.', { exact: true }).waitFor();
  await context.close();
});

test('the focal point is set by a click, also near it, by dragging, and by the arrow keys after a click', async () => {
  const file = await uploaded(png('focus.png', 400, 200, [90, 190, 30]));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}/${file.id}`);
  const image = page.locator('.media .frame img');
  await image.evaluate((one: HTMLImageElement) => one.decode());
  const at = (x: number, y: number): Promise<void> => page.getByRole('button', { name: `Focal point: ${x} % from the left, ${y} % from the top`, exact: true }).waitFor();
  const box = (await image.boundingBox())!;
  const place = (x: number, y: number): [number, number] => [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.click(...place(0.25, 0.5));
  await at(25, 50);
  await page.keyboard.press('Shift+ArrowRight');
  await at(35, 50);
  await page.mouse.click(...place(0.36, 0.52));
  await at(36, 52);
  await page.mouse.move(...place(0.36, 0.52));
  await page.mouse.down();
  await page.mouse.move(...place(0.5, 0.6), { steps: 3 });
  await page.mouse.move(...place(0.8, 0.7), { steps: 3 });
  await page.mouse.up();
  await at(80, 70);
  await page.keyboard.press('ArrowLeft');
  await at(79, 70);
  await page.keyboard.press('Enter');
  await at(79, 70);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a picture that browsers cannot show says so, without a focal point', async () => {
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic', 'latin1'), Buffer.from([0, 0, 0, 8]), Buffer.from('mdat', 'latin1')]);
  await page.locator('input[type=file]').first().setInputFiles({ name: 'phone.heic', mimeType: 'image/heic', buffer: heic });
  await toast(page, 'phone.heic: Most browsers cannot show HEIC. Upload a JPEG.');
  await page.locator('.grid li', { hasText: 'phone.heic' }).first().locator('a').click();
  await page.locator('.media').getByText('Most browsers cannot show HEIC. Upload a JPEG.').waitFor();
  await page.locator('.media .frame').waitFor({ state: 'detached' });
  await context.close();
});

test('a picture without a text in one language says so wherever this language is written', async () => {
  const file = await uploaded(png('spoken.png', 44, 33, [9, 190, 130]));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}/${file.id}`);
  const languages = page.locator('aside li');
  const says = (name: string, badge: string): Promise<void> => languages.filter({ hasText: name }).getByText(badge, { exact: true }).waitFor();
  for (const name of ['English', 'Deutsch']) await says(name, '1 missing');
  await page.locator('#field-alt').fill('Spoken');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  await languages.filter({ hasText: 'English' }).locator('.badge', { hasText: 'missing' }).waitFor({ state: 'detached' });
  await says('Deutsch', '1 missing');
  await languages.filter({ hasText: 'Deutsch' }).getByRole('button').click();
  await page.locator('#field-alt').waitFor();
  await settled(page);
  assert.equal(await page.getByText('Outdated', { exact: true }).count() + await page.getByText('translation still fits').count(), 0);
  await page.locator('#field-alt').fill('');
  const pdf = await uploaded({ name: 'plain.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF') });
  await open(page, `/content/${LIBRARY}/${pdf.id}`);
  await settled(page);
  assert.equal(await languages.locator('.badge').count(), 0, 'nothing is there to be translated');

  const id = await create('features', { text: 'Both' }, '2026-01-01T00:00:00Z');
  await api('PATCH', `/v2/resources/features/${id}?variant=de`, { attributes: { text: 'Beide', image: lasting(file), pictures: [file.id] } });
  await api('PATCH', `/v2/resources/features/${id}`, { attributes: { image: lasting(file), pictures: [file.id] } });
  for (const [query, count] of [['', 0], ['?variant=de', 1]] as const) {
    await open(page, `/content/features/${id}${query}`);
    await settled(page);
    for (const slug of ['image', 'pictures']) {
      await field(page, slug).getByRole('link', { name: 'spoken.png' }).waitFor();
      assert.equal(await field(page, slug).getByText('No alt text', { exact: true }).count(), count, `${slug}${query}`);
    }
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a new folder has the focus and invites to upload; who may not upload makes none', async () => {
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement?.textContent === 'New folder');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Fresh');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'This folder has no files yet' }).waitFor();
  assert.match(await page.evaluate(() => document.activeElement?.textContent ?? ''), /^Fresh/);
  await page.locator('.empty input[type=file]').setInputFiles(png('fresh.png', 12, 12, [200, 1, 90]));
  await page.locator('.grid li', { hasText: 'fresh.png' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
  const viewer = await signedIn('Vic', 'viewer');
  await open(viewer.page, `/content/${LIBRARY}`);
  await viewer.page.getByRole('button', { name: /^Fresh/ }).waitFor();
  assert.equal(await viewer.page.getByRole('button', { name: 'New folder' }).count(), 0);
  await viewer.context.close();
});
