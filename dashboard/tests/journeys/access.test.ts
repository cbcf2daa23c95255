// Every screen, light and dark, in both languages: no violation of axe, no sideways scrolling on a narrow screen or at 200 %,
// everything by keyboard.
import axe from 'axe-core';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, makeBlueprint, open, openBrowser, settled, signedIn, type Person } from '../browser';

let id = '';
let rule: Record<string, unknown> = {};
before(async () => {
  await makeBlueprint('access-notes', { trash: { days: 30 }, history: { keep: 50, days: 365 }, variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }], seo: { content: 'rich', focus_keyword: null, title: 'text', description: null, slug: 'slug' } });
  const [pinned, hidden] = (await api<{ data: { id: string }[] }>('GET', '/v2/resources/articles?q=allocator&per_page=2&fields=id')).body.data.map((one) => one.id).reverse();
  rule = { id: 'a', type: 'search_rule', query: 'allocator', match: 'is', blueprint: 'articles', variant: null, filter: null, from: null, until: '2999-01-01T00:00:00Z', pin: [{ id: pinned, position: 1 }], hide: [hidden], filter_add: 'filter[kind][ne]=faq', created_at: '', updated_at: '' };
  const authors = (await api<{ data: { id: string }[] }>('GET', '/v2/resources/authors?per_page=2')).body.data.map((one) => one.id);
  id = await create('access-notes', { text: 'A note', rich: '<h2>A heading</h2><p>Text with a <a href="/x">link</a> and <code>code</code>.</p><table><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>', slug: 'a-note', choices: ['a'], tags: ['x'], one: authors[0], many: authors, price: { amount: 1, currency: 'EUR' } });
  await api('PATCH', `/v2/resources/access-notes/${id}`, { attributes: { text: 'A longer note', rich: '<h2>A heading</h2><p>Words with a <a href="/x">link</a>.</p>', number: 3 } });
  for (const text of ['Deleted', 'Also deleted']) await api('DELETE', `/v2/resources/access-notes/${await create('access-notes', { text, slug: text.toLowerCase().replace(' ', '-') })}`);
});
after(closeBrowser);

const SCREENS: [string, string, ((page: Page) => Promise<void>)?][] = [
  ['home', '/'],
  ['table', '/content/articles'],
  ['table with filters and a selection', '/content/articles?filter%5Bkind%5D%5Beq%5D=article&filter%5Breviewed_on%5D%5Bgte%5D=2010-01-01', async (page) => page.locator('tbody input[type=checkbox]').first().check()],
  ['empty search', '/content/articles?search=zzzzzzzz'],
  ['editor', '/content/access-notes/ID', async (page) => page.locator('.prose').first().waitFor()],
  ['editor with the source beside it', '/content/access-notes/ID?variant=de', async (page) => {
    const beside = page.getByRole('button', { name: /(beside it|daneben)/ });
    if ((await beside.getAttribute('aria-pressed')) !== 'true') await beside.click();
  }],
  ['new entry with errors', '/content/articles/new', async (page) => {
    await page.keyboard.press('Control+s');
    await page.locator('.fault').first().waitFor();
  }],
  ['an earlier version', '/content/access-notes/ID', async (page) => {
    await page.locator('.revision').nth(1).click();
    await page.locator('dialog ins').first().waitFor();
  }],
  ['trash', '/trash?blueprint=access-notes', async (page) => page.locator('.entry input').first().check()],
  ['empty trash', '/trash?blueprint=authors'],
  ['singular', '/content/site-settings', async (page) => page.locator('.builder').waitFor()],
  ['read-only', '/content/contact-messages'],
  ['blueprints', '/blueprints'],
  ['blueprint', '/blueprints/articles', async (page) => page.locator('.open').nth(4).click()],
  ['types of fields', '/blueprints/articles', async (page) => page.getByRole('button', { name: /^(Add a field|Feld hinzufügen)$/ }).click()],
  ['settings of a blueprint', '/blueprints/articles?tab=settings'],
  ['calls of a blueprint', '/blueprints/articles?tab=api'],
  ['traffic', '/traffic', async (page) => page.locator('.figures').first().waitFor()],
  ...['account', 'members', 'tokens', 'webhooks', 'backups', 'health'].map((name): [string, string] => [name, `/settings/${name}`]),
  ['searches', '/search'],
  ['synonyms', '/search/synonyms'],
  ['a synonym', '/search/synonyms', async (page) => {
    await page.getByRole('button', { name: /^(New synonym|Neues Synonym)$/ }).click();
    await page.keyboard.press('Enter');
    await page.locator('dialog .fault').first().waitFor();
  }],
  ['rules', '/search/rules'],
  ['a rule with its preview', '/search/rules', async (page) => {
    // The server has no such rule: it would change what other journeys find.
    await page.route('**/v2/search/rules', (route) => route.fulfill({ json: { data: [rule] } }));
    await page.route('**/v2/search/rules/preview', async (route) => {
      const response = await route.fetch({ postData: JSON.stringify({ ...route.request().postDataJSON(), id: null }) });
      await route.fulfill({ response, body: (await response.text()).replaceAll('unsaved', String(rule.id)) });
    });
    await page.reload();
    await page.locator('tbody button').first().click();
    await page.locator('dialog section .badge').first().waitFor();
  }],
  ['a question that is tried out', '/search/try?q=memory+alocator&blueprint=articles', async (page) => page.locator('.lacks').first().waitFor()],
  ['search', '/', async (page) => page.keyboard.press('Control+k')],
  ['nothing here', '/nowhere'],
];

async function violations(page: Page, only?: readonly string[]): Promise<string[]> {
  // The content security policy lets nothing be added to the page but by the debugger.
  await page.evaluate(axe.source);
  const result = await page.evaluate(async (rules) => await (window as unknown as { axe: typeof axe }).axe.run(document, { iframes: false, resultTypes: ['violations'], ...(rules ? { runOnly: { type: 'rule' as const, values: [...rules] } } : {}) }), only);
  return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
}

async function visit({ page }: Person, [, address, prepare]: (typeof SCREENS)[number]): Promise<void> {
  await page.goto(`/admin${address.replace('ID', id)}`);
  await page.locator('#screen h1, #screen h2').first().waitFor();
  await prepare?.(page);
  await settled(page);
}

/** How far each width scrolls sideways. 640 pixels are a window of 1280 at 200 %. */
async function sideways(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const width of [640, 360]) {
    await page.setViewportSize({ width, height: 740 });
    // Following the width of the window may take a moment.
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth, undefined, { timeout: 3000 }).catch(() => undefined);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) found.push(`${over} pixels wider than ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  return found;
}

// The structure is the same in both schemes, so the second time only the colours are looked at, and the widths, because German
// words are longer.
for (const [scheme, locale, only] of [['light', 'en-GB', undefined], ['dark', 'de-DE', ['color-contrast', 'link-in-text-block']]] as const) {
  test(`axe finds nothing on any screen, and none scrolls sideways (${scheme}, ${locale})`, async () => {
    const person = await signedIn('Olga', 'owner', { scheme, locale });
    const found: string[] = [];
    for (const screen of SCREENS) {
      await visit(person, screen);
      const faults = [...(await violations(person.page, only)), ...(await sideways(person.page))];
      found.push(...faults.map((one) => `${screen[0]}: ${one}`));
    }
    assert.deepEqual(found, []);
    assert.deepEqual(person.troubles, []);
    await person.context.close();
  });

  test(`axe finds nothing on the sign-in screens (${scheme}, ${locale})`, async () => {
    const context = await (await openBrowser()).newContext({ colorScheme: scheme, locale, baseURL: process.env.DASHBOARD_URL ?? '' });
    const page = await context.newPage();
    for (const address of ['/admin/', '/admin/invitation#wrong', '/admin/invitation#dashboard-tests-first-owner']) {
      await page.goto('about:blank');
      await page.goto(address);
      await page.locator('h1').waitFor();
      assert.deepEqual(await violations(page), [], address);
    }
    await context.close();
  });
}

/** What of the head of the screen begins or ends beside it, such as on the navigation. */
const outsideOf = (page: Page): Promise<string[]> =>
  page.locator('.top').evaluate((head) => {
    const { left, right } = head.getBoundingClientRect();
    const parts = [...head.querySelectorAll('h1, a, button, select')].map((part) => ({ name: part.getAttribute('aria-label') ?? part.textContent ?? '', box: part.getBoundingClientRect() }));
    return parts.filter(({ box }) => box.width > 0 && (box.left < left || box.right > right)).map(({ name }) => name);
  });

test('in German the head of an entry stays on its screen at every width, and does not grow with the first key', async () => {
  await makeBlueprint('wide-notes', { working_copy: true, record_title: 'text', variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, [['Text', 'text']]);
  const note = await create('wide-notes', { text: 'A note' }, '2020-01-01T00:00:00Z');
  await create('wide-notes', { text: 'Another' });
  const { page, context } = await signedIn('Olga', 'owner', { locale: 'de-DE', width: 1440 });
  await open(page, `/content/wide-notes/${note}?variant=de`);
  await page.locator('[data-field="text"] :is(input, textarea)').first().waitFor();
  const heights: number[][] = [];
  for (const typed of ['', 'Eine Notiz']) {
    if (typed) await page.locator('[data-field="text"] :is(input, textarea)').first().fill(typed);
    await settled(page);
    const found: number[] = [];
    for (const width of [1440, 1280, 1217, 1160, 1024, 900, 720, 660, 390]) {
      await page.setViewportSize({ width, height: 740 });
      assert.deepEqual(await outsideOf(page), [], `${width} pixels`);
      found.push((await page.locator('.top').boundingBox())!.height);
    }
    heights.push(found);
  }
  assert.deepEqual(heights[1], heights[0]);
  await context.close();
});

test('the tools of a table stand in one line on a laptop', async () => {
  for (const locale of ['en-GB', 'de-DE']) {
    const { page, context } = await signedIn('Olga', 'owner', { locale, width: 1440 });
    await open(page, '/content/articles');
    await settled(page);
    for (const width of [1600, 1440, 1280]) {
      await page.setViewportSize({ width, height: 740 });
      const { height } = (await page.locator('.toolbar').boundingBox())!;
      assert.ok(height < 60, `${height} pixels high at ${width} in ${locale}`);
    }
    await context.close();
  }
});

test('a narrow screen has its navigation behind a button', async () => {
  const { page, context } = await signedIn('Olga', 'owner', { width: 360, height: 740 });
  await open(page, '/');
  await page.getByRole('button', { name: 'Menu', exact: true }).click();
  await page.getByRole('link', { name: 'Traffic' }).click();
  await page.getByRole('heading', { name: 'Traffic' }).waitFor();
  await context.close();
});

test('an entry is written and published with the keyboard alone, and the focus is always visible', async () => {
  const { page, context } = await signedIn('Kim', 'editor');
  await open(page, '/content/authors');
  await page.locator('tbody a.title').first().waitFor();
  await page.keyboard.press('n');
  await page.getByRole('heading', { name: 'New entry in Authors' }).waitFor();
  const reach = async (what: string): Promise<void> => {
    for (let step = 0; step < 80; step += 1) {
      await page.keyboard.press('Tab');
      const seen = await page.evaluate((wanted) => {
        const element = document.activeElement as HTMLElement;
        const style = getComputedStyle(element);
        const label = element.getAttribute('aria-label') ?? document.querySelector(`label[for="${element.id}"]`)?.textContent ?? element.textContent ?? '';
        const box = element.closest('.frame, .chips, .search, .box, .icons label');
        const visible = style.outlineStyle !== 'none' || (box !== null && getComputedStyle(box).outlineStyle !== 'none') || element.classList.contains('prose');
        return { visible, found: label.trim().startsWith(wanted), html: element.outerHTML.slice(0, 120) };
      }, what);
      assert.ok(seen.visible, `the focus is visible on ${seen.html}`);
      if (seen.found) return;
    }
    assert.fail(`${what} is not reached`);
  };
  await page.waitForFunction(() => document.activeElement?.id === 'field-name');
  assert.equal(await page.locator('#field-name').inputValue(), '', 'the key that opened it is not typed');
  await page.keyboard.type('Keyboard');
  await reach('Slug');
  await page.keyboard.type(`keyboard-${Date.now()}`);
  await page.keyboard.press('Control+s');
  await page.locator('.toast', { hasText: 'Saved' }).waitFor();
  await page.evaluate(() => (document.querySelector('#screen') as HTMLElement).focus());
  await reach('Publish');
  await page.keyboard.press('Enter');
  await page.locator('.toast', { hasText: 'Published' }).waitFor();
  await context.close();
});

test('rows are moved through with the arrow keys, and a page is there before it is asked for', async () => {
  const { page, context } = await signedIn('Kim', 'editor');
  await open(page, '/content/articles');
  await page.locator('tbody a.title').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  assert.equal(await page.evaluate(() => document.activeElement === document.querySelectorAll('tbody a.title')[1]), true);
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await settled(page);
  // The next page is shown without a request being waited for: none is answered before it is there.
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route('**/v2/resources/articles**', async (route) => {
    await released;
    await route.continue().catch(() => {});
  });
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText(/^26–50 of/).waitFor();
  release();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.close();
});
