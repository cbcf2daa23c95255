// Several pictures at once: in a text, in a field that refers to files, in a page, and moved between folders.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { isSound } from '../copies';
import { closeBrowser, create, field, makeBlueprint, open, press, read, settled, signedIn, toast } from '../browser';
import { give, jpeg, lasting, LIBRARY, makeLibrary, png, uploaded } from '../pictures';

before(async () => {
  await makeLibrary();
  await makeBlueprint('galleries', { variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, [
    ['Text', 'text'], ['Rich', 'rich-text'], ['Pictures', 'references', { blueprint: LIBRARY }], ['Cover', 'reference', { blueprint: LIBRARY }], ['Page', 'html-page'],
  ]);
});
after(closeBrowser);

const three = (name: string) => [1, 2, 3].map((at) => png(`${name}-${at}.png`, 60 + at, 40, [40 * at, 90, name.length * 9]));
const names = async (ids: unknown): Promise<string[]> => {
  const found = await Promise.all((ids as string[]).map((id) => read(LIBRARY, id)));
  return found.map(({ attributes }) => String(attributes.file_name));
};

async function save(page: Page): Promise<void> {
  const answered = page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
  await page.keyboard.press('Control+s');
  await answered;
}

/** The first file of a name arrives last, as a large one does. */
async function slow(page: Page, name: string): Promise<void> {
  await page.route(`**/v2/media/${LIBRARY}`, async (route) => {
    if ((route.request().postDataBuffer() ?? Buffer.alloc(0)).includes(name)) await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.continue();
  });
}

test('pictures that are dropped into a text stand there in their order, and each is described', async () => {
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await slow(page, 'text-1.png');
  const id = await create('galleries', { text: 'A walk', rich: '<p>First.</p><pre>code</pre>' });
  await open(page, `/content/galleries/${id}`);
  const prose = page.locator('.prose');
  await give(prose.locator('p').first(), 'drop', three('text'));
  const pictures = prose.locator('img:not(.ProseMirror-separator)');
  await pictures.nth(2).waitFor();
  assert.deepEqual((await pictures.evaluateAll((all) => all.map((one) => /text-\d/.exec((one as HTMLImageElement).src)?.[0]))), ['text-1', 'text-2', 'text-3']);

  // With the keyboard alone: each is described, and one gets a caption.
  for (const [at, words] of ['The harbour', 'A ship', 'The sea'].entries()) {
    await page.getByRole('button', { name: 'Describe', exact: true }).press('Enter');
    await page.getByRole('dialog', { name: 'Image' }).locator(`img[src*="text-${at + 1}"]`).waitFor();
    await page.keyboard.type(words);
    if (at === 1) {
      await page.keyboard.press('Tab');
      await page.keyboard.type('Seen from the pier');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  }
  await page.getByRole('button', { name: 'Describe', exact: true }).waitFor({ state: 'detached' });
  assert.ok(await prose.evaluate((element) => element === document.activeElement), 'one goes on in the text');
  await save(page);
  const rich = String((await read('galleries', id)).attributes.rich);
  assert.deepEqual(rich.match(/alt="[^"]*"/g), ['alt="The harbour"', 'alt="A ship"', 'alt="The sea"']);
  assert.match(rich, /<figure><img[^>]*text-2\.png[^>]*><figcaption>Seen from the pier<\/figcaption><\/figure>/);

  // Beside code, in which no picture can be, and a file that is no picture.
  await give(prose.locator('pre'), 'drop', [png('beside-code.png', 30, 30, [9, 9, 9])]);
  await pictures.nth(3).waitFor();
  await give(prose.locator('p').first(), 'drop', [{ name: 'timetable.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n') }]);
  await prose.locator('a', { hasText: 'timetable.pdf' }).waitFor();
  await save(page);
  const after = String((await read('galleries', id)).attributes.rich);
  assert.match(after, /<pre>code<\/pre><p><img[^>]*beside-code\.png/);
  assert.match(after, /<a href="[^"]*\/media\/[^"]*timetable\.pdf[^"]*"[^>]*>timetable\.pdf<\/a>/);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a field that refers to files shows pictures, and takes several that are dropped or chosen with the keyboard', async () => {
  const described = await uploaded(png('gallery-described.png', 50, 50, [1, 200, 3]), { alt: 'A described picture' });
  const bare = await uploaded(png('gallery-bare.png', 50, 50, [1, 20, 203]));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await slow(page, 'gallery-1.png');
  const id = await create('galleries', { text: 'A gallery', pictures: [described.id] });
  await open(page, `/content/galleries/${id}`);
  const gallery = field(page, 'pictures');
  const rows = gallery.locator('ol > li');
  await rows.first().locator('img').waitFor();
  assert.equal(await rows.first().getByText('No alt text').count(), 0);
  // One of them is not accepted, and does not hold up the others.
  await give(gallery.locator('.target'), 'drop', [...three('gallery'), { name: 'tool.exe', mimeType: 'image/png', buffer: Buffer.from('MZ\x90\0 this is no picture', 'latin1') }]);
  await rows.nth(3).waitFor();
  await gallery.getByText('1 failed').waitFor();
  await gallery.getByRole('button', { name: 'Remove tool.exe from this list' }).click();
  await rows.nth(3).getByText('No alt text').waitFor();

  await gallery.getByRole('button', { name: 'Choose from library' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Choose files' });
  await dialog.getByRole('searchbox').waitFor();
  await page.keyboard.type('gallery');
  await dialog.getByRole('button', { name: /gallery-bare/ }).press('Enter');
  assert.equal(await dialog.getByRole('button', { name: /gallery-bare/ }).getAttribute('aria-pressed'), 'true');
  await press(page, 'Add 1 file');
  await dialog.waitFor({ state: 'detached' });
  await rows.nth(4).waitFor();
  await save(page);
  assert.deepEqual(await names((await read('galleries', id)).attributes.pictures), ['gallery-described.png', 'gallery-1.png', 'gallery-2.png', 'gallery-3.png', 'gallery-bare.png']);

  // A single one is replaced.
  const cover = field(page, 'cover');
  await cover.getByRole('button', { name: 'Choose from library' }).click();
  await page.getByRole('dialog', { name: 'Choose a file' }).getByRole('button', { name: /gallery-bare/ }).click();
  await cover.locator('ol img').waitFor();
  await save(page);
  assert.equal((await read('galleries', id)).attributes.cover, bare.id);
  await isSound(page, 'gallery');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a gallery of a page takes several pictures with their descriptions', async () => {
  const [first, second] = [await uploaded(png('page-one.png', 50, 50, [5, 200, 3]), { alt: 'One "picture"' }), await uploaded(png('page-two.png', 50, 50, [5, 20, 203]))];
  const { page, context } = await signedIn('Mia', 'editor');
  const id = await create('galleries', { text: 'A page', page: { html: '', css: '', blocks: [{ type: 'gallery' }] } });
  await open(page, `/content/galleries/${id}`);
  const builder = field(page, 'page').locator('.builder');
  await builder.getByRole('button', { name: 'Choose from library' }).click();
  const dialog = page.getByRole('dialog', { name: 'Choose pictures' });
  for (const name of ['page-two', 'page-one']) await dialog.getByRole('button', { name: new RegExp(name) }).click();
  await dialog.getByRole('button', { name: 'Add 2 files' }).click();
  await builder.getByLabel('Descriptions of the images, one a line').fill('The other\nOne "picture"');
  await save(page);
  const saved = (await read('galleries', id)).attributes.page as { html: string };
  assert.equal(saved.html, `<section class="gallery"><img src="${lasting(second)}" alt="The other"><img src="${lasting(first)}" alt="One &quot;picture&quot;"></section>`);
  await context.close();
});

test('selected files move to a folder, which may be new, and back with Undo', async () => {
  const stored = [await uploaded(png('move-a.png', 40, 40, [3, 3, 3]), { folder: 'Inbox' }), await uploaded(png('move-b.png', 40, 40, [6, 3, 3])), await uploaded(png('move-c.png', 40, 40, [9, 3, 3]), { folder: 'Kept' })];
  const folders = async (): Promise<unknown[]> => Promise.all(stored.map(async ({ id }) => (await read(LIBRARY, id)).attributes.folder));
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}?filter%5Bfile_name%5D%5Bstarts_with%5D=move-&sort=file_name`);
  await page.locator('.grid li').nth(2).waitFor();
  await page.locator('.grid a').first().focus();
  await page.keyboard.press('x');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('x');
  await press(page, 'Move to folder');
  const dialog = page.getByRole('dialog', { name: 'Move 2 files to a folder' });
  await dialog.waitFor();
  await isSound(page, 'move');
  await page.keyboard.type(' Summer ');
  await page.keyboard.press('Enter');
  await toast(page, '2 files moved to “Summer”');
  assert.deepEqual(await folders(), ['Summer', 'Summer', 'Kept']);
  await page.getByRole('group', { name: 'Folders' }).getByRole('button', { name: /^Summer\s*2$/ }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement === document.body), false, 'the focus is not lost');
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await toast(page, '2 files are back in their folders');
  assert.deepEqual(await folders(), ['Inbox', null, 'Kept']);

  await settled(page);
  for (const at of [0, 2]) await page.locator('.grid input[type=checkbox]').nth(at).check();
  await page.getByRole('button', { name: 'Move to folder' }).click();
  await page.getByRole('button', { name: 'Take out of folders' }).click();
  await toast(page, '2 files are in no folder now');
  assert.deepEqual(await folders(), [null, null, null]);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a file that is dropped where nothing takes it does not replace the dashboard', async () => {
  const { page, context } = await signedIn('Mia', 'editor');
  await open(page, '/');
  const refused = await page.locator('#screen').evaluate((element) => {
    const data = new DataTransfer();
    data.items.add(new File(['x'], 'x.txt', { type: 'text/plain' }));
    return ['dragover', 'drop'].map((name) => !element.dispatchEvent(new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true })));
  });
  assert.deepEqual(refused, [true, true]);
  await context.close();
});

test('a picture that is replaced is replaced wherever it is used, for those too who have seen the old one', async () => {
  const { page, context, troubles } = await signedIn('Mia', 'editor');
  await open(page, `/content/${LIBRARY}`);
  const stored = await uploaded(await jpeg(page, 'twice.jpg', 320, 200, '#f00'));
  // One that was written before addresses were kept without a version, and one that is chosen now.
  const id = await create('galleries', { text: 'Twice', rich: `<p><img src="${stored.attributes.url}" alt="x"></p>`, pictures: [stored.id] });
  await open(page, `/content/galleries/${id}`);
  const red = (image: Locator): Promise<boolean> => image.evaluate(async (element: HTMLImageElement) => {
    await element.decode();
    const drawing = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d')!;
    drawing.drawImage(element, element.naturalWidth / 2, element.naturalHeight / 2, 1, 1, 0, 0, 1, 1);
    return drawing.getImageData(0, 0, 1, 1).data[0]! > 200;
  });
  const shown = [page.locator('.prose img:not(.ProseMirror-separator)'), field(page, 'pictures').locator('ol img')];
  for (const image of shown) assert.equal(await red(image), true);
  const cover = field(page, 'cover');
  await cover.getByRole('button', { name: 'Choose from library' }).click();
  await page.getByRole('dialog').getByRole('button', { name: /twice/ }).click();
  await save(page);

  await open(page, `/content/${LIBRARY}/${stored.id}`);
  await page.locator('.media input[type=file]').setInputFiles(await jpeg(page, 'other.jpg', 320, 200, '#00f'));
  await page.getByRole('dialog').getByRole('button', { name: 'Replace file' }).click();
  await toast(page, 'The file was replaced');
  await open(page, `/content/galleries/${id}`);
  for (const image of [...shown, cover.locator('ol img')]) assert.equal(await red(image), false);
  // The text keeps the address that it came with, unless somebody changes the picture.
  await field(page, 'rich').getByRole('button', { name: 'HTML', exact: true }).click();
  assert.ok((await field(page, 'rich').locator('textarea').inputValue()).includes(String(stored.attributes.url)));
  assert.deepEqual(troubles, []);
  await context.close();
});
