// A long text: it is held in parts, which nobody may notice.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { closeBrowser, create, field, makeBlueprint, open, read, signedIn, toast } from '../browser';

after(closeBrowser);

const COUNT = 260;
const paragraph = (at: number): string => `<p>Paragraph ${at}.</p>`;
const TEXT = Array.from({ length: COUNT }, (_, at) => paragraph(at)).join('');

/** The first and the last paragraph of neighbouring parts. */
async function seam(page: Page): Promise<[number, number]> {
  const last = await page.locator('.prose > .chunk').nth(1).locator('> p').last().innerText();
  const at = Number(/\d+/.exec(last)![0]);
  return [at, at + 1];
}

/** The editor is told of a moved caret a moment later. */
const told = (page: Page): Promise<void> => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))));

async function caret(page: Page, place: Locator, end: 'start' | 'end'): Promise<void> {
  await place.scrollIntoViewIfNeeded();
  await place.click();
  await told(page);
  await page.keyboard.press(end === 'start' ? 'Home' : 'End');
  await told(page);
}

const shown = (page: Page, at: number): Locator => page.locator('.prose p', { hasText: `Paragraph ${at}.` }).first();

async function saved(page: Page, id: string): Promise<string> {
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  await page.locator('.toast').first().waitFor({ state: 'detached' }).catch(() => {});
  return String((await read('long-texts', id)).attributes.rich);
}

test('a long text is edited across its parts as if it had none', async () => {
  await makeBlueprint('long-texts');
  const id = await create('long-texts', { text: 'Long', rich: TEXT });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/long-texts/${id}`);
  await page.locator('.prose > .chunk').nth(3).waitFor({ state: 'attached' });
  const [before, behind] = await seam(page);

  // Backspace at the beginning of a part joins two paragraphs, undoing parts them again.
  await caret(page, shown(page, behind), 'start');
  await page.keyboard.press('Backspace');
  assert.equal(await saved(page, id), TEXT.replace(`${before}.</p><p>`, `${before}.`));
  await page.keyboard.press('Control+z');
  assert.equal(await saved(page, id), TEXT);

  // So does Delete at the end of one.
  await caret(page, shown(page, before), 'end');
  await page.keyboard.press('Delete');
  assert.equal(await saved(page, id), TEXT.replace(`${before}.</p><p>`, `${before}.`));
  await page.keyboard.press('Control+z');

  // An empty paragraph does not end a part.
  await caret(page, shown(page, before - 3), 'end');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await page.keyboard.type('New.');
  assert.equal(await saved(page, id), TEXT.replace(paragraph(before - 3), `${paragraph(before - 3)}<p></p><p>New.</p>`));
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');
  await page.keyboard.press('Control+z');

  // A list of paragraphs of both parts is one list.
  await caret(page, shown(page, before), 'start');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+End');
  await told(page);
  await field(page, 'rich').getByRole('button', { name: 'Bulleted list' }).click();
  const list = await saved(page, id);
  assert.match(list, new RegExp(`<ul><li>(<p>)?Paragraph ${before}\\.(</p>)?</li><li>(<p>)?Paragraph ${behind}\\.(</p>)?</li></ul>`));
  await page.keyboard.press('Control+z');

  // Typing over a selection of both joins them.
  await caret(page, shown(page, before), 'end');
  await page.keyboard.press('Shift+ArrowDown');
  await page.keyboard.press('Shift+End');
  await told(page);
  await page.keyboard.type('!');
  assert.equal(await saved(page, id), TEXT.replace(`${before}.</p>${paragraph(behind)}`, `${before}.!</p>`));
  await page.keyboard.press('Control+z');

  // The end is reached, and what is typed there stays at the end.
  await page.keyboard.press('Control+End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('The end.');
  await page.waitForFunction(() => {
    const box = document.getSelection()!.getRangeAt(0).getBoundingClientRect();
    return box.top > 0 && box.bottom < innerHeight;
  });
  assert.equal(await saved(page, id), `${TEXT}<p>The end.</p>`);

  // Everything can be replaced, and brought back.
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+c');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('Short.');
  assert.equal(await saved(page, id), '<p>Short.</p>');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Control+v');
  const pasted = await saved(page, id);
  assert.equal(pasted, `${TEXT}<p>The end.</p>`);
  assert.ok((await page.locator('.prose > .chunk').count()) > 3, 'what was pasted is divided');
  assert.deepEqual(troubles, []);
  await context.close();
});
