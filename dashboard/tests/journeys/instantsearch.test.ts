// The search client for InstantSearch: its answers are those of the API, and the page of docs/search.md works in a browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { build } from 'vite';
import { api, closeBrowser, openBrowser, TOKEN, URL_BASE } from '../browser';

const FOLDER = path.resolve('tests/.built/instantsearch');
const SITE = `${URL_BASE}/a-site/`;

interface Result {
  hits: { objectID: string; title: string; _highlightResult: Record<string, { value: string; matchLevel: string }> }[];
  nbHits: number; nbPages: number; page: number; hitsPerPage: number; query: string; queryID?: string;
  facets: Record<string, Record<string, number>>;
  facets_stats: Record<string, { min: number; max: number; avg: number; sum: number }>;
}
interface Listed {
  data: { id: string; attributes: Record<string, unknown> }[];
  meta: { total: number; last_page: number; facets: Record<string, { values: { value: unknown; count: number }[] }>; stats: Record<string, { min: number; max: number }> };
}
interface Request { indexName: string; params: Record<string, unknown> }
interface SearchClient {
  search(requests: Request[]): Promise<{ results: Result[] }>;
  searchForFacetValues(requests: Request[]): Promise<{ facetHits: { value: string; highlighted: string; count: number }[]; exhaustiveFacetsCount: boolean }[]>;
}
interface Generated {
  Client: new (url: string, token: string, fetcher?: typeof fetch) => object;
  searchClient(client: object, options?: object): SearchClient;
}

let generated: Generated;
/** The addresses that the client asked for. */
let asked: string[] = [];

/** A block of code of the documentation. */
function block(language: string): string {
  const text = readFileSync(path.resolve('../docs/search.md'), 'utf8').split('## InstantSearch')[1]!;
  return text.split(`\`\`\`${language}\n`)[1]!.split('\n```')[0]!;
}

test('the option `track` counts searches with hits, and nothing else', async () => {
  const tracking = client({ track: true });
  const facet = { analytics: false, clickAnalytics: false, hitsPerPage: 0, page: 0, facets: 'kind' };
  const { results } = await tracking.search([
    { indexName: 'articles', params: { query: 'compiler', facets: ['kind'], facetFilters: [['kind:faq']] } },
    { indexName: 'articles', params: { query: 'compiler', ...facet } },
    { indexName: 'articles', params: { query: '' } },
  ]);
  await tracking.searchForFacetValues([{ indexName: 'articles', params: { query: 'compiler', facetName: 'kind', facetQuery: 'f' } }]);
  assert.deepEqual(asked.map((address) => address.includes('track=true')).filter((isTracked) => isTracked), [true]);
  assert.ok(asked[0]!.includes('q=compiler') && asked[0]!.includes('track=true'), asked[0]);
  // The counts of the second request come with the list of the first one.
  assert.deepEqual(results.map((result) => typeof result.queryID), ['string', 'string', 'undefined']);
});

before(async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  const types = execFileSync(process.env.BINDERY_BINARY ?? '', ['types', 'typescript', '--url', URL_BASE, '--token', TOKEN], { maxBuffer: 64 << 20 });
  writeFileSync(path.join(FOLDER, 'bindery.ts'), types);
  await build({ configFile: false, logLevel: 'error', root: FOLDER, build: { ssr: 'bindery.ts', outDir: 'module', rollupOptions: { output: { entryFileNames: 'bindery.mjs' } } } });
  generated = (await import(pathToFileURL(path.join(FOLDER, 'module', 'bindery.mjs')).href)) as Generated;
});
after(closeBrowser);

function client(options: object = {}): SearchClient {
  asked = [];
  const fetcher: typeof fetch = (input, init) => {
    asked.push(decodeURIComponent(String(input)));
    return fetch(input, init);
  };
  return generated.searchClient(new generated.Client(URL_BASE, TOKEN, fetcher), options);
}

const one = async (params: Record<string, unknown>, indexName = 'articles', options: object = {}): Promise<Result> =>
  (await client(options).search([{ indexName, params }])).results[0]!;
const listed = async (query: string): Promise<Listed> => (await api<Listed>('GET', `/v2/resources/articles?${query}`)).body;

const MOMENT = Date.UTC(2016, 10, 4);
/** Parameters of InstantSearch, and the filters that mean the same. */
const SAME: [name: string, params: Record<string, unknown>, filters: string][] = [
  ['nothing', {}, ''],
  ['a blank query', { query: ' ' }, ''],
  ['words', { query: 'compiler warning' }, 'q=compiler warning'],
  ['a facet', { facetFilters: ['kind:how-to'] }, 'filter[kind]=how-to'],
  ['a facet as a text', { facetFilters: 'kind:how-to' }, 'filter[kind]=how-to'],
  ['alternatives', { facetFilters: [['kind:how-to', 'kind:faq']] }, 'filter[kind][in]=how-to,faq'],
  ['an excluded value', { facetFilters: ['kind:-how-to'] }, 'filter[kind][ne]=how-to'],
  ['a value that begins with a minus', { facetFilters: ['kind:\\-how-to'] }, 'filter[kind]=-how-to'],
  ['alternatives with an excluded one', { facetFilters: [['kind:-article', 'tags:Clipboard']] }, 'filter[$or][0][kind][ne]=article&filter[$or][1][tags][has]=Clipboard'],
  ['two tags', { facetFilters: ['tags:NOP (no operation instruction)', 'tags:ALIGN directive'] }, 'filter[tags][has_all]=NOP (no operation instruction),ALIGN directive'],
  ['one of two tags', { facetFilters: [['tags:Clipboard', 'tags:ALIGN directive']] }, 'filter[tags][has_any]=Clipboard,ALIGN directive'],
  ['not a tag', { facetFilters: ['tags:-Clipboard'] }, 'filter[tags][has_none]=Clipboard'],
  ['a tag with a comma', { facetFilters: [['tags:tab controls [MFC], adding tabs', 'tags:Clipboard']] }, 'filter[tags][has_any]=tab controls [MFC]\\, adding tabs,Clipboard'],
  ['bounds', { numericFilters: ['reading_minutes>=0.4', 'reading_minutes<0.8'] }, 'filter[reading_minutes][gte]=0.4&filter[reading_minutes][lt]=0.8'],
  ['a range', { numericFilters: 'reading_minutes:0.4 TO 0.8' }, 'filter[reading_minutes][between]=0.4,0.8'],
  ['numbers as alternatives', { numericFilters: [['reading_minutes=0.4', 'reading_minutes>1']] }, 'filter[$or][0][reading_minutes]=0.4&filter[$or][1][reading_minutes][gt]=1'],
  ['a year', { facetFilters: ['published_at.year:2018'] }, 'filter[published_at][gte]=2018-01-01&filter[published_at][lte]=2018-12-31'],
  ['a month of a date', { facetFilters: ['reviewed_on.month:2016-11'] }, 'filter[reviewed_on][gte]=2016-11-01&filter[reviewed_on][lte]=2016-11-30'],
  ['a moment', { numericFilters: [`published_at>=${MOMENT}`] }, 'filter[published_at][between]=2016-11-04,9999-12-31'],
  ['before a moment', { numericFilters: [`published_at<${MOMENT}`] }, 'filter[published_at][lt]=2016-11-04'],
  ['days', { numericFilters: [`reviewed_on:${MOMENT} TO ${MOMENT + 86_400_000}`] }, 'filter[reviewed_on][between]=2016-11-04,2016-11-05'],
  ['a filter', { filters: 'kind:how-to' }, 'filter[kind]=how-to'],
  ['OR before AND', { filters: 'kind:how-to OR kind:faq AND reading_minutes < 0.5' }, 'filter[kind][in]=how-to,faq&filter[reading_minutes][lt]=0.5'],
  ['parentheses', { filters: '(kind:how-to AND reading_minutes < 0.5) OR kind:"faq"' }, 'filter[$or][0][kind]=how-to&filter[$or][0][reading_minutes][lt]=0.5&filter[$or][1][kind]=faq'],
  ['NOT', { filters: 'NOT kind:article AND NOT tags:Clipboard' }, 'filter[kind][ne]=article&filter[tags][has_none]=Clipboard'],
  ['NOT of a group', { filters: 'NOT (kind:article AND reading_minutes:0 TO 0.5)' }, 'filter[$not][kind]=article&filter[$not][reading_minutes][between]=0,0.5'],
  ['quotes', { filters: "tags:'tab controls [MFC], adding tabs'" }, 'filter[tags][has]=tab controls [MFC], adding tabs'],
  ['a relation', { filters: 'author.name:"C++ language documentation"' }, 'filter[author.name]=C%2B%2B language documentation'],
  ['all at once', { query: 'class', facetFilters: [['kind:article', 'kind:how-to'], 'kind:-how-to'], numericFilters: ['reading_minutes>=0.4'], filters: 'NOT tags:Clipboard' },
    'q=class&filter[kind]=article&filter[reading_minutes][gte]=0.4&filter[tags][has_none]=Clipboard'],
];

test('the client finds what the filters of the API find, in their order', async () => {
  const everything = (await listed('per_page=1')).meta.total;
  for (const [name, params, filters] of SAME) {
    const expected = await listed(`per_page=20&fields=id&${encodeURI(filters).replace(/%25/g, '%')}`);
    const answer = await one(params);
    assert.equal(answer.nbHits, expected.meta.total, name);
    assert.deepEqual(answer.hits.map((hit) => hit.objectID), expected.data.map(({ id }) => id), name);
    assert.equal(answer.nbPages, expected.meta.total === 0 ? 0 : expected.meta.last_page, name);
    // A case that finds everything or nothing would also pass if its filter were ignored or broken.
    if (/filter|\w/.test(filters) && !name.startsWith('a value that begins')) assert.ok(answer.nbHits > 0 && answer.nbHits < everything, `${name} finds ${answer.nbHits}`);
  }
});

test('the index name chooses the variant and the order, and pages begin with 0', async () => {
  const [german, sorted, third] = (await client().search([
    { indexName: 'articles:de', params: { filters: 'title:Zuweisung' } },
    { indexName: 'articles:en/-reading_minutes,title', params: { hitsPerPage: 3 } },
    { indexName: 'articles/title', params: { hitsPerPage: 5, page: 2, attributesToRetrieve: ['title'] } },
  ])).results;
  assert.equal(german!.hits[0]!.title, 'Zuweisung');
  assert.deepEqual(sorted!.hits.map(({ objectID }) => objectID), (await listed('sort=-reading_minutes,title&per_page=3')).data.map(({ id }) => id));
  const page = await listed('sort=title&per_page=5&page=3');
  assert.deepEqual(third!.hits.map(({ title }) => title), page.data.map(({ attributes }) => attributes.title));
  assert.deepEqual([third!.page, third!.hitsPerPage], [2, 5]);
  assert.deepEqual(Object.keys(third!.hits[0]!).sort(), ['_highlightResult', '_snippetResult', 'objectID', 'title']);
  assert.equal((await one({}, 'articles', { filter: { kind: 'faq' } })).nbHits, (await listed('filter[kind]=faq')).meta.total, 'options are added');
});

test('facets, statistics and values that contain a text are those of the API', async () => {
  const { facets, facets_stats } = await one({ query: 'class', facets: ['kind', 'reading_minutes', 'published_at.year', 'reviewed_on'], maxValuesPerFacet: 3 });
  const { meta } = await listed('q=class&facets=kind:3,published_at:year&stats=reading_minutes');
  const counts = (key: string) => Object.fromEntries(meta.facets[key]!.values.map(({ value, count }) => [String(value), count]));
  assert.deepEqual(facets.kind, counts('kind:3'));
  assert.deepEqual(facets['published_at.year'], counts('published_at:year'));
  assert.deepEqual([facets_stats.reading_minutes!.min, facets_stats.reading_minutes!.max], [meta.stats.reading_minutes!.min, meta.stats.reading_minutes!.max]);
  const all = await one({ facets: ['*'] });
  assert.deepEqual(Object.keys(all.facets), ['author', 'tags', 'kind', 'reading_minutes']);

  const params = { facetName: 'tags', facetQuery: 'CLIP', maxFacetHits: 5, highlightPreTag: '__ais-highlight__', highlightPostTag: '__/ais-highlight__', filters: 'NOT kind:how-to' };
  const [values] = await client().searchForFacetValues([{ indexName: 'articles', params }]);
  assert.equal(asked.length, 1);
  const exact = (await listed('facets=tags:1000&filter[kind][ne]=how-to')).meta.facets['tags:1000']!.values.filter(({ value }) => /clip/i.test(String(value)));
  assert.ok(exact.length > 1);
  assert.deepEqual(values!.facetHits.map(({ value, count }) => ({ value, count })), exact.slice(0, 5));
  assert.match(values!.facetHits[0]!.highlighted, /__ais-highlight__clip__\/ais-highlight__/i);
});

test('more facets than one request may have are asked for in parallel', async () => {
  const fields = Array.from({ length: 23 }, (_, number) => ({ name: `Number ${number}`, slug: `n${number}`, type: 'number' }));
  await api('POST', '/v2/blueprints', { name: 'Wide', slug: 'wide', fields });
  await api('POST', '/v2/resources/wide', { attributes: Object.fromEntries(fields.map(({ slug }, number) => [slug, number])) });
  const types = execFileSync(process.env.BINDERY_BINARY ?? '', ['types', 'typescript', '--url', URL_BASE, '--token', TOKEN], { maxBuffer: 64 << 20 });
  writeFileSync(path.join(FOLDER, 'wide.ts'), types);
  await build({ configFile: false, logLevel: 'error', root: FOLDER, build: { ssr: 'wide.ts', outDir: 'wide', rollupOptions: { output: { entryFileNames: 'wide.mjs' } } } });
  const { Client, searchClient } = (await import(pathToFileURL(path.join(FOLDER, 'wide', 'wide.mjs')).href)) as Generated;
  const { results } = await searchClient(new Client(URL_BASE, TOKEN)).search([{ indexName: 'wide', params: { facets: ['*'] } }]);
  for (let number = 0; number < 23; number += 1) {
    assert.deepEqual(results[0]!.facets[`n${number}`], { [number]: 1 });
    assert.equal(results[0]!.facets_stats[`n${number}`]!.max, number);
  }
});

test('disjunctive facets need no request of their own, and are counted as if they had one', async () => {
  // The requests of the helper for two facets with chosen values, and one without.
  const base = { query: 'class', maxValuesPerFacet: 50 };
  const own = { ...base, hitsPerPage: 0, page: 0, analytics: false, clickAnalytics: false };
  const [kinds, tags] = [['kind:how-to', 'kind:article'], ['tags:ODBC API functions [C++]', 'tags:ATL, windows']];
  const requests = [
    { indexName: 'articles', params: { ...base, facets: ['author', 'kind', 'tags'], facetFilters: [kinds, tags] } },
    { indexName: 'articles', params: { ...own, facets: 'kind', facetFilters: [tags] } },
    { indexName: 'articles', params: { ...own, facets: 'tags', facetFilters: [kinds] } },
  ];
  const together = (await client().search(requests)).results;
  assert.equal(asked.length, 1, asked.join('\n'));
  assert.ok(Object.keys(together[0]!.facets.tags!).length > 2, 'the facet has more values than those that were chosen');
  for (const [at, request] of requests.entries()) {
    const alone = (await client().search([request])).results[0]!;
    assert.equal(asked.length, 1);
    for (const facet of at === 0 ? ['author'] : Object.keys(alone.facets)) assert.deepEqual(together[at]!.facets[facet], alone.facets[facet], facet);
    if (at === 0) assert.deepEqual(together[0]!.hits, alone.hits);
  }
  // A facet whose values must all hold has no request of its own, and its counts may not change.
  const mixed = [
    { indexName: 'articles', params: { ...base, facets: ['kind', 'tags'], facetFilters: [kinds, 'tags:ODBC API functions [C++]'] } },
    { indexName: 'articles', params: { ...own, facets: 'kind', facetFilters: ['tags:ODBC API functions [C++]'] } },
  ];
  const both = (await client().search(mixed)).results;
  for (const [at, request] of mixed.entries()) assert.deepEqual(both[at]!.facets, (await client().search([request])).results[0]!.facets);
  // A range with a bound needs a request for its statistics; the facets beside it do not.
  const bound = { numericFilters: ['reading_minutes>=0.4', 'reading_minutes<=0.8'] };
  const ranged = [
    { indexName: 'articles', params: { ...base, ...bound, facets: ['kind', 'reading_minutes'], facetFilters: [kinds] } },
    { indexName: 'articles', params: { ...own, ...bound, facets: 'kind' } },
    { indexName: 'articles', params: { ...own, facets: 'reading_minutes', facetFilters: [kinds] } },
  ];
  const three = (await client().search(ranged)).results;
  assert.equal(asked.length, 2, asked.join('\n'));
  const [, kind, minutes] = await Promise.all(ranged.map(async (request) => (await generated.searchClient(new generated.Client(URL_BASE, TOKEN)).search([request])).results[0]!));
  assert.deepEqual(three[1]!.facets, kind!.facets);
  assert.deepEqual(three[2]!.facets_stats, minutes!.facets_stats);
});

test('highlights are text between the tags of InstantSearch, and stay escaped between others', async () => {
  const title = 'Xylophones <b> & "co"';
  await api('POST', '/v2/resources/articles', { attributes: { title, slug: 'xylophones' }, published_at: '2020-01-01' });
  const query = { query: 'xylophones', attributesToHighlight: ['title'] };
  const plain = await one({ ...query, highlightPreTag: '__ais-highlight__', highlightPostTag: '__/ais-highlight__' });
  assert.deepEqual(plain.hits.map((hit) => hit._highlightResult.title), [
    { value: '__ais-highlight__Xylophones__/ais-highlight__ <b> & "co"', matchLevel: 'full', matchedWords: ['xylophones'], fullyHighlighted: false },
  ]);
  assert.equal(plain.hits[0]!._highlightResult.slug!.value, 'xylophones');
  assert.equal((await one(query)).hits[0]!._highlightResult.title!.value, '<em>Xylophones</em> &lt;b&gt; &amp; &quot;co&quot;');
});

test('what has no equivalent, or is not understood, is an error that says so', async () => {
  const errors: [Record<string, unknown>, string | undefined, RegExp][] = [
    [{}, 'artikel', /there is no blueprint artikel.*articles/],
    [{ aroundLatLng: '1,2' }, undefined, /does not support the parameter aroundLatLng/],
    [{ filters: 'kind:faq AND' }, undefined, /name of an attribute expected at its end/],
    [{ filters: '(kind:faq' }, undefined, /closing parenthesis/],
    [{ filters: 'kind faq' }, undefined, /an operator .* expected at faq/],
    [{ filters: 'reading_minutes > many' }, undefined, /many in .* is not a number/],
    [{ facetFilters: ['faq'] }, undefined, /write attribute:value/],
    [{ numericFilters: ['reading_minutes'] }, undefined, /write attribute>=1/],
    [{ facetFilters: ['published_at.year:soon'] }, undefined, /soon is not a year/],
    [{ facetFilters: ['knid:faq'] }, undefined, /did you mean `kind`/],
    [{ hitsPerPage: 1000 }, undefined, /per_page/],
  ];
  for (const [params, index, message] of errors) {
    await assert.rejects(one(params, index), (error: Error) => message.test(error.message) || assert.fail(`${JSON.stringify(params)}: ${error.message}`));
  }
});

/** Builds the page of the documentation, and serves it beside the API. */
async function openPage(): Promise<{ page: Page; troubles: string[]; lists: string[] }> {
  const token = await api<{ data: { secret: string } }>('POST', '/v2/tokens', { name: 'search', abilities: ['view'], blueprints: ['articles'] });
  writeFileSync(path.join(FOLDER, 'search.ts'), block('ts'));
  writeFileSync(path.join(FOLDER, 'index.html'), block('html').replace('http://127.0.0.1:7700', URL_BASE).replace('bnd_…', token.body.data.secret));
  await build({ configFile: false, logLevel: 'error', root: FOLDER, base: '/a-site/', build: { outDir: 'site', emptyOutDir: true } });
  const page = await (await openBrowser()).newPage();
  const troubles: string[] = [];
  const lists: string[] = [];
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('console', (message) => message.type() === 'error' && !/favicon/.test(message.location().url) && troubles.push(message.text()));
  page.on('request', (request) => request.url().includes('/v2/resources/') && lists.push(decodeURIComponent(request.url())));
  const assets = readdirSync(path.join(FOLDER, 'site', 'assets'));
  await page.route(`${SITE}**`, (route) => {
    const name = assets.find((asset) => route.request().url().endsWith(asset));
    return route.fulfill({
      contentType: name === undefined ? 'text/html' : 'text/javascript',
      body: readFileSync(name === undefined ? path.join(FOLDER, 'site', 'index.html') : path.join(FOLDER, 'site', 'assets', name)),
    });
  });
  await page.goto(SITE);
  return { page, troubles, lists };
}

test('the search page of the documentation searches the articles', async () => {
  const { page, troubles, lists } = await openPage();
  const published = (await listed('filter[published]=true')).meta.total;
  const stats = page.locator('#stats');
  const found = async (): Promise<number> => Number((await stats.innerText()).replace(/,/g, '').match(/^(\d+|No)/)?.[0].replace('No', '0'));
  const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
    for (const start = Date.now(); Date.now() - start < 30_000; ) {
      if (await holds().catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.fail(`${what}: ${await page.locator('body').innerText()}`);
  };
  await until('an empty query finds everything that is published', async () => (await found()) === published);
  assert.equal(await page.locator('#hits article').count(), 10);
  assert.equal(lists.length, 1, 'one request for the first view');

  await page.locator('#box input').pressSequentially('compi');
  const begun = (await listed('q=compi&filter[published]=true')).meta.total;
  await until('each key searches', async () => (await found()) === begun);
  assert.match(await page.locator('#hits mark').first().innerText(), /^compi/i);
  assert.ok(lists.length <= 6, `one request for each key: ${lists.length}`);

  const kind = page.locator('#kind li').filter({ hasText: 'how-to' });
  await page.locator('#box input').fill('');
  await until('everything again', async () => (await found()) === published);
  await page.locator('#tags input[type=search]').fill('clip');
  await until('values of a facet are searched', async () => /clip/i.test(await page.locator('#tags li').first().innerText()));
  await page.locator('#tags input[type=search]').fill('');

  await kind.locator('input').check();
  const howTo = (await listed('filter[published]=true&filter[kind]=how-to')).meta.total;
  await until('a facet filters', async () => (await found()) === howTo);
  assert.ok(await page.locator('#kind li').count() > 1, 'other values of the facet stay');
  await page.locator('#kind li').filter({ hasText: 'reference' }).locator('input').check();
  const either = (await listed('filter[published]=true&filter[kind][in]=how-to,reference')).meta.total;
  await until('two values of a facet are alternatives', async () => (await found()) === either);
  assert.equal(Number(await page.locator('#kind li').filter({ hasText: 'how-to' }).locator('.ais-RefinementList-count').innerText()), howTo);

  const [low, high] = [page.locator('#minutes input').first(), page.locator('#minutes input').last()];
  assert.ok(Number(await high.getAttribute('max')) > 0, 'the range knows its bounds');
  await low.fill('0.4');
  await page.locator('#minutes button').click();
  const long = (await listed('filter[published]=true&filter[kind][in]=how-to,reference&filter[reading_minutes][gte]=0.4')).meta.total;
  await until('a range filters', async () => (await found()) === long);
  assert.ok(long > 0 && long < either);
  await low.fill('');
  await page.locator('#minutes button').click();
  for (const name of ['how-to', 'reference']) await page.locator('#kind li').filter({ hasText: name }).locator('input').uncheck();
  await until('nothing is chosen', async () => (await found()) === published);

  await page.locator('#pages a', { hasText: '2' }).first().click();
  const second = (await listed('filter[published]=true&per_page=10&page=2')).data.map(({ attributes }) => String(attributes.title));
  await until('the second page', async () => (await page.locator('#hits h3').first().innerText()) === second[0]);
  await page.locator('#sort select').selectOption('articles:de');
  await until('another variant', async () => lists.at(-1)!.includes('variant=de'));

  await page.locator('#box input').fill('qqqqzzzzqqqq');
  await until('nothing is found', async () => (await page.locator('#hits').innerText()).includes('No article has qqqqzzzzqqqq.'));
  assert.deepEqual(troubles, []);
  await page.close();
});
