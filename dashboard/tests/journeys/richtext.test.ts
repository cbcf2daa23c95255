// Rich text that was loaded, as articles are: lists, quotes and tables written as `<li>text</li>`, without paragraphs of their own.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { closeBrowser, create, field, makeBlueprint, open, reach, read, settled, signedIn, toast, type Person } from '../browser';
import { png, type Sent } from '../pictures';

let person: Person;

before(async () => {
  await makeBlueprint('rich-texts', {}, [['Text', 'text'], ['Rich', 'rich-text'], ['Next', 'text']]);
  person = await signedIn('Ada', 'editor');
  await open(person.page, '/content/rich-texts/new');
});

after(closeBrowser);

/** The editor is told of a moved caret a moment later. */
const told = (page: Page): Promise<void> => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))));

const prose = (page: Page): Locator => field(page, 'rich').locator('.prose');

/** Shows a text in the editor as it is read from the server. */
async function load(page: Page, html: string): Promise<void> {
  const rich = field(page, 'rich');
  await rich.locator('.prose, textarea').waitFor();
  if (await rich.locator('.prose').count()) await rich.getByRole('button', { name: 'HTML', exact: true }).click();
  await rich.locator('textarea').fill(html);
  await rich.getByRole('button', { name: 'Edit visually' }).click();
  await prose(page).waitFor();
}

/** The text as it would be saved. */
async function written(page: Page): Promise<string> {
  const rich = field(page, 'rich');
  await rich.getByRole('button', { name: 'HTML', exact: true }).click();
  return rich.locator('textarea').inputValue();
}

async function caret(page: Page, text: string, end: 'Home' | 'End' = 'End'): Promise<void> {
  await prose(page).locator('p, h2, li, blockquote, td, pre, [data-caption]', { hasText: text }).last().click();
  await told(page);
  await page.keyboard.press(end);
  await told(page);
}

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
  await told(page);
}

const button = (name: string) => async (page: Page): Promise<void> => {
  await field(page, 'rich').getByRole('button', { name, exact: true }).click();
  await told(page);
};

type Act = (page: Page) => Promise<void>;
const keys = (...all: string[]): Act => (page) => press(page, ...all);
const typed = (text: string): Act => (page) => page.keyboard.type(text);
const at = (text: string, end: 'Home' | 'End' = 'End'): Act => (page) => caret(page, text, end);

/** Clicks in the empty space below the last block. */
const clickBelow: Act = async (page) => {
  await prose(page).evaluate((element) => (element.scrollTop = element.scrollHeight));
  const box = (await prose(page).boundingBox())!;
  await page.mouse.click(box.x + 60, box.y + box.height - 12);
  await told(page);
};

async function check(name: string, html: string, acts: Act[], expected: string): Promise<void> {
  const { page } = person;
  await load(page, html);
  for (const act of acts) await act(page);
  assert.equal(await written(page), expected, name);
}

const LIST = '<p>Before</p><ul><li>one</li><li>two <a href="/x">link</a></li><li>three</li></ul>';
const NESTED = '<ul><li>one<ul><li>inner</li><li>last</li></ul></li></ul>';

const CASES: [string, string, Act[], string][] = [
  ['Enter twice ends a list', LIST, [at('three'), keys('Enter', 'Enter'), typed('After')], `${LIST}<p>After</p>`],
  ['Enter on an empty item in the middle divides the list', LIST, [at('one'), keys('Enter', 'Enter'), typed('Mid')], '<p>Before</p><ul><li>one</li></ul><p>Mid</p><ul><li>two <a href="/x">link</a></li><li>three</li></ul>'],
  ['Enter makes an item like the one before it', LIST, [at('three'), keys('Enter'), typed('four')], LIST.replace('</ul>', '<li>four</li></ul>')],
  ['Enter makes an item with a paragraph beside one', '<ul><li><p>one</p></li></ul>', [at('one'), keys('Enter'), typed('two')], '<ul><li><p>one</p></li><li><p>two</p></li></ul>'],
  ['Enter on an empty inner item goes out by one level', NESTED, [at('last'), keys('Enter', 'Enter'), typed('two')], NESTED.replace('</li></ul></li></ul>', '</li></ul></li><li>two</li></ul>')],
  ['Enter four times ends a nested list', NESTED, [at('last'), keys('Enter', 'Enter', 'Enter'), typed('After')], `${NESTED}<p>After</p>`],
  ['Shift-Tab takes an item out', LIST, [at('three'), keys('Shift+Tab'), typed('!')], '<p>Before</p><ul><li>one</li><li>two <a href="/x">link</a></li></ul><p>three!</p>'],
  ['Tab moves an item in and Shift-Tab out again', LIST, [at('three'), keys('Tab', 'Shift+Tab'), typed('!')], LIST.replace('three', 'three!')],
  ['the arrow key leaves a list', LIST, [at('three'), keys('ArrowDown'), typed('After')], `${LIST}<p>After</p>`],
  ['the arrow key leaves a nested list', NESTED, [at('last'), keys('ArrowDown'), typed('After')], `${NESTED}<p>After</p>`],
  ['the arrow key leaves a list at the beginning', '<ul><li>one</li></ul>', [at('one'), keys('ArrowUp'), typed('Top')], '<p>Top</p><ul><li>one</li></ul>'],
  ['an arrow key alone changes nothing', `${LIST}\n`, [at('three'), keys('ArrowDown')], `${LIST}\n`],
  ['a click below leaves a list', LIST, [at('one'), clickBelow, typed('After')], `${LIST}<p>After</p>`],
  ['a click below leaves a quote', '<blockquote>said</blockquote>', [clickBelow, typed('After')], '<blockquote>said</blockquote><p>After</p>'],
  ['Backspace at the beginning takes an item out', LIST, [at('three', 'Home'), keys('Backspace'), typed('>')], '<p>Before</p><ul><li>one</li><li>two <a href="/x">link</a></li></ul><p>&gt;three</p>'],
  ['Backspace twice joins an item to the one before it', LIST, [at('two', 'Home'), keys('Backspace', 'Backspace'), typed('+')], '<p>Before</p><ul><li>one+two <a href="/x">link</a></li><li>three</li></ul>'],
  ['Backspace on an empty item leaves the list', LIST, [at('three'), keys('Enter', 'Backspace'), typed('After')], `${LIST}<p>After</p>`],
  ['Backspace in the first item leaves the list', '<ul><li>one</li><li>two</li></ul>', [at('one', 'Home'), keys('Backspace'), typed('>')], '<p>&gt;one</p><ul><li>two</li></ul>'],
  ['Delete joins the next item', LIST, [at('one'), keys('Delete'), typed('+')], '<p>Before</p><ul><li>one+two <a href="/x">link</a></li><li>three</li></ul>'],
  ['the list button ends a list', LIST, [at('three'), button('Bulleted list'), typed('!')], '<p>Before</p><ul><li>one</li><li>two <a href="/x">link</a></li></ul><p>three!</p>'],
  ['the other list button changes the kind', LIST, [at('two'), button('Numbered list'), typed('!')], '<p>Before</p><ol><li>one</li><li>two <a href="/x">link</a>!</li><li>three</li></ol>'],
  ['numbers become points', '<ol start="3"><li>one</li></ol>', [at('one'), button('Bulleted list')], '<ul><li>one</li></ul>'],
  ['only the inner list changes its kind', NESTED, [at('inner'), button('Numbered list')], '<ul><li>one<ol><li>inner</li><li>last</li></ol></li></ul>'],
  ['everything becomes one list', LIST, [at('one'), keys('Control+a'), button('Numbered list')], '<ol><li>Before</li><li>one</li><li>two <a href="/x">link</a></li><li>three</li></ol>'],
  ['paragraphs become a list and paragraphs again', '<p>a</p><p>b</p>', [at('a'), keys('Control+a'), button('Bulleted list'), keys('Control+a'), button('Bulleted list')], '<p>a</p><p>b</p>'],
  ['a table is not put into a list', '<p>a</p><table><tbody><tr><td>cell</td></tr></tbody></table><p>b</p>', [at('a'), keys('Control+a'), button('Bulleted list')], '<ul><li>a</li></ul><table><tbody><tr><td>cell</td></tr></tbody></table><ul><li>b</li></ul>'],
  ['Enter twice ends a quote', '<blockquote>said</blockquote>', [at('said'), keys('Enter', 'Enter'), typed('After')], '<blockquote>said</blockquote><p>After</p>'],
  ['Enter twice ends a quote of paragraphs', '<blockquote class="note"><p>said</p></blockquote><p>x</p>', [at('said'), keys('Enter', 'Enter'), typed('After')], '<blockquote class="note"><p>said</p></blockquote><p>After</p><p>x</p>'],
  ['the arrow key leaves a quote', '<blockquote>said</blockquote>', [at('said'), keys('ArrowDown'), typed('After')], '<blockquote>said</blockquote><p>After</p>'],
  ['the quote button ends a quote', '<blockquote>said</blockquote>', [at('said'), button('Quote')], '<p>said</p>'],
  ['the quote button takes a list out of a quote', '<blockquote><ul><li>one</li></ul></blockquote>', [at('one'), button('Quote')], '<ul><li>one</li></ul>'],
  ['Backspace leaves a quote', '<blockquote>said</blockquote>', [at('said', 'Home'), keys('Backspace')], '<p>said</p>'],
  ['everything becomes a quote', '<p>a</p><ul><li>b</li></ul>', [at('a'), keys('Control+a'), button('Quote')], '<blockquote><p>a</p><ul><li>b</li></ul></blockquote>'],
  ['a list is typed', '', [at(''), typed('- one'), keys('Enter'), typed('two'), keys('Enter', 'Enter'), typed('After')], '<ul><li>one</li><li>two</li></ul><p>After</p>'],
  ['a numbered list is typed', '', [at(''), typed('3. one'), keys('Enter'), typed('two')], '<ol start="3"><li>one</li><li>two</li></ol>'],
  ['undoing gives back the text byte for byte', `${LIST}\n<p>x</p>`, [at('three'), keys('Enter'), button('Undo (Ctrl Z)')], `${LIST}\n<p>x</p>`],
];

for (const [name, html, acts, expected] of CASES) test(`loaded text: ${name}`, () => check(name, html, acts, expected));

test('a click on a relative link stays in the text', async () => {
  const { page } = person;
  await load(page, '<p>See <a href="../other/how-to">the other one</a>.</p>');
  const address = page.url();
  await prose(page).getByText('the other one').click();
  await page.keyboard.press('End');
  await page.keyboard.type('!');
  assert.equal(page.url(), address);
  assert.match(await written(page), /the other one<\/a>\.!<\/p>$/);
});

/** Real articles, if the test data is there, and one that is always there. */
function articles(): string[] {
  const own = ['<p>Terms:</p>\n<ul>\n<li>Related terms:\n<ul>\n<li><a href="/docs/Attribute">Attribute</a></li>\n<li><a href="/docs/Enumerated">Enumerated <em>attribute</em></a></li>\n</ul>\n</li>\n</ul>'];
  const file = path.join(process.env.BINDERY_TEST_DATA ?? '', 'articles-mdn.ndjson.zst');
  if (!process.env.BINDERY_TEST_DATA || !existsSync(file)) return own;
  const lines = execFileSync('zstd', ['-dc', file], { encoding: 'utf8', maxBuffer: 1 << 30 }).split('\n').filter(Boolean);
  const bodies = lines.map((line) => (JSON.parse(line) as { variants: { en?: { body?: string } } }).variants.en?.body ?? '');
  return [...own, ...bodies.filter((body) => body.length < 6000 && /<li>[^<]*<a[^]*<\/ul>\s*$/.test(body)).slice(0, 6)];
}

test('real articles: a list at the end is left by every key, and what is not touched keeps its bytes', async () => {
  const { page, troubles } = person;
  for (const [which, body] of articles().entries()) {
    const id = await create('rich-texts', { text: 'Real', rich: body });
    const stored = (await read('rich-texts', id)).attributes.rich;
    await open(page, `/content/rich-texts/${id}`);
    const items = prose(page).locator('li');
    const shape = async (): Promise<string> => `${await items.count()} ${await prose(page).innerText()}`;
    await items.last().waitFor();
    const before = await shape();
    for (const [how, leave] of [keys('Enter', 'Enter', 'Enter'), keys('ArrowDown'), clickBelow].entries()) {
      await items.last().click();
      await told(page);
      await press(page, 'Control+End');
      await leave(page);
      await page.keyboard.type('Left.');
      const last = prose(page).locator('.chunk').last().locator('> :last-child');
      assert.equal(await last.innerText(), 'Left.', `article ${which}, way ${how}`);
      assert.equal(await last.evaluate((element) => element.tagName), 'P', `article ${which}, way ${how}`);
      // Not further back than to the start, where the browser's own undoing would begin.
      for (let step = 0; step < 8 && (await shape()) !== before; step += 1) await press(page, 'Control+z');
      assert.equal(await shape(), before, `article ${which}, way ${how}`);
    }
    await field(page, 'next').getByRole('textbox').fill('Changed');
    await page.keyboard.press('Control+s');
    await toast(page, 'Saved');
    assert.equal((await read('rich-texts', id)).attributes.rich, stored, `article ${which}`);
  }
  assert.deepEqual(troubles, []);
});

/** What people and other programs write, as the server stores it. */
const STORED: [string, string][] = [
  ['marks in any order', '<p><strong><code>a</code></strong> and <code><strong>b</strong></code>, <em><a href="/x" rel="noopener noreferrer"><b>c</b></a></em></p>'],
  ['a link without an address', '<p>See <a rel="noopener noreferrer">xref:System.String</a>.</p>\n<ul>\n<li><a class="x" rel="noopener noreferrer">one</a></li>\n</ul>'],
  ['a caption', '<table class="standard-table">\n<caption class="c">Required <b>codecs</b></caption>\n<thead>\n<tr>\n<th>Name</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>VP8</td>\n</tr>\n</tbody>\n</table>'],
  ['columns and attributes of sections', '<table><colgroup><col span="2" class="wide"></colgroup><thead class="dark"><tr><th>a</th><th>b</th></tr></thead><tbody class="t"><tr><td>c</td><td>d</td></tr></tbody></table>'],
  ['an image between blocks', '<h2>Title</h2>\n<img src="/a.png" alt="A &gt; B &amp; C">\n<p>Text</p>'],
  ['text without a paragraph', 'Some text, <b>bold</b>\nand more.'],
  ['text beside paragraphs', '<ul><li>one<p>two</p></li></ul><div>three<p>four</p>five</div><table><tbody><tr><td>six<p>seven</p></td></tr></tbody></table>'],
  ['white space and entities', '<p>a  b&nbsp;c\n  d &lt; &amp;amp;</p>\n\n\n<p>&nbsp;</p>\n<p></p>\n<pre><code class="language-c">\n  int\n\n\ta;\n</code></pre>'],
  ['ruby and breaks', '<p><ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp></ruby><br class="x">a<wbr>b</p>'],
  ['items with paragraphs', '<ol start="3" type="a">\n<li value="4">\n<p>one</p>\n<p>two</p>\n</li>\n<li>three\n<ul>\n<li>four</li>\n</ul>\n</li>\n</ol>'],
  ['boxes', '<details open=""><summary>More</summary>\n<p>Text</p>\n</details><figure class="wide"><img src="/a.png" alt=""><figcaption>An <em>image</em></figcaption></figure><dl><dt>a</dt><dd>b</dd></dl>'],
  ['what the editor cannot hold', '<div class="note"><p>Text</p><table><tbody><tr><td>a</td></tr></tbody><tbody><tr><td>b</td></tr></tbody></table></div><ul><ul><li>in</li></ul></ul>'],
];

for (const [name, html] of STORED) {
  test(`stored text is edited visually, and only what is touched is written: ${name}`, async () => {
    const { page, troubles } = person;
    const id = await create('rich-texts', { text: name, rich: `<p>First</p>\n${html}\n<p>Last</p>` });
    const stored = String((await read('rich-texts', id)).attributes.rich);
    assert.equal(stored, `<p>First</p>\n${html}\n<p>Last</p>`, 'the server stores it as it is');
    await open(page, `/content/rich-texts/${id}`);
    await prose(page).waitFor();
    for (const word of ['First', 'Last']) {
      await caret(page, word);
      await page.keyboard.type(' word');
    }
    await page.keyboard.press('Control+s');
    await toast(page, 'Saved');
    assert.equal((await read('rich-texts', id)).attributes.rich, stored.replace('First', 'First word').replace('Last', 'Last word'));
    assert.deepEqual(troubles, []);
  });
}

/** A change of each of these changes nothing else of its block. */
const TOUCHED: [string, string, Act[], string][] = [
  ['a caption', '<table><caption>Names</caption><tbody><tr><td>a</td></tr></tbody></table>', [at('Names'), typed('!')], '<table><caption>Names!</caption><tbody><tr><td>a</td></tr></tbody></table>'],
  ['a row of a body with a class', '<table><thead class="h"><tr><td>a</td></tr></thead><tbody class="t"><tr><td>b</td></tr></tbody></table>', [at('b'), keys('Tab'), typed('c')], '<table><thead class="h"><tr><td>a</td></tr></thead><tbody class="t"><tr><td>b</td></tr><tr><td>c</td></tr></tbody></table>'],
  ['code that ends with a line break', '<pre><code class="language-c">int a;\n</code></pre><pre>b\n</pre>', [at('int a'), typed('!'), at('b'), typed('!')], '<pre><code class="language-c">int a;!\n</code></pre><pre>b!\n</pre>'],
  ['a link without an address', '<p><a>xref</a> x</p>', [at('x'), typed('!')], '<p><a>xref</a> x!</p>'],
  ['text without a paragraph', 'Some <b>text</b>', [at('text'), typed('!')], 'Some <b>text!</b>'],
  ['text without a paragraph, and a paragraph after it', 'Some', [at('Some'), keys('Enter'), typed('More')], 'Some<p>More</p>'],
  ['text without a paragraph that is divided', 'ab', [at('ab'), keys('ArrowLeft'), keys('Enter')], '<p>a</p><p>b</p>'],
  ['a new paragraph stands on a line of its own, as the others do', '<p>a</p>\n<p>b</p>\n<p>c</p>', [at('b'), keys('Enter'), typed('new')], '<p>a</p>\n<p>b</p>\n<p>new</p>\n<p>c</p>'],
];

for (const [name, html, acts, expected] of TOUCHED) test(`touched: ${name}`, () => check(name, html, acts, expected));

test('saving keeps the cursor where it is, though the server writes links in its own way', async () => {
  const { page } = person;
  const id = await create('rich-texts', { text: 'Cursor', rich: '<p>First</p><p>Last</p>' });
  await open(page, `/content/rich-texts/${id}`);
  await caret(page, 'Last');
  await page.keyboard.type(' [x](/y) a');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  await page.keyboard.type('b');
  await page.keyboard.press('Control+s');
  const wanted = '<p>First</p><p>Last <a href="/y" rel="noopener noreferrer">x</a> ab</p>';
  for (let tries = 0; tries < 100 && (await read('rich-texts', id)).attributes.rich !== wanted; tries += 1) await page.waitForTimeout(50);
  assert.equal((await read('rich-texts', id)).attributes.rich, wanted);
});

const videoInserted: Act = async (page) => {
  await button('Video')(page);
  await page.getByLabel('Address').fill('https://www.youtube.com/watch?v=abcdef123');
  await page.getByRole('button', { name: 'Insert' }).click();
  await told(page);
};
const VIDEO = '<iframe src="https://www.youtube-nocookie.com/embed/abcdef123" allowfullscreen=""></iframe>';
const TABLE = '<table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>';

const INSERTED: [string, string, Act[], string][] = [
  ['typing after a divider stays behind it', '<p>a</p>', [at('a'), button('Divider'), typed('After')], '<p>a</p><hr><p>After</p>'],
  ['typing after a divider does not run into the next paragraph', '<p>a</p><p>b</p>', [at('a'), button('Divider'), typed('After')], '<p>a</p><hr><p>After</p><p>b</p>'],
  ['a divider in a paragraph divides it', '<p>ab</p>', [at('ab'), keys('ArrowLeft'), button('Divider'), typed('>')], '<p>a</p><hr><p>&gt;b</p>'],
  ['a divider in an empty text is its first block', '', [at(''), button('Divider'), typed('After')], '<hr><p>After</p>'],
  ['typing after a dialog that was left goes on where one was', '<p>a</p><p>b</p>', [at('b'), button('Video'), keys('Escape'), typed('c')], '<p>a</p><p>bc</p>'],
  ['typing after a video stays behind it', '<p>a</p>', [at('a'), videoInserted, typed('After')], `<p>a</p>${VIDEO}<p>After</p>`],
  ['typing on a selected video goes behind it', VIDEO, [(page) => prose(page).locator('.embed').click(), typed('After')], `${VIDEO}<p>After</p>`],
  ['a divider is typed', '<p>a</p>', [at('a'), keys('Enter'), typed('---After')], '<p>a</p><hr><p>After</p>'],
  ['a new table begins in its first cell and Tab goes on', '<p>a</p>', [at('a'), button('Table'), typed('1'), keys('Tab'), typed('2')], '<p>a</p><table><thead><tr><th>1</th><th>2</th><th></th></tr></thead><tbody><tr><td></td><td></td><td></td></tr><tr><td></td><td></td><td></td></tr></tbody></table>'],
  ['Tab in the last cell adds a row', TABLE, [at('b'), keys('Tab'), typed('c'), keys('Tab'), typed('d')], '<table><tbody><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></tbody></table>'],
];

for (const [name, html, acts, expected] of INSERTED) test(`inserted: ${name}`, () => check(name, html, acts, expected));

const CODE = '<p>a</p><pre><code class="language-c">int a;\nint b;</code></pre>';
const CELLED = '<p>x</p><table><tbody><tr><td>a</td><td>b</td></tr></tbody></table>';
const PICTURE = '<p>a</p><p><img src="/icon.svg" alt="A picture"></p>';
const MIXED = '<p>a</p><ul><li>b</li></ul><p>c</p><ol><li>d<ul><li>e</li></ul></li></ol>';

/** Selects from one text to another, as somebody does with Shift. */
const over = (from: string, to: string): Act => async (page) => {
  await caret(page, from, 'Home');
  const box = (await prose(page).getByText(to, { exact: true }).last().boundingBox())!;
  await page.keyboard.down('Shift');
  await page.mouse.click(box.x + 4, box.y + box.height / 2);
  await page.keyboard.up('Shift');
  await told(page);
};
const pictureClicked: Act = async (page) => {
  await prose(page).getByRole('img', { name: 'A picture' }).click();
  await told(page);
};

const FIGURE = '<figure class="wide"><img src="/icon.svg" alt="A picture" width="20"><figcaption>A <em>caption</em></figcaption></figure>';
const pictured = (label: string, text: string): Act => async (page) => {
  await prose(page).getByRole('img', { name: 'A picture' }).dblclick();
  await page.getByRole('dialog').getByLabel(label).fill(text);
  await page.getByRole('button', { name: 'Apply' }).click();
  await told(page);
};

/** A picture keeps what nobody changed: its size, its class, and the marks of its caption. */
const CAPTIONED: [string, string, Act[], string][] = [
  ['a picture gets a caption', PICTURE, [pictured('Caption', 'New')], '<p>a</p><figure><img src="/icon.svg" alt="A picture"><figcaption>New</figcaption></figure>'],
  ['a caption is changed', FIGURE, [pictured('Caption', 'New')], FIGURE.replace('A <em>caption</em>', 'New')],
  ['a caption is taken away', FIGURE, [pictured('Caption', '')], '<p><img src="/icon.svg" alt="A picture" width="20"></p>'],
  ['another description leaves the caption', FIGURE, [pictured('Description', 'Another')], FIGURE.replace('alt="A picture"', 'alt="Another"')],
  ['another address leaves out the size', FIGURE, [pictured('Address', '/admin/icon.svg')], FIGURE.replace('/icon.svg', '/admin/icon.svg').replace(' width="20"', '')],
  ['Enter at the end of a caption begins a paragraph behind it', FIGURE, [at('caption'), keys('Enter'), typed('After')], `${FIGURE}<p>After</p>`],
  ['Backspace at the beginning of a caption selects the picture', FIGURE, [at('caption', 'Home'), keys('Backspace', 'Backspace'), typed('x')], '<figure class="wide">x<figcaption>A <em>caption</em></figcaption></figure>'],
  ['Backspace in an empty caption takes it away', FIGURE.replace('A <em>caption</em>', 'C'), [at('C'), keys('Backspace', 'Backspace')], '<p><img src="/icon.svg" alt="A picture" width="20"></p>'],
];

for (const [name, html, acts, expected] of CAPTIONED) test(`captioned: ${name}`, () => check(name, html, acts, expected));

/** Writes as an input method does: what is composed changes with each key, until it is chosen. */
const composed = (steps: string[], chosen: string): Act => async (page) => {
  const keyboard = await page.context().newCDPSession(page);
  for (const text of steps) {
    await keyboard.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
    await told(page);
  }
  await keyboard.send('Input.insertText', { text: chosen });
  await told(page);
  await keyboard.detach();
};

const COMPOSED: [string, string, Act[], string][] = [
  ['in a paragraph', '<p>x</p>', [at('x'), composed(['に', 'にほ', 'にほん'], '日本'), typed('。')], '<p>x日本。</p>'],
  ['in an empty text', '', [at(''), composed(['か', 'かん'], '漢字')], '<p>漢字</p>'],
  ['in new items of a list, and behind it', '<ul><li>a</li></ul>', [at('a'), keys('Enter'), composed(['さ', 'さく'], '桜'), keys('Enter', 'Enter'), composed(['は', 'はな'], '花')], '<ul><li>a</li><li>桜</li></ul><p>花</p>'],
  ['in cells', TABLE, [at('a'), composed(['せ', 'せる'], 'セル'), keys('Tab'), composed(['に'], '二')], '<table><tbody><tr><td>aセル</td><td>二</td></tr></tbody></table>'],
  ['in bold text that begins with it', '<p>x</p>', [at('x'), keys('Control+b'), composed(['ふ', 'ふと'], '太'), typed('a')], '<p>x<strong>太a</strong></p>'],
  ['given up', '<p>x</p>', [at('x'), composed(['あ', 'あい', ''], ''), typed('!')], '<p>x!</p>'],
];

for (const [name, html, acts, expected] of COMPOSED) test(`composed: ${name}`, () => check(name, html, acts, expected));

test('lists and quotes from right to left are indented on the right', async () => {
  const { page } = person;
  await load(page, '<p>مرحبا</p><ul><li>عنصر</li></ul><blockquote>اقتباس</blockquote>');
  const sides = await prose(page).locator('ul, blockquote').evaluateAll((all) => all.map((one) => [parseFloat(getComputedStyle(one).paddingRight) > 0, parseFloat(getComputedStyle(one).paddingLeft)]));
  assert.deepEqual(sides, [[true, 0], [true, 0]]);
});

/** Nobody is trapped in a block, wherever it is: each has several ways out. */
const LEFT: [string, string, Act[], string][] = [
  ['Enter twice ends a list of paragraphs', '<ul><li><p>one</p></li></ul>', [at('one'), keys('Enter', 'Enter'), typed('After')], '<ul><li><p>one</p></li></ul><p>After</p>'],
  ['Enter twice ends a numbered list', '<ol><li>one</li></ol>', [at('one'), keys('Enter', 'Enter'), typed('After')], '<ol><li>one</li></ol><p>After</p>'],
  ['Enter in an only empty item ends the list', '<ul><li></li></ul>', [(page) => prose(page).locator('li').click(), keys('Enter'), typed('After')], '<p>After</p>'],
  ['Backspace at the beginning of an inner item takes it out by one level', NESTED, [at('last', 'Home'), keys('Backspace'), typed('>')], '<ul><li>one<ul><li>inner</li></ul></li><li>&gt;last</li></ul>'],
  ['Enter three times ends code', CODE, [at('int a'), keys('Control+End', 'Enter', 'Enter', 'Enter'), typed('After')], `${CODE}<p>After</p>`],
  ['Enter twice in code is an empty line', CODE, [at('int a'), keys('Control+End', 'Enter', 'Enter'), typed('c')], CODE.replace('int b;', 'int b;\n\nc')],
  ['Shift-Enter ends code', CODE, [at('int a'), keys('Control+End', 'Shift+Enter'), typed('After')], `${CODE}<p>After</p>`],
  ['the arrow key leaves code', CODE, [at('int a'), keys('Control+End', 'ArrowDown'), typed('After')], `${CODE}<p>After</p>`],
  ['the arrow key leaves code at the beginning', '<pre>int a;</pre>', [at('int a'), keys('Home', 'ArrowUp'), typed('Top')], '<p>Top</p><pre>int a;</pre>'],
  ['a click below leaves code', CODE, [clickBelow, typed('After')], `${CODE}<p>After</p>`],
  ['Backspace at the beginning of empty code makes it a paragraph', '<pre></pre>', [(page) => prose(page).locator('pre').click(), keys('Backspace'), typed('a')], '<p>a</p>'],
  ['Backspace at the beginning of code makes its lines text', CODE, [at('int a'), keys('Control+End'), keys('ArrowUp'), keys('Home'), keys('Backspace'), typed('>')], '<p>a</p><p>&gt;int a;<br>int b;</p>'],
  ['the arrow key leaves a table', CELLED, [at('b'), keys('ArrowDown'), typed('After')], `${CELLED}<p>After</p>`],
  ['the arrow key leaves a table from its first column', CELLED, [at('a'), keys('ArrowDown'), typed('After')], `${CELLED}<p>After</p>`],
  ['the arrow key leaves a table at the beginning from its last column', TABLE, [at('b'), keys('ArrowUp'), typed('Top')], `<p>Top</p>${TABLE}`],
  ['the arrow key leaves a table at the beginning', TABLE, [at('a'), keys('ArrowUp'), typed('Top')], `<p>Top</p>${TABLE}`],
  ['a click below leaves a table', CELLED, [clickBelow, typed('After')], `${CELLED}<p>After</p>`],
  ['the arrow key leaves a list in a table, and the table', '<table><tbody><tr><td><ul><li>one</li></ul></td></tr></tbody></table>', [at('one'), keys('ArrowDown', 'ArrowDown'), typed('After')], '<table><tbody><tr><td><ul><li>one</li></ul></td></tr></tbody></table><p>After</p>'],
  ['the arrow key leaves a table with a caption', '<table><caption>Names</caption><tbody><tr><td>a</td></tr></tbody></table>', [at('a'), keys('ArrowDown'), typed('After')], '<table><caption>Names</caption><tbody><tr><td>a</td></tr></tbody></table><p>After</p>'],
  ['the arrow key leaves a quote of a list', '<blockquote><ul><li>one</li></ul></blockquote>', [at('one'), keys('ArrowDown'), typed('After')], '<blockquote><ul><li>one</li></ul></blockquote><p>After</p>'],
  ['the arrow key leaves a box', '<details open=""><summary>More</summary><p>Text</p></details>', [at('Text'), keys('ArrowDown'), typed('After')], '<details open=""><summary>More</summary><p>Text</p></details><p>After</p>'],
  ['Enter behind a picture begins a paragraph', PICTURE, [pictureClicked, keys('ArrowRight', 'Enter'), typed('After')], `${PICTURE}<p>After</p>`],
  ['Enter on a selected picture begins a paragraph behind it', PICTURE, [pictureClicked, keys('Enter'), typed('After')], `${PICTURE}<p>After</p>`],
  ['the arrow key leaves a selected picture', PICTURE, [pictureClicked, keys('ArrowDown'), typed('After')], PICTURE.replace('"></p>', '">After</p>')],
  ['typing on a selected picture goes behind it', PICTURE, [pictureClicked, typed('After')], PICTURE.replace('"></p>', '">After</p>')],
  ['a click below a picture goes behind it', PICTURE, [clickBelow, typed('After')], PICTURE.replace('"></p>', '">After</p>')],
  ['the arrow key leaves a video at the end', `<p>a</p>${VIDEO}`, [at('a'), keys('ArrowDown', 'ArrowDown'), typed('After')], `<p>a</p>${VIDEO}<p>After</p>`],
  ['a click below leaves a video', `<p>a</p>${VIDEO}`, [clickBelow, typed('After')], `<p>a</p>${VIDEO}<p>After</p>`],
  ['Enter after the arrow key makes a paragraph', LIST, [at('three'), keys('ArrowDown', 'Enter'), typed('After')], `${LIST}<p>After</p>`],
  ['a click below leaves code in a short text, and Enter there makes a paragraph', CODE, [clickBelow, keys('Enter'), typed('After')], `${CODE}<p>After</p>`],
  ['the list button on several items ends the list there', '<ul><li>one</li><li>two</li><li>three</li></ul>', [over('one', 'two'), button('Bulleted list')], '<p>one</p><p>two</p><ul><li>three</li></ul>'],
  ['the list button on an inner item takes it out by one level', NESTED, [at('last'), button('Bulleted list'), typed('!')], '<ul><li>one<ul><li>inner</li></ul></li><li>last!</li></ul>'],
  ['the list button makes one list of text and lists of the kind', MIXED, [over('a', 'c'), button('Bulleted list')], '<ul><li>a</li><li>b</li><li>c</li></ul><ol><li>d<ul><li>e</li></ul></li></ol>'],
  ['the list button makes one list of text and lists of both kinds', MIXED, [at('a'), keys('Control+a'), button('Bulleted list')], '<ul><li>a</li><li>b</li><li>c</li><li>d<ul><li>e</li></ul></li></ul>'],
  ['the quote button on text and a list, twice', '<p>a</p><ul><li>b</li></ul><p>c</p>', [at('a'), keys('Control+a'), button('Quote'), keys('Control+a'), button('Quote')], '<p>a</p><ul><li>b</li></ul><p>c</p>'],
  ['a heading of a list item is text again', '<ul><li>one</li></ul>', [at('one'), keys('Control+Alt+2', 'Control+Alt+0'), typed('!')], '<ul><li><p>one!</p></li></ul>'],
  ['Backspace at the beginning of a heading makes it text', '<h2>Title</h2>', [at('Title', 'Home'), keys('Backspace'), typed('>')], '<p>&gt;Title</p>'],
];

for (const [name, html, acts, expected] of LEFT) test(`left: ${name}`, () => check(name, html, acts, expected));

test('Tab leaves the editor where no list and no table is, and after Escape everywhere', async () => {
  const { page } = person;
  const isFocused = (locator: Locator): Promise<boolean> => locator.evaluate((element) => element === document.activeElement);
  const out: [string, string, string[], boolean][] = [
    ['<p>text</p>', 'text', ['Tab'], true],
    // In a list, Tab stays also where it moves nothing.
    [LIST, 'one', ['Tab'], false],
    [LIST, 'one', ['Escape', 'Tab'], true],
    [LIST, 'two', ['Tab'], false],
    [LIST, 'two', ['Tab', 'Tab'], false],
    [LIST, 'two', ['Tab', 'Tab', 'Escape', 'Tab'], true],
    [LIST, 'two', ['Escape', 'Tab'], true],
    [LIST, 'two', ['Escape', 'ArrowRight', 'Tab'], false],
    [TABLE, 'b', ['Tab'], false],
    [TABLE, 'b', ['Escape', 'Tab'], true],
    ['<pre>code</pre>', 'code', ['Tab'], true],
    ['<blockquote>said</blockquote>', 'said', ['Tab'], true],
  ];
  for (const [html, text, pressed, leaves] of out) {
    await load(page, html);
    await caret(page, text);
    await press(page, ...pressed);
    assert.equal(await isFocused(prose(page)), !leaves, `${html} ${text} ${pressed.join(' ')}`);
    // Followed by the next field.
    if (leaves) assert.equal(await prose(page).evaluate((element) => Boolean(element.compareDocumentPosition(document.activeElement!) & Node.DOCUMENT_POSITION_FOLLOWING)), true, html);
  }
  await load(page, TABLE);
  await caret(page, 'b');
  await press(page, 'Escape', 'Shift+Tab');
  assert.equal(await isFocused(prose(page)), false, 'backwards');
});

test('what is typed after Tab in a list with one item goes into the list, and how to leave it is shown', async () => {
  const { page } = person;
  await load(page, '<ul><li>one</li></ul>');
  await caret(page, 'one');
  await page.keyboard.press('Tab', { delay: 40 });
  await page.keyboard.type(' and so on', { delay: 40 });
  const hint = field(page, 'rich').getByText('Escape and then Tab leaves the text.');
  assert.equal((await hint.boundingBox())!.height > 10, true, 'the way out is shown');
  await press(page, 'Escape', 'Tab');
  assert.equal(await field(page, 'next').getByRole('textbox').evaluate((element) => element === document.activeElement), true, 'the next input has the focus');
  assert.equal((await hint.boundingBox())!.height > 10, false);
  assert.equal(await written(page), '<ul><li>one and so on</li></ul>');
});

test('items that the browser joins by itself, before the editor is told of the caret, become one text', async () => {
  const { page } = person;
  for (const html of ['<ul><li>one</li><li>two</li></ul>', '<ol><li>one</li><li>two</li></ol>', '<ul><li>one</li><li><strong>two</strong></li></ul>']) {
    await load(page, html);
    await caret(page, 'two');
    // Both keys in one task, as a fast hand or a slow computer has them.
    await prose(page).evaluate((element) => {
      const text = document.createTreeWalker(element.querySelector('li:last-child')!, NodeFilter.SHOW_TEXT).nextNode()!;
      getSelection()!.collapse(text, 0);
      document.execCommand('delete');
    });
    await told(page);
    const stored = await written(page);
    assert.doesNotMatch(stored, /<span/, stored);
    assert.equal(stored.replace(/<[^>]*>/g, ''), 'onetwo', stored);
  }
  // An element of the stored text stays.
  await load(page, '<p>one <span>two</span></p>');
  await caret(page, 'two');
  await page.keyboard.type('!');
  assert.equal(await written(page), '<p>one <span>two!</span></p>');
});

/** Pastes as another program puts it on the clipboard: a browser's own functions would clean it first. */
const pasted = (html: string, plain = ''): Act => async (page) => {
  await prose(page).evaluate((element, [asHtml, asText]) => {
    const clipboardData = new DataTransfer();
    if (asHtml) clipboardData.setData('text/html', asHtml);
    if (asText) clipboardData.setData('text/plain', asText);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, [html, plain] as const);
  await told(page);
};
const clipboard = (name: string): string => readFileSync(path.join('tests', 'clipboards', name), 'utf8');
const linked = (address: string): Act => async (page) => {
  await press(page, 'Alt+k');
  await page.getByLabel('Address').fill(address);
  await page.getByRole('button', { name: 'Apply' }).click();
  await told(page);
};

const COPIED = '<p>You need <strong>thread</strong> and <em>patience</em>, see <a href="https://www.example.com/thread">our shop</a>.</p><ul><li>Needle<ul><li>Thin</li></ul></li><li>Thread</li></ul>';
const CELLS = '<table><tbody><tr><td>Size</td><td><strong>A5</strong></td></tr></tbody></table>';

const PASTED: [string, string, Act[], string][] = [
  ['Google Docs', '', [at(''), pasted(clipboard('google-docs.html'))], `<h2>Binding a book</h2>${COPIED}${CELLS}`],
  ['Word', '', [at(''), pasted(clipboard('word.html'))], `<h1>Binding a book</h1>${COPIED}<p>Then:</p><ol><li>Fold</li><li>Sew</li></ol>${CELLS}`],
  ['a web page', '', [at(''), pasted(clipboard('web.html'))], '<h2>Why</h2><p>Because <strong>it</strong> lasts.</p><p>See <a href="https://www.example.com/why">why</a>.</p><p><img src="https://www.example.com/a.png" alt="A book"></p>'],
  ['plain text with addresses', '', [at(''), pasted('', 'See https://example.com/a_b.\nOr write to ada@example.org, please')], '<p>See <a href="https://example.com/a_b">https://example.com/a_b</a>.</p><p>Or write to <a href="mailto:ada@example.org">ada@example.org</a>, please</p>'],
  ['lines of plain text in a list are items', LIST, [at('one'), keys('Enter'), pasted('', 'a\nb\n')], LIST.replace('<li>two', '<li>a</li><li>b</li><li>two')],
  ['whole lines end without an empty paragraph', '<p>x</p>', [at('x'), pasted('', 'a\nb\n')], '<p>xa</p><p>b</p>'],
  ['notes of Word lead nowhere', '', [at(''), pasted('<p class=MsoNormal>Text<a style="mso-footnote-id:ftn1" href="#_ftn1" name="_ftnref1" title=""><span>[1]</span></a> and <a href="#part" title="">more</a></p>')], '<p>Text[1] and <a href="#part">more</a></p>'],
  ['an address on a selection links it', '<p>word</p>', [at('word'), keys('Shift+Home'), pasted('', 'example.com/x')], '<p><a href="https://example.com/x">word</a></p>'],
  ['text on a selection replaces it', '<p>word</p>', [at('word'), keys('Shift+Home'), pasted('', 'other words')], '<p>other words</p>'],
  ['an address in the dialog gets its scheme', '<p>word</p>', [at('word'), keys('Shift+Home'), linked('example.com')], '<p><a href="https://example.com">word</a></p>'],
  ['a path in the dialog stays', '<p>word</p>', [at('word'), keys('Shift+Home'), linked('/about')], '<p><a href="/about">word</a></p>'],
  ['markdown is typed', '', [at(''), typed('a **b c** d *e* f `g` h ~~i~~ 2*3*4 snake_case_name [j](/k)!')], '<p>a <strong>b c</strong> d <em>e</em> f <code>g</code> h <s>i</s> 2*3*4 snake_case_name <a href="/k">j</a>!</p>'],
  ['an address that is typed is a link', '', [at(''), typed('See https://example.com/a, or www.example.org. x'), keys('Enter'), typed('me@example.com'), keys('Enter'), typed('x')], '<p>See <a href="https://example.com/a">https://example.com/a</a>, or <a href="https://www.example.org">www.example.org</a>. x</p><p><a href="mailto:me@example.com">me@example.com</a></p><p>x</p>'],
  ['code is left as it is typed', '<pre>x</pre>', [at('x'), typed(' **b** https://example.com ')], '<pre>x **b** https://example.com </pre>'],
];

test('pictures in pasted HTML are uploaded to their places, and those that cannot be had are counted', async () => {
  const { page } = person;
  const address = (one: Sent): string => `data:image/png;base64,${one.buffer.toString('base64')}`;
  const [first, second] = [png('a.png', 60, 40, [200, 30, 30]), png('b.png', 40, 60, [30, 30, 200])];
  await load(page, '<p>start: </p>');
  await caret(page, 'start');
  await pasted(`<p>one <img src="${address(first)}" alt="Red" width="30"> two</p><p><img src="file:///C:/image001.png"></p><ul><li>item <img src="${address(second)}"></li></ul><p><img src="file:///C:/image002.png">end</p>`)(page);
  await toast(page, '2 pictures could not be taken over. Copy them one by one.');
  await prose(page).locator('img[src]').nth(1).waitFor();
  assert.equal(await prose(page).locator('img[src]').first().evaluate(async (one: HTMLImageElement) => (await one.decode(), one.naturalWidth)), 60);
  const html = (await written(page)).replace(/src="[^"]*\/media\/[0-9a-f-]{36}\/image\.png[^"]*"/g, 'src="uploaded"');
  assert.equal(html, '<p>start:one <img src="uploaded" alt="Red" width="30"> two</p><ul><li>item <img src="uploaded" alt=""></li></ul><p>end</p>');
  assert.equal(await page.locator('.toast', { hasText: 'was uploaded to the library' }).count(), 0);
});

test('a picture that comes as a file and as HTML is uploaded once, and a paste that is undone leaves nothing', async () => {
  const { page } = person;
  const one = png('once.png', 50, 50, [30, 200, 30]);
  const base64 = one.buffer.toString('base64');
  const uploads: string[] = [];
  const count = (request: { method: () => string; url: () => string }): void => void (request.method() === 'POST' && request.url().includes('/v2/media/') && uploads.push(request.url()));
  page.on('request', count);
  await load(page, '');
  await prose(page).click();
  await prose(page).evaluate((element, bytes) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/html', `<img src="data:image/png;base64,${bytes}">`);
    clipboardData.items.add(new File([Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0))], 'once.png', { type: 'image/png' }));
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, base64);
  await prose(page).locator('img[src]').waitFor();
  assert.equal(uploads.length, 1);
  assert.match(await written(page), /^<p><img src="[^"]*once\.png[^"]*"[^>]*><\/p>$/);

  await load(page, '<p>start</p>');
  await caret(page, 'start');
  await pasted(`<p> more <img src="data:image/png;base64,${base64}"></p>`)(page);
  await prose(page).locator('img[src]').waitFor();
  // The picture arrives a moment after the text, which may be a step of its own.
  let steps = 0;
  for (; (await prose(page).innerText()).trim() !== 'start' && steps < 3; steps += 1) await press(page, 'Control+z');
  assert.equal(await prose(page).locator('img[src], .uploading').count(), 0);
  for (; steps > 0; steps -= 1) await press(page, 'Control+y');
  assert.match(await written(page), /^<p>start ?more <img src="\/media\/[^"]*" alt=""><\/p>$/);
  page.off('request', count);
});

for (const [name, html, acts, expected] of PASTED) test(`pasted or typed: ${name}`, () => check(name, html, acts, expected));

test('a table has its buttons before somebody clicks into it, and after its deletion Tab still reaches the others', async () => {
  const { page } = person;
  await load(page, `<p>Before</p><table><tbody>${['one', 'two', 'three'].map((word) => `<tr><td>${word}</td></tr>`).join('')}</tbody></table>`);
  await caret(page, 'Before');
  const cell = prose(page).locator('td', { hasText: 'two' });
  const before = (await cell.boundingBox())!.y;
  const add = field(page, 'rich').getByRole('button', { name: 'Add row' });
  assert.equal(await add.isDisabled(), true);
  await cell.dblclick({ position: { x: 20, y: 15 } });
  await told(page);
  assert.equal((await cell.boundingBox())!.y, before, 'the text stays where it is');
  assert.equal(await page.evaluate(() => getSelection()!.toString().trim()), 'two');
  const remove = field(page, 'rich').getByRole('button', { name: 'Delete table' });
  await press(page, 'Escape', 'Shift+Tab');
  await reach(page, 'Delete table', 'ArrowLeft');
  assert.equal(await remove.evaluate((one) => one === document.activeElement), true);
  await page.keyboard.press('Enter');
  await told(page);
  await page.keyboard.press('Shift+Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.closest('[role=toolbar]') !== null), true);
  assert.equal(await written(page), '<p>Before</p>');
});

test('undoing goes on behind a look at the HTML', async () => {
  const { page } = person;
  await load(page, '<p>Before</p>');
  await caret(page, 'Before');
  await page.keyboard.type(' typed');
  await written(page);
  await field(page, 'rich').getByRole('button', { name: 'Edit visually' }).click();
  await button('Undo (Ctrl Z)')(page);
  assert.equal(await written(page), '<p>Before</p>');
  // What was changed in the HTML is one step.
  await field(page, 'rich').locator('textarea').fill('<p>By hand</p>');
  await field(page, 'rich').getByRole('button', { name: 'Edit visually' }).click();
  await caret(page, 'By hand');
  await page.keyboard.type('!');
  await button('Undo (Ctrl Z)')(page);
  assert.equal(await prose(page).innerText(), 'By hand');
  await button('Undo (Ctrl Z)')(page);
  assert.equal(await written(page), '<p>Before</p>');
});

test('nothing moves when the editor of a rich text arrives', async () => {
  const texts = { empty: '', short: '<p>Short.</p>', middle: '<p>A sentence of some words, which is repeated here to fill lines.</p>'.repeat(6), long: `<ul>${'<li>An item</li>'.repeat(200)}</ul>`, table: `<table><tbody>${'<tr><td>A cell</td></tr>'.repeat(2)}</tbody></table>` };
  const EDITOR = /RichText-[^/]*\.js$/;
  for (const [name, rich] of Object.entries(texts)) {
    const id = await create('rich-texts', { text: name, rich, next: 'Below' });
    const { page, context } = await signedIn('Ada', 'editor');
    await page.addInitScript(() => {
      let moved = 0;
      const add = (list: PerformanceEntryList): void => list.forEach((entry) => (moved += (entry as unknown as { value: number }).value));
      new PerformanceObserver((list) => add(list.getEntries())).observe({ type: 'layout-shift', buffered: true });
      // How much moved since the last call.
      (window as unknown as { moved: () => number }).moved = () => {
        const sum = moved;
        moved = 0;
        return sum;
      };
    });
    // The editor comes when the rest of the screen has its place.
    let release = (): void => {};
    const placed = new Promise<void>((resolve) => (release = resolve));
    await page.route(EDITOR, (route) => placed.then(() => route.continue()));
    await open(page, `/content/rich-texts/${id}`);
    await field(page, 'rich').locator('.waiting').waitFor();
    await settled(page, EDITOR);
    await told(page);
    const moved = (): Promise<number> => page.evaluate(() => (window as unknown as { moved: () => number }).moved());
    await moved();
    release();
    await prose(page).waitFor();
    await settled(page);
    await told(page);
    assert.ok((await moved()) < 0.01, name);
    assert.equal(await prose(page).getAttribute('dir'), 'auto');
    await context.close();
  }
});
