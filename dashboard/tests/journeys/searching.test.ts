// The page about search: reports with a way to what steers a list, synonyms, rules with their preview, and the reasons of a list.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, open, press, reach, settled, signedIn, toast } from '../browser';

after(closeBrowser);

interface Entry {
  id: string;
  query?: string;
  words?: string[];
  [key: string]: unknown;
}
const steering = async (name: 'synonyms' | 'rules'): Promise<Entry[]> => (await api<{ data: Entry[] }>('GET', `/v2/search/${name}`)).body.data;

afterEach(async () => {
  for (const name of ['synonyms', 'rules'] as const) for (const one of await steering(name)) await api('DELETE', `/v2/search/${name}/${one.id}`);
});

/** The titles that a reader of the site finds. */
async function titlesOf(question: string, more = ''): Promise<string[]> {
  const answer = await api<{ data: { attributes: { title: string } }[] }>('GET', `/v2/resources/articles?q=${encodeURIComponent(question)}&filter[published]=true&per_page=20&fields=attributes.title${more}`);
  return answer.body.data.map((one) => one.attributes.title);
}

const idOf = async (slug: string): Promise<string> => (await api<{ data: Entry[] }>('GET', `/v2/resources/articles?filter[slug]=${slug}&fields=id`)).body.data[0]!.id;

/** An article of the demonstration that has nothing to do with the questions here. */
const PINNED = 'displaybind (C++ COM Attribute)';

const REPORT = [
  { question: 'graphics card', searches: 41, visitors: 23, without_results: 12, without_clicks: 9, click_rate: 48.8, mean_position: 2.4 },
  { question: 'allocator', searches: 30, visitors: 19, without_results: 0, without_clicks: 18, click_rate: 40, mean_position: 6 },
  { question: '(other)', searches: 7, visitors: 7, without_results: 7, without_clicks: 0, click_rate: 0, mean_position: null },
];

/** Answers the reports, each with its rows, and keeps what was asked. */
async function answerReports(page: Page, rows: (report: string) => unknown[]): Promise<URL[]> {
  const asked: URL[] = [];
  await page.route('**/v2/analytics/searches**', (route) => {
    const url = new URL(route.request().url());
    asked.push(url);
    return route.fulfill({ json: rows(url.pathname.split('/').slice(4).join('/')) });
  });
  return asked;
}

const preview = (page: Page): Locator => page.getByRole('region', { name: 'Preview' });
const previewed = (page: Page): Promise<string[]> => preview(page).getByRole('list', { name: 'Preview' }).getByRole('link').allInnerTexts();

async function pick(page: Page, label: string, words: string, title: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).fill(words);
  await page.getByRole('option', { name: title, exact: true }).click();
}

test('questions are listed by what became of them, and each leads to a synonym, a rule and its list', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  const asked = await answerReports(page, (report) => (report === 'without-results' ? REPORT.filter((one) => one.without_results > 0) : report === '' ? REPORT : []));
  await open(page, '/search');
  await page.getByRole('row', { name: /graphics card 41 23 12 9 48.8 % 2.4/ }).waitFor();
  assert.equal(await page.getByRole('row', { name: /Other questions/ }).getByRole('button').count(), 0);
  await page.getByRole('button', { name: 'Without results' }).click();
  await page.getByRole('row', { name: /allocator/ }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Without clicks' }).click();
  await page.getByText('Somebody clicked after every question').waitFor();
  await page.getByRole('button', { name: 'All questions' }).click();
  await page.getByLabel('Period').selectOption('Last 7 days');
  await page.getByLabel('Blueprint that was searched').selectOption('Articles');
  await settled(page);
  const last = asked.at(-1)!.searchParams;
  assert.equal((Date.parse(last.get('end')!) - Date.parse(last.get('start')!)) / 86_400_000, 6);
  assert.equal(last.get('blueprint'), 'articles');

  await page.getByRole('button', { name: 'Make a synonym for “graphics card”' }).click();
  assert.equal(await page.getByLabel('Word 1').inputValue(), 'graphics card');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Word 2', 'what is missing has the focus');
  await page.keyboard.type('gpu');
  await page.keyboard.press('Enter');
  await toast(page, 'Saved.');
  assert.deepEqual((await steering('synonyms')).map((one) => one.words), [['graphics card', 'gpu']]);

  await page.getByRole('button', { name: 'Make a rule for “allocator”' }).click();
  assert.equal(await page.getByLabel('Words', { exact: true }).inputValue(), 'allocator');
  await preview(page).getByText(/^\d+ results$/).waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.locator('.toast').getByRole('button', { name: 'Show rules' }).click();
  await page.getByRole('heading', { name: 'Rules' }).waitFor();
  const [rule] = await steering('rules');
  assert.deepEqual([rule!.query, rule!.blueprint, rule!.match], ['allocator', 'articles', 'is']);

  await page.goBack();
  await page.getByRole('link', { name: 'allocator', exact: true }).click();
  await page.getByRole('heading', { name: 'Try a question' }).waitFor();
  assert.equal(await page.getByRole('searchbox', { name: 'Question' }).inputValue(), 'allocator');
  await page.getByText(/\d+ results/).first().waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('without searches the page says how a site reports them, and a failure can be tried again', async () => {
  const { page, context } = await signedIn('Olga', 'owner');
  let fails = true;
  await page.route('**/v2/analytics/searches**', (route) => (fails ? route.abort() : route.fulfill({ json: [] })));
  await open(page, '/search/searches');
  await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
  fails = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'No searches in this period' }).waitFor();
  await page.getByText(/\/v2\/resources\/\w[\w-]*\?q=…&track=true/).waitFor();
  await page.getByText('data-search="SEARCH_ID RESOURCE_ID POSITION"').waitFor();
  assert.equal(await page.getByRole('link', { name: 'Description of the API' }).getAttribute('href'), '/docs');
  await context.close();
});

test('synonyms are written with the keyboard: what is rejected is said at its word, and a deletion is taken back', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/search/synonyms');
  await page.getByRole('heading', { name: 'No synonyms yet' }).waitFor();
  await press(page, 'New synonym');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.type('Memory Manager');
  await page.keyboard.press('Tab');
  await page.keyboard.type('mémory manager');
  await page.keyboard.press('Enter');
  const second = page.getByLabel('Word 2');
  await page.getByText('This is the same as a word before it. Case and accents do not count.').waitFor();
  assert.equal(await second.getAttribute('aria-invalid'), 'true');
  assert.equal(await page.getByLabel('Word 1').getAttribute('aria-invalid'), 'false');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Word 2');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('allocator');
  await press(page, 'Add a word');
  await page.keyboard.press('Escape');
  await page.getByText('What you typed here is not saved.').waitFor();
  await page.getByRole('button', { name: 'Keep editing' }).press('Enter');
  assert.equal((await steering('synonyms')).length, 0);
  await second.press('Enter');
  await toast(page, 'Saved.');
  assert.deepEqual((await steering('synonyms')).map((one) => one.words), [['Memory Manager', 'allocator']], 'an empty word is left out');
  await page.getByRole('row', { name: /Memory Manager↔allocator/ }).waitFor();

  await press(page, 'Edit Memory Manager, allocator');
  await reach(page, 'Word 1');
  await page.getByLabel('One way').press('Space');
  await page.getByRole('dialog').getByLabel('Language').selectOption('Deutsch');
  await page.getByLabel('Word 1').press('Enter');
  await page.getByRole('row', { name: /Memory Manager→allocator One way Deutsch/ }).waitFor();
  const [entry] = await steering('synonyms');
  assert.deepEqual([entry!.one_way, entry!.variant], [true, 'de']);

  await press(page, 'Remove Memory Manager, allocator');
  await page.getByRole('heading', { name: 'No synonyms yet' }).waitFor();
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('row', { name: /Memory Manager→allocator/ }).waitFor();
  assert.deepEqual((await steering('synonyms')).map((one) => [one.words, one.variant, one.one_way]), [[['Memory Manager', 'allocator'], 'de', true]]);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a rule is made beside its list: pinned, moved by keys and by dragging, hidden, filtered, and then it is so', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  const before = await titlesOf('allocator');
  await open(page, '/search/rules');
  await page.getByRole('button', { name: 'New rule' }).click();
  await preview(page).getByText('Type a question to see its list.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Give a question of at most 200 characters').waitFor();
  await page.getByLabel('Words', { exact: true }).fill('allocator');
  await page.getByRole('dialog').getByRole('combobox', { name: 'Blueprint', exact: true }).selectOption('Articles');
  await preview(page).getByRole('listitem').first().waitFor();
  const total = parseInt(await preview(page).getByText(/^\d+ results$/).innerText(), 10);
  assert.deepEqual(await previewed(page), before);

  await pick(page, 'Find an entry to pin', 'displaybind', PINNED);
  await pick(page, 'Find an entry to pin', 'enums', 'Enums (C++/CX)');
  await preview(page).getByText(`${total + 2} results`).waitFor();
  assert.deepEqual((await previewed(page)).slice(0, 3), [PINNED, 'Enums (C++/CX)', before[0]]);
  await page.getByRole('button', { name: 'Move Enums (C++/CX) up' }).press('Enter');
  await preview(page).getByRole('listitem').first().getByText('Enums (C++/CX)').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Move Enums (C++/CX) down', 'the focus goes with the entry');
  const [grip, first] = [page.getByRole('list', { name: 'Pinned' }).locator('.grip').nth(1), page.getByRole('list', { name: 'Pinned' }).getByRole('listitem').first()];
  await grip.dragTo(first);
  await preview(page).getByRole('listitem').first().getByText(PINNED).waitFor();
  await page.getByLabel('Place of Enums (C++/CX)').fill('4');
  await page.getByLabel('Place of Enums (C++/CX)').press('Tab');
  await preview(page).getByRole('listitem').nth(3).getByText('Enums (C++/CX)').waitFor();

  await preview(page).getByRole('button', { name: `Hide ${before[1]}`, exact: true }).click();
  await preview(page).getByText('Left out by the rule:').waitFor();
  await preview(page).locator('s', { hasText: before[1]! }).waitFor();
  await page.getByRole('button', { name: 'Add a condition' }).click();
  await page.getByRole('group', { name: 'Only entries that match' }).getByLabel('Field').selectOption('Kind');
  await page.getByRole('group', { name: 'Only entries that match' }).getByLabel('Condition', { exact: true }).selectOption('is not');
  await page.getByRole('group', { name: 'Only entries that match' }).getByLabel('Value').fill('faq');
  await settled(page);
  await page.waitForTimeout(600);
  await settled(page);
  const expected = await previewed(page);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await toast(page, 'Saved.');
  const [rule] = await steering('rules');
  assert.deepEqual(rule!.pin, [{ id: await idOf('displaybind'), position: 1 }, { id: (rule!.pin as Entry[])[1]!.id, position: 4 }]);
  assert.equal(rule!.filter_add, 'filter[kind][ne]=faq');
  assert.deepEqual(await titlesOf('allocator'), expected, 'the list is as it was previewed');
  await page.getByRole('row', { name: /“allocator” Articles · 2 pinned · 1 hidden · a filter/ }).getByText('Active').waitFor();

  await page.getByRole('button', { name: 'Edit “allocator”' }).click();
  await page.getByRole('combobox', { name: 'Question', exact: true }).selectOption('contains');
  await page.getByRole('searchbox', { name: 'Question to preview' }).fill('an allocator class');
  await preview(page).getByText('Pinned').first().waitFor();
  await page.getByLabel('Until').fill('2020-01-01T10:00');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/^Ended /).waitFor();
  assert.deepEqual(await titlesOf('allocator'), before);
  await page.getByRole('button', { name: 'Remove “allocator”' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'No rules yet' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the preview of a rule counts the other rules, says when its rule does not hold, and keeps what was changed', async () => {
  const [pinned, other] = [await idOf('displaybind'), await idOf('allocator')];
  await api('POST', '/v2/search/rules', { query: 'compiler', match: 'contains', blueprint: 'articles', pin: [{ id: pinned, position: 2 }] });
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/search/rules');
  await page.getByRole('button', { name: 'New rule' }).click();
  await page.getByLabel('Words', { exact: true }).fill('compiler error');
  await page.getByRole('dialog').getByRole('combobox', { name: 'Blueprint', exact: true }).selectOption('Articles');
  await preview(page).getByRole('listitem').nth(1).getByText(PINNED).waitFor();
  await page.getByRole('searchbox', { name: 'Question to preview' }).fill('compiler warning');
  await preview(page).getByText('The rule does not change this question.').waitFor();
  await page.getByRole('searchbox', { name: 'Question to preview' }).fill('compiler error');
  await pick(page, 'Find an entry to pin', 'allocator', 'allocator');
  await preview(page).getByRole('listitem').nth(0).getByText('allocator', { exact: true }).waitFor();
  await preview(page).getByRole('listitem').nth(1).getByText(PINNED).waitFor();
  const expected = await previewed(page);
  await page.goBack();
  await page.getByText('What you typed here is not saved.').waitFor();
  await page.getByRole('button', { name: 'Keep editing' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await toast(page, 'Saved.');
  assert.deepEqual(await titlesOf('compiler error'), expected);
  assert.deepEqual((await steering('rules'))[1]!.pin, [{ id: other, position: 1 }]);

  // The saved rule does not count in the preview of its changes.
  await page.getByRole('button', { name: 'Edit “compiler error”' }).click();
  await preview(page).getByRole('listitem').nth(0).getByText('allocator', { exact: true }).waitFor();
  await page.getByRole('list', { name: 'Pinned' }).getByRole('button', { name: 'Remove allocator' }).click();
  await preview(page).getByRole('listitem').nth(0).getByText('allocator', { exact: true }).waitFor({ state: 'detached' });
  await preview(page).getByRole('listitem').nth(1).getByText(PINNED).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('each result says how its words were found, which rule put it there, and what puts it below the one before', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  const row = (title: string): Locator => page.getByRole('list', { name: 'Results' }).getByRole('listitem').filter({ has: page.getByRole('link', { name: title, exact: true }) });
  const ask = async (question: string): Promise<void> => {
    await page.getByRole('searchbox', { name: 'Question' }).fill(question);
    await settled(page);
    await page.waitForTimeout(500);
    await settled(page);
  };
  await open(page, '/search/try');
  await page.getByRole('searchbox', { name: 'Question' }).waitFor();
  await page.getByLabel('Blueprint').selectOption('Articles');
  await ask('memory alocator');
  await row('allocator').getByText(/memory as it stands \(Body\)/).waitFor();
  await row('allocator').getByText(/alocator one typo: allocator/).waitFor();
  await row('allocator<void> Class').getByText('memory is missing').waitFor();
  await page.getByText(/below \d+: lacks more words/).first().waitFor();
  await page.getByText(/others lack “memory” and “alocator”/).waitFor();

  await ask('compilers ');
  await row('Compiler Error C2004').getByText(/compilers another form: Compiler, compile \(Title, Summary, Body\)/).waitFor();
  await ask('int32 ');
  await row('Enums (C++/CX)').getByText(/int32 as it stands/).waitFor();
  await ask('displayb');
  await row(PINNED).getByText(/displayb the beginning of displaybind/i).waitFor();

  await api('POST', '/v2/search/synonyms', { words: ['memory manager', 'allocator'] });
  await api('POST', '/v2/search/rules', { query: 'memory manager', pin: [{ id: await idOf('displaybind'), position: 1 }] });
  await ask('memory manager ');
  await row(PINNED).getByText('Pinned by “memory manager”').waitFor();
  await row('allocator').getByText(/manager synonym: allocator/).waitFor();
  await page.getByRole('button', { name: 'Edit “memory manager”' }).click();
  await page.getByRole('dialog').getByLabel(`Place of ${PINNED}`).waitFor();
  await page.keyboard.press('Escape');

  await page.getByLabel('Language').selectOption('Deutsch');
  assert.match(page.url(), /variant=de/);
  await ask('speichr ');
  await page.getByText(/speichr one typo: /i).first().waitFor();
  await page.reload();
  assert.equal(await page.getByRole('searchbox', { name: 'Question' }).inputValue(), 'speichr ');
  await ask('zzzzzz');
  await page.getByText('Nothing matches').waitFor();
  assert.equal(await page.getByRole('list', { name: 'Results' }).count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a viewer reads the reports and tries questions, and is offered nothing that would be refused; an author sees no such page', async () => {
  const viewer = await signedIn('Vera', 'viewer');
  await answerReports(viewer.page, () => REPORT);
  const refused: string[] = [];
  viewer.page.on('response', (response) => void (response.status() === 403 && refused.push(response.url())));
  await open(viewer.page, '/');
  await viewer.page.getByRole('link', { name: 'Search', exact: true }).click();
  await viewer.page.getByRole('row', { name: /graphics card/ }).waitFor();
  assert.equal(await viewer.page.getByRole('button', { name: /Make a/ }).count(), 0);
  assert.deepEqual(await viewer.page.getByRole('navigation', { name: 'Search' }).getByRole('link').allInnerTexts(), ['What people search for', 'Try a question']);
  await viewer.page.getByRole('link', { name: 'allocator', exact: true }).click();
  await viewer.page.getByText(/\d+ results/).first().waitFor();
  await viewer.page.goto('/admin/search/rules');
  await viewer.page.getByRole('row', { name: /graphics card/ }).waitFor();
  await settled(viewer.page);
  assert.deepEqual(refused, []);
  assert.deepEqual(viewer.troubles, []);
  await viewer.context.close();

  const author = await signedIn('Arno', 'author');
  await open(author.page, '/search');
  await author.page.getByRole('heading', { name: 'Nothing here' }).waitFor();
  assert.equal(await author.page.getByRole('link', { name: 'Search', exact: true }).count(), 0);
  await author.context.close();
});
