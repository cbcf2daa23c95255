// The media library: uploads, folders, the focal point, alt texts, and files in fields, texts and pages.
import axe from 'axe-core';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn, toast } from '../browser';
import { give, jpeg, lasting, LIBRARY, makeLibrary, png, uploaded, type Stored } from '../pictures';

before(async () => {
  await makeLibrary();
  await makeBlueprint('media-notes', { variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] });
});
after(closeBrowser);

const named = async (name: string): Promise<Stored[]> =>
  (await api<{ data: Stored[] }>('GET', `/v2/resources/${LIBRARY}?filter[file_name]=${encodeURIComponent(name)}`)).body.data;
const picture = (page: Page, name: string): Locator => page.locator('.grid li').filter({ hasText: name });
const input = (page: Page): Locator => page.locator('input[type=file]').first();

/** A message about an earlier save may still be there, so the answer is waited for. */
async function save(page: Page): Promise<void> {
  const answered = page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
  await page.keyboard.press('Control+s');
  await answered;
}

/** The picture was loaded, and is not only a place for one. */
async function isShown(image: Locator): Promise<void> {
  await image.waitFor();
  const width = await image.evaluate(async (element: HTMLImageElement) => {
    element.loading = 'eager';
    await element.decode();
    return element.naturalWidth;
  });
  assert.ok(width > 0);
}

test('files are uploaded by a button, by dropping and by pasting, several at once, and are shown as pictures', async () => {
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  await input(page).setInputFiles([png('button-one.png', 640, 400, [200, 40, 40]), png('button-two.png', 300, 500, [20, 160, 40])]);
  await page.getByText('2 of 2 uploaded').waitFor();
  for (const name of ['button-one.png', 'button-two.png']) await isShown(picture(page, name).locator('img'));
  await give(page.locator('.screen'), 'drop', [await jpeg(page, 'dropped.jpg', 320, 200, '#246')]);
  await page.getByText('3 of 3 uploaded').waitFor();
  await isShown(picture(page, 'dropped.jpg').locator('img'));
  await give(page.locator('body'), 'paste', [png('pasted.png', 64, 64, [10, 20, 220])]);
  await page.getByText('4 of 4 uploaded').waitFor();
  await picture(page, 'pasted.png').waitFor();
  assert.match(await picture(page, 'button-one.png').innerText(), /PNG · 640 × 400/);
  const [stored] = await named('button-one.png');
  assert.ok(stored!.published_at !== null, 'what an editor uploads is published');
  await page.getByRole('button', { name: 'Hide finished' }).click();
  await page.getByText('4 of 4 uploaded').waitFor({ state: 'detached' });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a file that is not accepted says so, and a lost connection is tried again without a second copy', async () => {
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  await input(page).setInputFiles({ name: 'tool.exe', mimeType: 'image/png', buffer: Buffer.from('MZ\x90\0 this is no picture', 'latin1') });
  await page.getByText('1 failed').waitFor();
  assert.equal((await named('tool.exe')).length, 0);
  await page.getByRole('button', { name: 'Remove tool.exe from this list' }).click();
  const whole = png('broken.png', 40, 40, [8, 8, 8]);
  await input(page).setInputFiles({ ...whole, buffer: whole.buffer.subarray(0, whole.buffer.length / 2) });
  await page.locator('.uploads .fault').getByText('The picture is broken. Open it in a program for pictures, and save it again.', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Remove broken.png from this list' }).click();

  // The server stores the file, and its answer is lost.
  let lost = 0;
  await page.route(`**/v2/media/${LIBRARY}`, async (route) => {
    if (lost > 0) return route.continue();
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  await input(page).setInputFiles(png('lost.png', 32, 32, [1, 2, 3]));
  await page.getByText('The server cannot be reached').waitFor();
  await page.getByRole('button', { name: 'Try again: lost.png' }).click();
  await page.getByText('1 of 1 uploaded').waitFor();
  assert.equal(lost, 1);
  assert.equal((await named('lost.png')).length, 1);
  await context.close();
});

test('of many uploads, those that failed come first, and one is tried again where that can help', async () => {
  const { page, context } = await signedIn('Mia', 'editor', { width: 360 });
  await open(page, `/content/${LIBRARY}`);
  await page.route(`**/v2/media/${LIBRARY}`, (route) => ((route.request().postDataBuffer() ?? Buffer.alloc(0)).includes('many-7.png') ? route.abort() : route.continue()));
  const exe = { name: 'many.exe', mimeType: 'image/png', buffer: Buffer.from('MZ\x90\0 this is no picture', 'latin1') };
  await input(page).setInputFiles([...[1, 2, 3, 4, 5, 6, 7].map((at) => png(`many-${at}.png`, 30, 30, [at, at, 90])), exe]);
  const list = page.getByRole('group', { name: 'Uploads' });
  await list.getByText('6 of 8 uploaded · 2 failed').waitFor();
  const rows = list.getByRole('listitem');
  assert.match(await rows.nth(0).innerText(), /many-7\.png[\s\S]*cannot be reached/);
  assert.match(await rows.nth(1).innerText(), /many\.exe/);
  assert.equal(await list.getByRole('button', { name: /^Try/ }).count(), 1, 'the same file would be rejected again');
  const [name, close] = await Promise.all([rows.nth(0).locator('.name').boundingBox(), rows.nth(0).getByRole('button').last().boundingBox()]);
  assert.ok(Math.abs(name!.y + name!.height / 2 - close!.y - close!.height / 2) < 24, 'the button stands beside the name');

  // The focus stays in the list, and goes to what is beside it in the end.
  const focused = (): Promise<string> => page.evaluate(() => document.activeElement!.getAttribute('aria-label') ?? document.activeElement!.textContent!);
  await page.unroute(`**/v2/media/${LIBRARY}`);
  await list.getByRole('button', { name: 'Try again: many-7.png' }).press('Enter');
  await list.getByText('7 of 8 uploaded · 1 failed').waitFor();
  assert.match(await focused(), /many/);
  await list.getByRole('button', { name: 'Hide finished' }).press('Enter');
  assert.equal(await focused(), 'Remove many.exe from this list');
  await page.keyboard.press('Enter');
  await list.waitFor({ state: 'detached' });
  assert.notEqual(await page.evaluate(() => document.activeElement!.localName), 'body');
  await context.close();
});

test('files stand in folders, and those without an alt text are found', async () => {
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  await page.getByRole('button', { name: 'New folder' }).click();
  await page.getByRole('textbox', { name: 'Name of the folder' }).fill('Holidays');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'This folder has no files yet' }).waitFor();
  await input(page).setInputFiles([png('beach.png', 120, 80, [240, 220, 20]), png('hills.png', 120, 80, [20, 220, 120])]);
  await picture(page, 'hills.png').waitFor();
  const [beach] = await named('beach.png');
  assert.equal(beach!.attributes.folder, 'Holidays');
  await page.getByRole('button', { name: /^Holidays\s*2$/ }).waitFor();
  await api('PATCH', `/v2/resources/${LIBRARY}/${beach!.id}`, { attributes: { alt: 'A beach' } });
  await page.getByRole('button', { name: 'No alt text', exact: true }).click();
  await picture(page, 'beach.png').waitFor({ state: 'detached' });
  assert.equal(await page.locator('.grid li').count(), 1);
  await page.getByRole('button', { name: 'No alt text', exact: true }).click();
  await picture(page, 'beach.png').waitFor();
  await page.getByRole('button', { name: 'Table', exact: true }).click();
  await page.locator('tbody a.title', { hasText: 'hills.png' }).waitFor();
  await page.reload();
  await page.locator('tbody a.title', { hasText: 'beach.png' }).waitFor();
  await page.getByRole('button', { name: 'Pictures', exact: true }).click();
  await page.getByRole('button', { name: 'All folders' }).click();
  await page.getByRole('searchbox').first().fill('hills');
  await picture(page, 'hills.png').waitFor();
  await context.close();
});

test('arrow keys move in the grid, and Enter opens a file', async () => {
  for (const name of ['keys-a.png', 'keys-b.png']) await uploaded(png(name, 40, 40, [name.charCodeAt(5), 0, 0]), { folder: 'Keys' });
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}?filter%5Bfolder%5D%5Beq%5D=Keys&sort=file_name`);
  await picture(page, 'keys-b.png').waitFor();
  await page.locator('.grid a').first().focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('x');
  assert.ok(await picture(page, 'keys-b.png').locator('input').isChecked());
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'keys-b.png' }).waitFor();
  await context.close();
});

test('a picture has a focal point, texts in each language, and a file that can be replaced', async () => {
  const stored = await uploaded(png('detail.png', 400, 200, [90, 90, 200]));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await open(page, `/content/${LIBRARY}/${stored.id}`);
  const image = page.locator('.media img');
  await isShown(image);
  assert.match(await page.locator('.media').innerText(), /image\/png[\s\S]*400 × 200 pixels/);
  await page.getByText('no alt text in: English, Deutsch').waitFor();
  assert.equal(await field(page, 'hash').count(), 0, 'what only an upload sets is no input');

  const box = (await image.boundingBox())!;
  await image.click({ position: { x: box.width * 0.8, y: box.height * 0.25 } });
  const point = page.getByRole('button', { name: /^Focal point: 80 % from the left, 25 % from the top$/ });
  await point.focus();
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('Shift+ArrowDown');
  await page.locator('#field-alt').fill('Blue fields');
  await save(page);
  const saved = await read(LIBRARY, stored.id);
  assert.deepEqual([saved.attributes.focal_x, saved.attributes.focal_y, saved.attributes.alt], [0.79, 0.35, 'Blue fields']);
  await page.getByText('no alt text in: Deutsch').waitFor();

  await page.getByRole('combobox', { name: 'Language' }).or(page.locator('select.language')).first().selectOption('de');
  await page.locator('#field-alt').fill('Blaue Felder');
  await save(page);
  assert.equal((await read(LIBRARY, stored.id, '?variant=de')).attributes.alt, 'Blaue Felder');
  await page.getByText('no alt text in: Français, 日本語').waitFor();

  await page.locator('.media input[type=file]').setInputFiles(await jpeg(page, 'other.jpg', 222, 111, '#852'));
  await page.getByRole('dialog').getByRole('button', { name: 'Replace file' }).click();
  await toast(page, 'The file was replaced');
  await page.locator('.media').getByText('222 × 111 pixels').waitFor();
  await isShown(image);
  assert.equal(await image.evaluate((element: HTMLImageElement) => element.naturalWidth), 222);
  await page.getByRole('button', { name: 'Copy address' }).click();
  await toast(page, 'The address was copied');
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`^http.*/media/${stored.id}/`));
  assert.deepEqual(troubles, []);
  await context.close();
});

test('fields take files of the library, an upload, or an address as before', async () => {
  const hill = await uploaded(png('picked.png', 80, 60, [120, 10, 90]));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  const id = await create('media-notes', { text: 'A note' });
  await open(page, `/content/media-notes/${id}`);
  const image = field(page, 'image');
  await image.getByRole('button', { name: 'Choose from library' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose a picture' });
  await dialog.getByRole('searchbox').fill('picked');
  await dialog.getByRole('button', { name: /picked\.png/ }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.locator('#field-image').inputValue(), lasting(hill));
  await isShown(image.locator('img').last());
  await image.getByText('No alt text').waitFor();

  await give(field(page, 'file').locator('.target'), 'drop', [{ name: 'paper.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n') }]);
  await page.waitForFunction(() => (document.querySelector('#field-file') as HTMLInputElement).value.includes('/media/'));
  await save(page);
  const saved = (await read('media-notes', id)).attributes;
  assert.equal(saved.image, lasting(hill));
  assert.match(String(saved.file), /\/media\/[0-9a-f-]{36}\/paper\.pdf/);
  await page.locator('#field-image').fill('https://example.org/a.png');
  await save(page);
  assert.equal((await read('media-notes', id)).attributes.image, 'https://example.org/a.png');

  // The library says where its files are used.
  await api('PATCH', `/v2/resources/media-notes/${id}`, { attributes: { image: hill.attributes.url } });
  await open(page, `/content/${LIBRARY}/${hill.id}`);
  await page.getByRole('complementary').getByRole('heading', { name: 'Used in' }).waitFor();
  await page.getByRole('complementary').getByRole('link', { name: 'A note' }).waitFor();
  assert.deepEqual(troubles.filter((one) => !one.includes('example.org')), []);
  await context.close();
});

test('a picker that was cancelled chooses nothing, also when its upload arrives later', async () => {
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  const id = await create('media-notes', { text: 'A note' });
  await open(page, `/content/media-notes/${id}`);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(`**/v2/media/${LIBRARY}`, async (route) => (await held, route.continue()));
  await field(page, 'image').getByRole('button', { name: 'Choose from library' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose a picture' });
  const asked = page.waitForRequest(`**/v2/media/${LIBRARY}`);
  await dialog.locator('input[type=file]').setInputFiles([png('not-chosen.png', 40, 30, [9, 90, 120])]);
  await asked;
  await dialog.getByRole('button', { name: 'Close' }).click();
  await dialog.waitFor({ state: 'detached' });
  release();
  for (let tries = 0; (await named('not-chosen.png')).length === 0; tries += 1) {
    assert.ok(tries < 100, 'the file is not uploaded');
    await page.waitForTimeout(100);
  }
  await settled(page);
  assert.equal(await page.locator('#field-image').inputValue(), '');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a table and the text beside a translation show the file that an address names', async () => {
  const stored = await uploaded(png('named in a table.png', 60, 40, [90, 120, 10]));
  const id = await create('media-notes', { text: 'Named', image: stored.attributes.url, file: 'https://example.org/paper.pdf' });
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, '/content/media-notes?columns=image,file');
  const row = page.locator('tbody tr', { hasText: 'Named' });
  await row.getByText('named in a table.png').waitFor();
  await isShown(row.locator('img'));
  await row.getByText('https://example.org/paper.pdf').waitFor();
  assert.equal(await row.evaluate((element) => element.getBoundingClientRect().height), 40, 'rows keep their height');
  await open(page, `/content/media-notes/${id}?variant=de`);
  await page.getByRole('button', { name: /beside it/ }).click();
  const original = field(page, 'image').locator('.original');
  await original.getByText('named in a table.png').waitFor();
  await isShown(original.locator('img'));
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a picture that is dropped, pasted or chosen stands in the text, with its description', async () => {
  const chosen = await uploaded(png('described.png', 90, 60, [60, 60, 60]), { alt: 'A described picture' });
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  const id = await create('media-notes', { text: 'A note', rich: '<p>First.</p><p>Second.</p>' });
  await open(page, `/content/media-notes/${id}`);
  const prose = page.locator('.prose').first();
  await prose.waitFor();
  const pictures = prose.locator('img:not(.ProseMirror-separator)');
  await give(prose.locator('p').first(), 'drop', [png('in-text.png', 70, 50, [5, 100, 200])]);
  await isShown(pictures.first());
  await prose.locator('p').last().click();
  await page.keyboard.press('Control+End');
  await give(prose, 'paste', [png('pasted-in-text.png', 70, 50, [5, 200, 100])]);
  await isShown(pictures.nth(1));
  await page.keyboard.press('Control+End');
  await page.getByRole('button', { name: 'Image', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Choose from library' }).click();
  const picker = page.getByRole('dialog', { name: 'Choose a picture' });
  await picker.getByRole('searchbox').fill('described');
  await picker.getByRole('button', { name: /^described\.png/ }).click();
  await picker.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Insert' }).click();
  await isShown(pictures.nth(2));
  await page.getByText('2 pictures in this text have no description.').waitFor();
  await save(page);
  const rich = String((await read('media-notes', id)).attributes.rich);
  assert.match(rich, /^<p>(First\.|.*<img[^>]+in-text\.png.*)/);
  assert.match(rich, /\/media\/[0-9a-f-]{36}\/pasted-in-text\.png/);
  assert.ok(rich.includes(`src="${lasting(chosen)}"`) && rich.includes('alt="A described picture"'), rich);
  assert.doesNotMatch(rich, /uploading|blob:|data:/);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a block of a page takes a picture with its description', async () => {
  const stored = await uploaded(png('block.png', 90, 60, [160, 60, 60]), { alt: 'A picture in a block' });
  const { page, context } = await signedIn('Mia', 'editor');
  const id = await create('media-notes', { text: 'A note', page: { html: '', css: '', blocks: [{ type: 'image' }] } });
  await open(page, `/content/media-notes/${id}`);
  const builder = field(page, 'page').locator('.builder');
  await builder.getByRole('button', { name: 'Choose from library' }).click();
  const picker = page.getByRole('dialog', { name: 'Choose a picture' });
  await picker.getByRole('searchbox').fill('block');
  await picker.getByRole('button', { name: /block\.png/ }).click();
  await save(page);
  const saved = (await read('media-notes', id)).attributes.page as { html: string; blocks: Record<string, string>[] };
  assert.deepEqual(saved.blocks, [{ type: 'image', image: lasting(stored), alternative: 'A picture in a block' }]);
  assert.ok(saved.html.includes('alt="A picture in a block"'), saved.html);
  await context.close();
});

for (const [shape, width, height] of [['a portrait', 400, 600], ['a logo', 900, 90], ['a square', 500, 500], ['a small one', 40, 30]] as const) {
  test(`${shape} is shown whole and with its proportions, in a field, in the library and in the picker`, async () => {
    const name = `shape ${width} ${height}.png`;
    const stored = await uploaded(png(name, width, height, [160, 60, height % 200]));
    const id = await create('media-notes', { text: 'A note', image: stored.attributes.url });
    const { page, context } = await signedIn('Mia', 'editor');
    await open(page, `/content/media-notes/${id}`);
    const preview = field(page, 'image').locator('img').last();
    await isShown(preview);
    const box = (await preview.boundingBox())!;
    assert.ok(Math.abs(box.width / box.height / (width / height) - 1) < 0.1, `${box.width} × ${box.height}`);
    assert.match(String(await preview.getAttribute('src')), /[?&]w=640/);
    /** What is outside of the box around it is cut off. */
    const fits = async (image: Locator): Promise<void> => {
      await isShown(image);
      assert.ok(await image.evaluate((element) => {
        const [inner, outer] = [element.getBoundingClientRect(), element.closest('.picture')!.getBoundingClientRect()];
        return inner.height <= outer.height + 1 && inner.width <= outer.width + 1;
      }));
    };
    await field(page, 'image').getByRole('button', { name: 'Choose from library' }).click();
    await page.getByRole('dialog').getByRole('searchbox').fill(`shape ${width}`);
    await fits(page.getByRole('dialog').getByRole('button', { name: new RegExp(name) }).locator('img'));
    await open(page, `/content/${LIBRARY}?q=${encodeURIComponent(name)}`);
    await fits(picture(page, name).locator('img'));
    await context.close();
  });
}

test('showing more files in the picker goes on with the keyboard at the first of them', async () => {
  for (let at = 0; at < 26; at += 1) await uploaded(png(`plenty-${at}.png`, 20 + at, 20, [at, 90, 90]));
  const id = await create('media-notes', { text: 'A note' });
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, `/content/media-notes/${id}`);
  await field(page, 'image').getByRole('button', { name: 'Choose from library' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose a picture' });
  await dialog.getByRole('searchbox').fill('plenty');
  await dialog.getByRole('button', { name: 'Show more (2)' }).press('Enter');
  const tiles = dialog.locator('.grid button');
  await tiles.nth(25).waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll('dialog .grid button')].indexOf(document.activeElement!) === 24);
  await context.close();
});

test('another picture in the place of a described one does not get its description', async () => {
  const first = await uploaded(png('place-first.png', 90, 60, [160, 60, 60]), { alt: 'Red evening sky' });
  await uploaded(png('place-second.png', 90, 60, [60, 160, 60]));
  const { page, context } = await signedIn('Mia', 'editor');
  const id = await create('media-notes', { text: 'A note', rich: `<p><img src="${lasting(first)}" alt="Typed here"></p>`, page: { html: '', css: '', blocks: [{ type: 'image', image: lasting(first), alternative: 'Typed here' }] } });
  await open(page, `/content/media-notes/${id}`);
  const pick = async (within: Locator, name: string): Promise<void> => {
    await within.getByRole('button', { name: 'Choose from library' }).click();
    const picker = page.getByRole('dialog', { name: 'Choose a picture' });
    await picker.getByRole('searchbox').fill('place');
    await picker.getByRole('button', { name: new RegExp(name) }).click();
    await picker.waitFor({ state: 'detached' });
  };
  await field(page, 'rich').locator('.prose img:not(.ProseMirror-separator)').dblclick();
  const places = [
    { within: field(page, 'page').locator('.builder'), words: page.getByLabel('Description of the image') },
    { within: page.getByRole('dialog', { name: 'Image' }), words: page.getByRole('dialog', { name: 'Image' }).getByLabel('Description') },
  ];
  for (const { within, words } of places.reverse()) {
    for (const [name, wanted] of [['place-first', 'Typed here'], ['place-second', ''], ['place-first', 'Red evening sky']] as const) {
      await pick(within, name);
      assert.equal(await words.inputValue(), wanted, name);
    }
    if (await page.getByRole('dialog').count()) await page.getByRole('button', { name: 'Apply' }).click();
  }
  await give(field(page, 'page').locator('.target'), 'drop', [png('place-dropped.png', 90, 60, [60, 60, 160])]);
  await page.waitForFunction(() => [...document.querySelectorAll<HTMLInputElement>('.builder .target input')].some((one) => one.value.includes('place-dropped')));
  assert.equal(await places[1]!.words.inputValue(), '');
  await context.close();
});

test('an author uploads drafts, and a viewer uploads nothing', async () => {
  const author = await signedIn('Aki', 'author');
  await open(author.page, `/content/${LIBRARY}`);
  await input(author.page).setInputFiles(png('by-author.png', 20, 20, [9, 9, 90]));
  await author.page.getByText('1 of 1 uploaded').waitFor();
  assert.equal((await named('by-author.png'))[0]!.published_at, null);
  await isShown(picture(author.page, 'by-author.png').locator('img'));
  await author.context.close();
  const viewer = await signedIn('Vic', 'viewer');
  await open(viewer.page, `/content/${LIBRARY}`);
  await picture(viewer.page, 'by-author.png').waitFor();
  assert.equal(await viewer.page.getByRole('button', { name: 'Upload', exact: true }).count(), 0);
  await viewer.context.close();
});

test('a library is made in the dashboard, and keeps the fields of files when it is changed', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/new');
  await page.getByLabel('Name', { exact: true }).first().fill('Photographs');
  await page.getByLabel('Kind').selectOption('media');
  await page.getByRole('button', { name: 'Create the blueprint' }).click();
  await page.getByRole('heading', { name: 'Photographs' }).waitFor();
  await input(page).setInputFiles(png('press.png', 60, 40, [70, 70, 7]));
  await picture(page, 'press.png').waitFor();
  await open(page, '/blueprints/photographs');
  assert.equal(await page.getByText('Placeholder', { exact: true }).count(), 0, 'what only an upload sets is not offered');
  await page.goto('/admin/blueprints/photographs?tab=settings');
  await page.getByLabel('Name', { exact: true }).first().fill('Press photographs');
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Apply the changes' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  const { body } = await api<{ data: { name: string; fields: { slug: string }[] } }>('GET', '/v2/blueprints/photographs');
  assert.equal(body.data.name, 'Press photographs');
  const slugs = body.data.fields.map(({ slug }) => slug);
  for (const slug of ['file_name', 'hash', 'alt', 'folder']) assert.ok(slugs.includes(slug), slugs.join());
  assert.deepEqual(troubles, []);
  await api('DELETE', '/v2/blueprints/photographs?force=true');
  await context.close();
});

for (const [scheme, locale] of [['light', 'en-GB'], ['dark', 'de-DE']] as const) {
  test(`axe finds nothing in the library, and nothing scrolls sideways (${scheme}, ${locale})`, async () => {
    const stored = await uploaded(png('axe.png', 300, 200, [200, 100, 30]), { folder: 'A folder with a rather long name' });
    const note = await create('media-notes', { text: 'A note', image: stored.attributes.url });
    const { page, context, troubles } = await signedIn('Mia', 'editor', { scheme, locale });
    const look = async (where: string): Promise<void> => {
      await settled(page);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(async () => await (window as unknown as { axe: typeof axe }).axe.run(document, { iframes: false, resultTypes: ['violations'] }));
      assert.deepEqual(violations.map((one) => `${where}: ${one.id}: ${one.nodes[0]?.html.slice(0, 200)}`), []);
      for (const width of [1280, 640, 360]) {
        await page.setViewportSize({ width, height: 740 });
        await page.waitForTimeout(200);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${where} is ${over} pixels wider than ${width}`);
        const cut = await page.locator('.tile .badge').evaluateAll((all) => all.filter((one) => one.getBoundingClientRect().right > one.closest('.tile')!.getBoundingClientRect().right).length);
        assert.equal(cut, 0, `${where}: badges are cut off at ${width}`);
        const heights = await page.locator('.tile .badge').evaluateAll((all) => all.map((one) => one.getBoundingClientRect().height));
        assert.ok(heights.every((one) => one < 24), `${where}: a badge has one line at ${width}: ${heights}`);
      }
      await page.setViewportSize({ width: 1280, height: 900 });
    };
    await open(page, `/content/${LIBRARY}`);
    await picture(page, 'axe.png').first().waitFor();
    await input(page).setInputFiles({ name: 'bad.bin', mimeType: 'x', buffer: Buffer.from([0, 1, 2, 3, 255]) });
    await page.locator('.uploads .fault').waitFor();
    await look('the library');
    await open(page, `/content/${LIBRARY}/${stored.id}`);
    await isShown(page.locator('.media img'));
    await look('a file');
    await open(page, `/content/media-notes/${note}`);
    await field(page, 'image').locator('.target button').first().click();
    await page.locator('dialog .grid button').first().waitFor();
    await look('the picker');
    assert.deepEqual(troubles, []);
    await context.close();
  });
}
