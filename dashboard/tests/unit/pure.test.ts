import './globals';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFileSync } from 'node:fs';
import { bodyOf, draftOf, newField } from '../../src/lib/blueprintDraft';
import { mergedDraft } from '../../src/lib/blueprintMerge';
import { htmlDifferences, shortened, textDifferences } from '../../src/lib/differences';
import { passagesOf } from '../../src/lib/passages';
import { faultText, faultTexts } from '../../src/lib/faults';
import { excerptOf, markedTitle, pieces } from '../../src/lib/highlight';
import { beforeOf, presentOf } from '../../src/lib/history';
import { locale } from '../../src/lib/i18n.svelte';
import { conditionsOf, dayValue, exportOf, filtersOf, formatList, isSeveral, listOf, matching, nextSort, onlyOf, operatorsOf, parseList, requestOf, usualColumns, valueFor } from '../../src/lib/list';
import { colourOf, idIn, thumbnailOf } from '../../src/lib/media';
import { compare, merged } from '../../src/lib/merge';
import { isRounded, parseNumber, plainNumber, typedNumber } from '../../src/lib/numbers';
import { changeOf, periodBefore, rangeOf } from '../../src/lib/periods';
import { belowOf } from '../../src/lib/reasons';
import { addressSlug, fieldSlug } from '../../src/lib/slug';
import { formatTime, momentOf, parseTime } from '../../src/lib/time';
import { FIELD_TYPES, type Blueprint, type Field, type Ranking, type Resource } from '../../src/lib/types';
import { allUnsaved, dropUnsaved, keepUnsaved, readUnsaved, unsavedOf } from '../../src/lib/unsaved';
import { chunks, isEmpty, same } from '../../src/lib/values';
import { folderOf } from '../../src/media/folders';
import { pageHtml } from '../../src/pages/blocks';
import de from '../../src/strings/de.json';
import en from '../../src/strings/en.json';

const field = (slug: string, type: Field['type'] = 'text'): Field => ({ name: slug, slug, type, description: null, required: false, unique: false, settings: {} });
const blueprint = { slug: 'articles', fields: [field('title'), field('body', 'rich-text'), field('tags', 'multi-enum')] } as unknown as Blueprint;

test('the address of a table is read back as it was written', () => {
  const addresses = [
    '', '?search=a+b', '?sort=-title%2Ckind&page=3', '?filter%5Btitle%5D%5Bcontains%5D=x&filter%5Bkind%5D%5Beq%5D=faq&variant=de&columns=title%2Cid&per_page=50&page=2',
    '?filter%5B%24or%5D%5B0%5D%5Bkind%5D%5Beq%5D=faq&filter%5B%24or%5D%5B1%5D%5Bauthor.name%5D%5Bcontains%5D=Ada',
  ];
  for (const address of addresses) assert.equal(formatList(parseList(address)), address);
});

test('a table of working copies says so in its address, its requests and its exports', () => {
  const state = parseList('?copy=working');
  assert.equal(formatList(state), '?copy=working');
  assert.equal(matching(state).get('copy'), 'working');
  assert.equal(matching(parseList('?copy=other')).get('copy'), null);
});

test('alternatives become groups of $or, and conditions without a value are not sent', () => {
  const list = parseList('?filter[$or][0][kind]=faq&filter[$or][1][title][contains]=');
  assert.equal(list.groups.length, 2);
  assert.equal(matching(list).get('filter[kind][eq]'), 'faq');
  assert.deepEqual([...matching(list).keys()].filter((name) => name.includes('$or')), []);
});

test('a condition acts when it is complete, and keeps what can still be meant', () => {
  for (const query of ['filter[n][between]=1', 'filter[n][between]=1,', 'filter[n][between]=,2', 'filter[n][eq]=']) assert.equal([...matching(parseList(`?${query}`)).keys()].join(), 'sort', query);
  assert.equal(matching(parseList('?filter[n][between]=1,2')).get('filter[n][between]'), '1,2');
  assert.equal(valueFor('published', null, 'eq', ''), 'true');
  assert.equal(valueFor('boolean', null, 'eq', ''), 'true');
  assert.equal(valueFor('boolean', 'null', 'eq', 'false'), 'true');
  assert.equal(valueFor('number', 'null', 'eq', 'true'), '');
  assert.equal(valueFor('number', 'eq', 'gt', '5'), '5');
  assert.equal(valueFor('number', 'eq', 'between', '5'), '5,');
  assert.equal(valueFor('number', 'between', 'lt', '5,9'), '5');
});

test('one value of a list may have commas and backslashes', () => {
  for (const [one, list] of [['a,b', 'a\\,b'], ['a\\', 'a\\\\'], ['\\,', '\\\\\\,'], ['plain', 'plain'], ['', '']] as const) {
    assert.equal(listOf(one), list);
    assert.equal(onlyOf(list), one);
    assert.ok(!isSeveral(list), list);
  }
  for (const list of ['a,b', 'a\\\\,b', ',']) assert.ok(isSeveral(list), list);
  assert.equal(valueFor('multi-enum', 'has', 'has_none', 'a,b'), 'a\\,b');
  assert.equal(valueFor('multi-enum', 'has_none', 'has', 'a\\,b'), 'a,b');
  assert.equal(valueFor('multi-enum', 'has_none', 'has_any', 'a,b'), 'a,b');
  assert.equal(onlyOf('a\\'), 'a\\', 'a backslash at the end stands for itself');
});

test('a day in a condition is the whole day, where the server compares moments', () => {
  const end = 'T23:59:59.999999Z';
  for (const [type, op, of, expected] of [
    ['datetime', 'gt', 'from', `2026-11-30${end}`], ['datetime', 'gte', 'from', '2026-11-30'], ['datetime', 'lt', 'from', '2026-11-30'], ['datetime', 'lte', 'from', `2026-11-30${end}`],
    ['datetime', 'between', 'from', '2026-11-30'], ['datetime', 'between', 'to', `2026-11-30${end}`], ['system-date', 'between', 'to', `2026-11-30${end}`],
    // The server compares the days of these.
    ['system-date', 'lte', 'from', '2026-11-30'], ['date', 'between', 'to', '2026-11-30'], ['date', 'gt', 'from', '2026-11-30'],
  ] as const) assert.equal(dayValue(type, op, '2026-11-30', of), expected, `${type} ${op} ${of}`);
  assert.equal(dayValue('datetime', 'lte', ''), '', 'no day');
  assert.equal(valueFor('datetime', 'gte', 'lte', '2026-11-30'), `2026-11-30${end}`);
  assert.equal(valueFor('datetime', 'lte', 'between', `2026-11-30${end}`), '2026-11-30,');
  assert.equal(valueFor('system-date', 'between', 'eq', `2026-11-01,2026-11-30${end}`), '2026-11-01');
  assert.ok(!operatorsOf('datetime').includes('eq'), 'no moment is a day');
});

test('an export has the chosen columns, all fields without a choice, and is harmless for spreadsheets', () => {
  const state = parseList('?search=x&filter[kind][eq]=faq&columns=tags,updated_at,id&page=3');
  const csv = new URL(exportOf(blueprint, state, ['title', 'tags', 'updated_at', 'id'], 'csv'), 'http://x').searchParams;
  assert.equal(csv.get('fields'), 'id,attributes.title,attributes.tags,updated_at');
  assert.deepEqual([csv.get('q'), csv.get('filter[kind][eq]'), csv.get('spreadsheet'), csv.get('page')], ['x', 'faq', 'true', null]);
  const all = new URL(exportOf(blueprint, parseList(''), null, 'ndjson'), 'http://x').searchParams;
  assert.deepEqual([all.has('fields'), all.has('spreadsheet')], [false, false]);
});

test('a request asks only for the columns that are shown', () => {
  const request = requestOf(blueprint, parseList('?search=x&page=2'), ['title', 'updated_at']);
  const query = new URL(request, 'http://x').searchParams;
  assert.equal(query.get('fields'), 'id,published_at,created_at,updated_at,attributes.title');
  assert.equal(query.get('page'), '2');
  assert.deepEqual(usualColumns(blueprint, 'title'), ['title', 'tags', 'updated_at']);
});

test('bad pages and sizes in the address become good ones', () => {
  for (const bad of ['?page=0', '?page=-1', '?page=x', '?page=1e999', '?per_page=0', '?per_page=100000']) {
    const list = parseList(bad);
    assert.ok(list.page >= 1 && list.perPage >= 1 && list.perPage <= 100, bad);
  }
});

test('a click on a column sorts up, down, then not', () => {
  assert.deepEqual(nextSort([], 'a', false), ['a']);
  assert.deepEqual(nextSort(['a'], 'a', false), ['-a']);
  assert.deepEqual(nextSort(['-a'], 'a', false), []);
  assert.deepEqual(nextSort(['-a'], 'b', true), ['-a', 'b']);
  assert.deepEqual(nextSort(['-a', 'b'], 'a', true), ['b']);
  // Without a choice the order is this one already: it is turned around.
  assert.deepEqual(nextSort(['-a'], 'a', false, ['-a']), ['a']);
  assert.deepEqual(nextSort(['-a'], 'b', false, ['-a']), ['b']);
  assert.deepEqual(nextSort(['-a', 'b'], 'a', true, ['-a']), ['b']);
});

test('every type has operators', () => {
  for (const type of FIELD_TYPES) assert.ok(operatorsOf(type).length > 0, type);
});

test('changes of two people are merged field by field', () => {
  const fields = ['a', 'b', 'c', 'd', 'e'].map((slug) => field(slug));
  const base = { a: 1, b: 1, c: 1, d: 1, e: 1 };
  const mine = { a: 2, b: 1, c: 2, d: 2, e: 1 };
  const theirs = { a: 1, b: 3, c: 3, d: 2, e: 1 };
  const found = compare(fields, base, mine, theirs);
  assert.deepEqual(found.map((one) => [one.field.slug, one.by, one.conflict]), [['a', 'me', false], ['b', 'them', false], ['c', 'both', true], ['d', 'both', false]]);
  assert.deepEqual(merged(found, theirs, {}), { a: 2, b: 3, c: 2, d: 2, e: 1 });
  assert.deepEqual(merged(found, theirs, { c: 'theirs' }), { a: 2, b: 3, c: 3, d: 2, e: 1 });
});

test('values are compared by what they say', () => {
  assert.ok(same({ a: [1, { b: null }], c: 'x' }, { c: 'x', a: [1, { b: null }] }));
  assert.ok(!same([1, 2], [2, 1]));
  assert.ok(!same({ a: undefined as never }, {}));
  assert.ok(!same('', null));
  assert.ok(isEmpty([]) && isEmpty('') && isEmpty(null) && !isEmpty(0) && !isEmpty(false));
  assert.deepEqual(chunks([1, 2, 3], 2), [[1, 2], [3]]);
});

test('a time keeps its parts', () => {
  for (const time of ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.123456+05:30', '2026-01-02T03:04Z']) assert.equal(formatTime(parseTime(time)), time);
  assert.deepEqual(parseTime('2026-01-02t03:04z'), { local: '2026-01-02T03:04', offset: 'Z' });
  assert.deepEqual(parseTime('2026-01-02T03:04+02'), { local: '2026-01-02T03:04', offset: '+02:00' });
  assert.equal(parseTime('tomorrow').local, '');
});

test('an input that holds no moment, or a year with a digit too many, gives none', () => {
  for (const typed of ['', '2026-02-30x', '202666-01-01T00:00', 'T23:59:59']) assert.equal(momentOf(typed), null, typed);
  assert.equal(momentOf('2026-03-04T05:06'), new Date(2026, 2, 4, 5, 6).toISOString());
});

test('slugs are made as the server makes them', () => {
  assert.equal(fieldSlug('  Crème brûlée: 2 '), 'creme_brulee_2');
  assert.equal(addressSlug('Über die Straße'), 'uber-die-strasse');
  assert.equal(fieldSlug('日本'), '');
});

test('a number is read as its locale writes it, and what could be another number is refused', () => {
  const read: Record<string, Record<string, number>> = {
    'en-GB': { '1,234': 1234, '1,234.50': 1234.5, '1234.5': 1234.5, '1.234': 1.234, '-1,234,567': -1234567, '\u22125': -5, '.5': 0.5, '3.': 3, ' 42 ': 42, '1e-7': 1e-7, '1 234': 1234, '+2': 2 },
    'de-DE': { '1.234': 1234, '1.234,50': 1234.5, '3,5': 3.5, '0,123': 0.123, '1.234.567': 1234567, '1\u00a0234,5': 1234.5, '-7': -7 },
    'de-CH': { '1’234.5': 1234.5, '1\'234.5': 1234.5, '1.5': 1.5 },
    'en-IN': { '12,34,567': 1234567, '1,234.5': 1234.5 },
  };
  for (const [tag, numbers] of Object.entries(read)) for (const [text, value] of Object.entries(numbers)) assert.equal(parseNumber(text, tag), value, `${text} in ${tag}`);
  const refused: Record<string, string[]> = {
    'en-GB': ['3,5', '1.234,5', '1,23', '0,123', '12,34,567', '1,2345', '1,234 567', '1.2.3', '1,,234', ',5', '', '-', 'many', '1e999', '0x10', '5 %', 'Infinity', '1,234e2'],
    'de-DE': ['1,234.50', '1.5', '0.123', '1.23', '1,2,3', '1.234.5', '3,5,', '1,234,567'],
  };
  for (const [tag, texts] of Object.entries(refused)) for (const text of texts) assert.equal(parseNumber(text, tag), null, `${text} in ${tag}`);
  for (const value of [0, -1.5, 1e-7, 1234567.25, 1e21]) for (const tag of Object.keys(read)) assert.equal(parseNumber(plainNumber(value, tag), tag), value, `${value} in ${tag}`);
  assert.equal(plainNumber(1234.5, 'de-DE'), '1234,5');
  assert.equal(typedNumber('3,5', 'en-GB'), '3,5');
});

test('a number that does not keep every digit is known', () => {
  const kept = ['0', '-0.00', '0.30', '1.50', '.5', '3.', '1,234.50', '1e21', '1E-7', '9007199254740991', '-1234567890.123', '100000000000000000000', '0.30000000000000004'];
  for (const text of kept) assert.equal(isRounded(text, 'en-GB'), false, text);
  for (const text of ['12345678901234567890.123', '9007199254740993', '-0.1234567890123456789', '1e-999']) assert.equal(isRounded(text, 'en-GB'), true, text);
  assert.equal(isRounded('many', 'en-GB'), false);
  assert.equal(isRounded('12.345,60', 'de-DE'), false);
});

test('unsaved work is kept for each member, copy and tab, and damaged entries are passed over', async () => {
  const place = { member: 1, blueprint: 'articles', id: 'x', variant: 'de', tab: 'a' };
  const work = { changes: { title: 'A' }, base: { title: null }, etag: null, title: 'A', at: 2 };
  assert.ok(keepUnsaved(place, work));
  assert.ok(keepUnsaved({ ...place, tab: 'b' }, { ...work, changes: { title: 'B' }, at: 3 }));
  localStorage.setItem('bindery.unsaved.1/articles/y/', '{');
  assert.equal(readUnsaved({ ...place, id: 'y', variant: null, tab: '' }), null);
  assert.deepEqual(allUnsaved(1).map((one) => [one.id, one.variant, one.tab, one.changes]), [['x', 'de', 'b', { title: 'B' }], ['x', 'de', 'a', { title: 'A' }]]);
  assert.deepEqual((await unsavedOf(place)).map((one) => one.tab), ['b', 'a']);
  assert.deepEqual(await unsavedOf({ ...place, variant: null }), []);
  assert.deepEqual(allUnsaved(2), []);
  dropUnsaved(place);
  assert.equal(readUnsaved(place), null);
  assert.deepEqual(allUnsaved(1).map((one) => one.tab), ['b']);
  dropUnsaved({ ...place, tab: 'b' });
});

test('the HTML of blocks escapes what was typed', () => {
  const html = pageHtml([{ type: 'hero', heading: '<script>alert(1)</script>', text: 'a "b" & c', link: '"><img onerror=x>' }]);
  assert.ok(!html.includes('<script>') && !html.includes('"><img'));
  assert.ok(html.startsWith('<section class="hero"><h1>&lt;script&gt;'));
});

test('a blueprint is sent without what the dashboard adds to it', () => {
  const draft = draftOf(null);
  assert.equal(draft.scheduled, true, 'a new blueprint publishes at the date');
  draft.name = 'Posts';
  draft.record_title = 'gone';
  draft.fields.push({ ...newField('number', 'Count'), unique: true }, { ...newField('boolean', 'On'), unique: true });
  const body = bodyOf(draft, true) as { record_title: string | null; fields: Record<string, unknown>[] };
  assert.equal(body.record_title, null);
  assert.deepEqual(body.fields.map((one) => [one.slug, one.unique, 'key' in one]), [['title', false, false], ['count', true, false], ['on', false, false]]);
});

test('a blueprint that is saved keeps what the form does not show', () => {
  const stored = { ...draftOf(null), id: 'x', slug: 'posts', is_singular: false, is_readonly: false, created_at: '', updated_at: '', scheduled: undefined, trash: undefined, history: { keep: 9, days: 8 }, search: { fields: { title: 5, gone: 1 }, language: null, stop_words: ['the'] } };
  const draft = draftOf(stored as unknown as Parameters<typeof draftOf>[0]);
  draft.fields[0]!.slug = 'title';
  const body = bodyOf(draft, false);
  assert.deepEqual([body.search, body.history, 'trash' in body], [{ fields: { title: 5 }, language: null, stop_words: ['the'] }, { keep: 9, days: 8 }, false]);
  draft.search = { fields: { gone: 1 } };
  assert.ok(!('search' in bodyOf(draft, false)), 'the field is gone');
});

test('a draft of a blueprint takes over what others changed, and keeps what it changed itself', () => {
  const [title, body, tags, motto] = [field('title'), field('body'), field('tags', 'multi-enum'), field('motto')];
  const of = (fields: Field[], more: object = {}) => draftOf({ name: 'Posts', slug: 'posts', kind: 'resource', icon: 'a', record_title: 'title', variants: [], seo: null, fields, ...more } as unknown as Blueprint);
  const start = bodyOf(of([title, body, tags]), false);
  const mine = of([title, body, tags], { name: 'Renamed' });
  mine.fields = [{ ...mine.fields[1]!, required: true }, { ...mine.fields[0]!, name: 'Heading' }, newField('number', 'Count'), mine.fields[2]!];
  const rows = [mine.fields[0]!.key, mine.fields[3]!.key];
  const theirs = of([title, motto, { ...body, name: 'Text' }, { ...tags, settings: { values: ['a'] } }], { name: 'Theirs', icon: 'b', trash: { days: 3 } });
  const both = mergedDraft(start, mine, theirs);
  assert.deepEqual([both.name, both.icon, both.trash], ['Renamed', 'b', { days: 3 }]);
  // The order is that of the draft, which moved fields.
  assert.deepEqual(both.fields.map((one) => [one.slug || one.name, one.name, one.required, one.stored]), [['body', 'Text', true, true], ['title', 'Heading', false, true], ['motto', 'motto', false, true], ['Count', 'Count', false, false], ['tags', 'tags', false, true]]);
  assert.deepEqual(both.fields[4]!.settings, { values: ['a'] });
  assert.deepEqual([both.fields[0]!.key, both.fields[4]!.key], rows, 'rows stay the same');

  // A field that the draft removed stays removed. One that others removed goes, unless the draft changed it.
  const fewer = of([title, body, tags]);
  fewer.fields = fewer.fields.filter((one) => one.slug !== 'title').map((one) => (one.slug === 'body' ? { ...one, required: true } : one));
  assert.deepEqual(mergedDraft(start, fewer, of([title, motto])).fields.map((one) => [one.slug, one.stored]), [['body', false], ['motto', true]]);
  // Without a move the order is theirs.
  assert.deepEqual(mergedDraft(start, of([title, body, tags]), of([tags, motto, body, title])).fields.map((one) => one.slug), ['tags', 'motto', 'body', 'title']);
  // Two new fields without a name are two.
  const nameless = of([title, body, tags]);
  nameless.fields.push(newField('text'), newField('text'));
  assert.equal(mergedDraft(start, nameless, theirs).fields.length, 6);
});

test('a field that is gone or cannot count any more does not count into the order of a search', () => {
  const draft = draftOf(null);
  draft.fields = [{ ...newField('number', 'Price'), stored: true }, { ...newField('date', 'Day'), stored: true }, { ...newField('money', 'Was a day'), slug: 'was', stored: true }];
  const [price, created, day] = [{ field: 'price', weight: 1, from: 0, to: 9 }, { field: 'created_at', weight: 1, half_life_days: 9 }, { field: 'day', weight: 1, half_life_days: 9 }];
  const bytes = { field: 'bytes', weight: 1 };
  draft.search = { boost: [price, { field: 'gone', weight: 1 }, created, day, { field: 'was', weight: 1, half_life_days: 9 }, bytes] };
  assert.deepEqual(bodyOf(draft, false).search, { boost: [price, created, day] });
  assert.deepEqual(bodyOf({ ...draft, kind: 'media', fields: [] }, false).search, { boost: [created, bytes] });
});

test('periods are whole days of UTC', () => {
  const now = Date.parse('2026-11-22T23:59:00Z');
  assert.deepEqual(rangeOf('7d', { start: '', end: '' }, now), { start: '2026-11-16', end: '2026-11-22', interval: 'day' });
  assert.equal(rangeOf('custom', { start: '2026-01-01', end: '2026-12-31' }, now).interval, 'week');
  assert.deepEqual(periodBefore({ start: '2026-11-16', end: '2026-11-22' }), { start: '2026-11-09', end: '2026-11-15' });
  assert.deepEqual(periodBefore({ start: '2026-03-01', end: '2026-03-01' }), { start: '2026-02-28', end: '2026-02-28' });
  assert.deepEqual([changeOf(0, 0), changeOf(0, 3), changeOf(50, 25)], [0, 100, -50]);
});

test('both languages have the same strings with the same values in them', () => {
  const names = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!).sort();
  assert.deepEqual(Object.keys(de), Object.keys(en));
  for (const [key, text] of Object.entries(en)) assert.deepEqual(names((de as Record<string, string>)[key]!), names(text), key);
});

test('what the server finds wrong with a value is said in German, too', () => {
  // The snapshot of the server's own tests: a message that changes there is missed here.
  const snapshot = readFileSync('../tests/data/messages.txt', 'utf8');
  const values = snapshot.slice(snapshot.indexOf('## Values'), snapshot.indexOf('## States'));
  const messages = [...new Set([...values.matchAll(/^ {4}[\w-]+: (.*)$/gm)].map((found) => found[1]!))];
  assert.ok(messages.length > 30, `${messages.length} messages`);
  // No form sends values of another shape, or keys that it does not know.
  const unreachable = /^(element \d+ |`\w+` )?must (be (an array|an object|a string|the id)|not have the key|contain only objects)/;
  locale.choose('de');
  const left = messages.filter((one) => !unreachable.test(one) && faultText(one) === one);
  locale.choose('en');
  assert.deepEqual(left, []);
});

test('a message has the figures of the server, and one that is not known stays', () => {
  locale.choose('de');
  assert.equal(faultText('must be from 1 to 5, not `0`'), 'Muss von 1 bis 5 sein.');
  assert.equal(faultText('must have at most 1000 characters, not 1001'), 'Darf höchstens 1000 Zeichen haben.');
  assert.equal(faultText('element 2 must be one of `red`, `green`, not `blue`'), '„blue“ kann hier nicht gewählt werden.');
  assert.equal(faultText('must contain only letters, digits, `-`, `_`, `.`, `~` and `/`; `two words` contains ` `'), 'Darf nur Buchstaben, Ziffern und - _ . ~ / enthalten, nicht „ “.');
  assert.equal(faultText('must have at most 1048576 bytes, not 1048577'), 'Zu lang: höchstens 1 MiB.');
  assert.equal(faultText('must have at most 1000 bytes, not 1001'), 'Zu lang: höchstens 1.000 Bytes.');
  assert.equal(faultText('is something new'), 'is something new');
  assert.deepEqual(faultTexts({ tags: ['must not be empty', 'must be given: a string'] }), { tags: ['Darf nicht leer sein.'] });
  locale.choose('en');
});

test('an excerpt is text with marks, whatever the text looks like', () => {
  const found = (text: string) => ({ text, found: true });
  const other = (text: string) => ({ text, found: false });
  assert.deepEqual(pieces('a <mark>b</mark> c'), [other('a '), found('b'), other(' c')]);
  assert.deepEqual(pieces('<mark>a</mark><mark>b</mark>'), [found('a'), found('b')]);
  assert.deepEqual(pieces('&lt;mark&gt;&amp;lt; <mark>&quot;it&#39;s&quot;</mark> &amp;amp;'), [other('<mark>&lt; '), found('"it\'s"'), other(' &amp;')]);
  assert.deepEqual(pieces(''), []);
  const row = { highlights: { title: 'The <mark>A&amp;B</mark>', body: '<mark>x</mark>' } } as unknown as Resource;
  assert.deepEqual(markedTitle(row, 'title', 'The A&B'), [other('The '), found('A&B')]);
  assert.equal(markedTitle(row, 'title', 'The A&B, and more'), null);
  assert.deepEqual(excerptOf(row, 'title'), [found('x')]);
  assert.equal(excerptOf(row, 'body')?.length, 2);
});

/** A text with its changes, as `{-removed-}` and `{+added+}`. */
const marked = (from: string, to: string): string => (textDifferences(from, to) ?? []).map(({ kind, text }) => (kind === 'same' ? text : kind === 'removed' ? `{-${text}-}` : `{+${text}+}`)).join('');

test('texts are compared by words, and a short word between two changes is part of them', () => {
  assert.equal(marked('The old house stands here.', 'The new house stands here.'), 'The {-old -}{+new +}house stands here.');
  assert.equal(marked('It is. It was.', 'It is.'), 'It is.{- It was.-}');
  assert.equal(marked('Größe', 'Grösse'), '{-Größe-}{+Grösse+}');
  assert.equal(marked('one a two', 'three a four'), '{-one a two-}{+three a four+}');
  assert.equal(textDifferences('one  two', 'one two'), null, 'white space is not a change of words');
});

test('both versions of a text can be read from its differences', () => {
  const words = 'a bb ccc dddd eeeee , . — ü 12 x_y'.split(' ');
  let seed = 11;
  const random = (below: number): number => Math.floor(((seed = (seed * 16807) % 2147483647) / 2147483647) * below);
  for (let round = 0; round < 300; round += 1) {
    const make = (): string => Array.from({ length: random(12) }, () => words[random(words.length)]).join(' ');
    const [from, to] = [make(), make()];
    const found = textDifferences(from, to);
    if (found === null) {
      assert.equal(from.replace(/\s/g, ''), to.replace(/\s/g, ''));
      continue;
    }
    const without = (kind: string): string => found.filter((one) => one.kind !== kind).map((one) => one.text).join('').replace(/\s/g, '');
    assert.equal(without('removed'), to.replace(/\s/g, ''));
    assert.equal(without('added'), from.replace(/\s/g, ''));
  }
});

test('what is far from a change of a long text is left out', () => {
  const long = 'word '.repeat(400);
  const short = shortened(textDifferences(`${long}old ${long}`, `${long}new ${long}`)!).map((one) => one.text).join('');
  assert.ok(short.length < 500 && short.includes('old new'), short);
  assert.ok(short.startsWith(' … ') && short.endsWith(' … '), short);
});

test('HTML is compared by its words, within the elements of the newer text', () => {
  assert.equal(htmlDifferences('<p>The old house</p>', '<p>The new house</p>'), '<p>The <del>old </del><ins>new </ins>house</p>');
  assert.equal(htmlDifferences('<p>One</p><p>Two</p>', '<p>One</p>'), '<p>One<del><br>Two</del></p>');
  assert.equal(htmlDifferences('<p>One</p>', '<p>One</p><h2>Two words</h2>'), '<p>One</p><h2><ins>Two words</ins></h2>');
  assert.equal(htmlDifferences('<p>a plain word</p>', '<p>a <strong>plain</strong> word</p>'), '<p>a <strong><del>plain </del><ins>plain</ins></strong> word</p>', 'words in another formatting have changed');
  assert.equal(htmlDifferences('<p>a &lt; b</p>', '<p>a &gt; b</p>'), '<p>a <del>&lt; </del><ins>&gt; </ins>b</p>', 'entities stay whole');
  assert.equal(htmlDifferences('<p><img src="/a.png" alt="x > y"></p>', '<p><img src="/b.png"></p>'), '<p><del><img src="/a.png" alt="x > y"></del><ins><img src="/b.png"></ins></p>');
  assert.equal(htmlDifferences('<p>Same</p>', '<p class="x">Same</p>'), null, 'nothing that words can show');
});

test('without what is gone, marked HTML is the newer text, byte for byte', () => {
  let seed = 5;
  const random = (below: number): number => Math.floor(((seed = (seed * 16807) % 2147483647) / 2147483647) * below);
  const words = ['a', 'b &amp; c', 'ü', 'x<br>y', '<strong>bold</strong>', '<a href="/x?a=1&amp;b=2">link, long</a>', '<img src="/i.png" alt="1 > 0">', '<em>in <code>code</code></em>'];
  const line = (): string => Array.from({ length: random(6) }, () => words[random(words.length)]).join(' ');
  const blocks = [(): string => `<p>${line()}</p>`, (): string => `<h2 id="h">${line()}</h2>`, (): string => `<ul>\n<li>${line()}</li>\n<li><p>${line()}</p></li></ul>`, (): string => `<table><tbody><tr><td>${line()}</td><td></td></tr></tbody></table>`];
  const make = (): string => Array.from({ length: 1 + random(2) }, () => blocks[random(blocks.length)]!()).join(random(2) ? '' : '\n');
  let compared = 0;
  for (let round = 0; round < 500; round += 1) {
    const [from, to] = [make(), make()];
    const html = htmlDifferences(from, to);
    if (html === null) continue;
    compared += 1;
    assert.equal(html.replace(/<del>.*?<\/del>/gs, '').replace(/<\/?ins>/g, ''), to, `${from} → ${to}`);
  }
  assert.ok(compared > 400, String(compared));
});

test('the blocks of HTML far from a change are left out', () => {
  const block = (text: string): string => `<p>${text}</p>`;
  const numbers = Array.from({ length: 9 }, (_, index) => `Number ${index}`);
  const html = htmlDifferences(numbers.map(block).join(''), numbers.map((one, index) => block(index === 4 ? 'Something else entirely' : one)).join(''))!;
  assert.ok(html.startsWith('<p>…</p><p>Number 3</p><p><del>'), html);
  assert.ok(html.endsWith('</p><p>Number 5</p><p>…</p>'), html);
});

test('texts that have nothing in common are not compared for long', () => {
  const [from, to] = ['a', 'b'].map((letter) => Array.from({ length: 40_000 }, (_, index) => `${letter}${index}`).join(' '));
  const start = Date.now();
  assert.equal(textDifferences(from!, to!), null);
  assert.ok(Date.now() - start < 3000);
});

test('paragraphs that differ are brought back one by one', () => {
  const rich = { slug: 'rich', type: 'rich-text' } as Field;
  const older = '<p>One</p>\n<p>Two</p>\n<h2>Three</h2>\n<p>Four</p>';
  const newer = '<p>One!</p>\n<p>Two</p>\n<p>Four</p>\n<p>Five</p>';
  const passages = passagesOf(rich, older, newer);
  assert.deepEqual(passages.map((one) => [one.older.trim(), one.newer.trim()]), [['<p>One</p>', '<p>One!</p>'], ['<h2>Three</h2>', ''], ['', '<p>Five</p>']]);
  assert.equal(passages[0]!.broughtBack, newer.replace('One!', 'One'));
  assert.equal(passages[1]!.broughtBack, newer.replace('\n<p>Four', '\n<h2>Three</h2>\n<p>Four'));
  assert.equal(passages[2]!.broughtBack, newer.replace('\n<p>Five</p>', ''));
  // Neighbours that both changed are two passages.
  assert.equal(passagesOf(rich, '<p>a</p><p>b</p>', '<p>c</p><p>d</p>').length, 2);
  // A single one too, unless it is the whole text. Only texts have passages.
  assert.deepEqual(passagesOf(rich, '<p>a</p><p>b</p>', '<p>a</p><p>c</p>'), [{ older: '<p>b</p>', newer: '<p>c</p>', broughtBack: '<p>a</p><p>b</p>' }], 'a single one');
  assert.deepEqual(passagesOf(rich, '<p>a</p>', '<p>b</p>'), [], 'the whole text');
  assert.deepEqual(passagesOf(rich, null, newer), []);
  assert.deepEqual(passagesOf({ slug: 'choices', type: 'multi-enum' } as Field, ['a'], ['b']), []);
  const lines = passagesOf({ slug: 'text', type: 'text' } as Field, 'a\nb\nc', 'x\nb\ny');
  assert.deepEqual(lines.map((one) => one.broughtBack), ['a\nb\ny', 'x\nb\nc']);
});

test('an address of media has the id of its resource, whatever the host', () => {
  const id = '01a21825-ee9d-75d9-a4ab-5d9abdf72a8c';
  for (const address of [`/media/${id}/a.png`, `/media/${id}/a.png?v=1&w=320`, `https://cms.example.org/media/${id}/a%20b.png`]) assert.equal(idIn(address), id, address);
  for (const address of ['', '/media/', `/media/${id}`, `/media/${id}/a/b.png`, `/files/${id}/a.png`, '/media/1234/a.png', `https://example.org/x/media/${id}/a.png`, `javascript:/media/${id}/a.png`]) assert.equal(idIn(address), null, address);
});

test('only what the server scales has a smaller picture', () => {
  const url = 'https://cms.example.org/media/1/a?v=2';
  assert.equal(thumbnailOf({ url, mime: 'image/jpeg' }, 320), '/media/1/a?v=2&w=320&fit=inside&format=webp');
  assert.equal(thumbnailOf({ url: '/media/1/a', mime: 'image/png' }, 160), '/media/1/a?w=160&fit=inside&format=webp');
  assert.equal(thumbnailOf({ url, mime: 'image/svg+xml' }, 320), '/media/1/a?v=2');
  for (const mime of ['application/pdf', 'image/heic', 'text/html', '']) assert.equal(thumbnailOf({ url, mime }, 320), null, mime);
  assert.equal(thumbnailOf({ url: null, mime: 'image/png' }, 320), null);
});

test('a placeholder begins with the average colour, and a damaged one has none', () => {
  // The header of a thumbhash: light in 6 bits, then two colour differences.
  const hash = (light: number, yellow: number, red: number): string => {
    const header = light | (yellow << 6) | (red << 12);
    return btoa(String.fromCharCode(header & 255, (header >> 8) & 255, (header >> 16) & 255, 0, 0));
  };
  const parts = (light: number, yellow: number, red: number): number[] => colourOf(hash(light, yellow, red)).match(/\d+/g)!.map(Number);
  assert.ok(parts(0, 31, 31).every((part) => part < 12) && parts(63, 32, 32).every((part) => part > 240));
  const [r, g] = parts(32, 32, 55);
  assert.ok(r! > g! + 100, 'more red than green');
  for (const text of ['', 'AAAA', 'no base64!', 'é']) assert.equal(colourOf(text), '', text);
});

test('a folder is shown if every group of conditions asks for it', () => {
  const condition = { field: 'folder', op: 'eq', value: 'City' };
  assert.equal(folderOf([[condition]]), 'City');
  assert.equal(folderOf([[condition, { field: 'mime', op: 'eq', value: 'x' }], [condition]]), 'City');
  assert.equal(folderOf([[condition], []]), null);
  assert.equal(folderOf([[condition], [{ ...condition, value: 'Travel' }]]), null);
  assert.equal(folderOf([[{ ...condition, op: 'ne' }]]), null);
  assert.equal(folderOf([]), null);
});

test('the filters of a rule are built by clicking if the form can show all of them', () => {
  const written = 'filter[kind][eq]=faq&filter[reading_minutes][lt]=10';
  assert.equal(filtersOf(conditionsOf(written)!), written);
  assert.deepEqual(conditionsOf('filter[kind]=a%26b'), [[{ field: 'kind', op: 'eq', value: 'a&b' }]]);
  assert.equal(filtersOf(conditionsOf('filter[$or][0][kind]=faq&filter[$or][1][kind]=how-to')!), 'filter[$or][0][kind][eq]=faq&filter[$or][1][kind][eq]=how-to');
  for (const other of ['filter[$not][kind]=faq', 'filter[kind]=faq&filter[$or][0][kind]=a', 'filter[author][$some][name]=Ada', 'filter[$and][0][$or][0][kind]=a']) assert.equal(conditionsOf(other), null, other);
});

test('a resource comes after another by the first measure in which it is worse', () => {
  const ranking = (lacking: string[], [lacks, typos, ways, score]: [number, number, number, number], pinned: Ranking['pinned'] = null): Ranking =>
    ({ id: 'a', pinned, words: lacking.map((asked) => ({ asked, found: null, missed: asked !== 'the' })), lacks, typos, ways, score, nearness: 1, boost: 1 });
  const best = ranking([], [0, 0, 0, 5]);
  assert.equal(belowOf(best, ranking(['a'], [30, 0, 0, 9])), 'words');
  assert.equal(belowOf(ranking(['a'], [30, 0, 0, 5]), ranking(['b'], [40, 0, 0, 9])), 'rarer');
  assert.equal(belowOf(best, ranking(['the'], [0, 1, 0, 9])), 'typos', 'a word that is not missed does not count');
  assert.equal(belowOf(best, ranking([], [0, 0, 3, 9])), 'ways');
  assert.equal(belowOf(best, ranking([], [0, 0, 0, 4])), 'score');
  assert.equal(belowOf(best, best), 'date');
  assert.equal(belowOf(best, ranking(['a'], [30, 0, 0, 1], { rule: 'r', position: 2 })), null);
});

test('the history tells the versions of the site from those of the working copy', () => {
  type Entry = Parameters<typeof presentOf>[0];
  type Op = Parameters<typeof beforeOf>[0]['op'];
  /** Operations, the newest first; with `*`, of a field. */
  const known = (ops: string) => ops.split(' ').map((op, index, all) => ({ number: all.length - index, at: '', by: null, op: op.replace('*', '') as Op, variant: null, fields: op.endsWith('*') ? ['text'] : [] }));
  const entry = (usesCopy: boolean, edited: boolean): Entry => ({ usesCopy, edited, blueprint: { working_copy: true } }) as Entry;
  const [published, changed, draft] = [entry(true, false), entry(true, true), entry(false, false)];
  const cases: [string, Entry, { copy: number | undefined; stored: number | undefined }][] = [
    ['created', draft, { copy: undefined, stored: 1 }],
    ['edited* created', changed, { copy: 2, stored: 1 }],
    ['restored* updated* edited* created', changed, { copy: 4, stored: 3 }],
    ['restored* updated* edited* created', published, { copy: undefined, stored: 3 }],
    ['restored deleted restored* updated* created', changed, { copy: 3, stored: 5 }],
    // A draft is written in place, also if it is published later.
    ['restored* updated* created', draft, { copy: undefined, stored: 3 }],
    ['edited* published restored* created', changed, { copy: 4, stored: 3 }],
    ['unpublished restored* updated* created', draft, { copy: undefined, stored: 4 }],
  ];
  for (const [ops, of, wanted] of cases) assert.deepEqual(presentOf(of, known(ops)), wanted, ops);
  const before = (ops: string, of: Entry): number => beforeOf(known(ops)[0]!, known(ops), of);
  assert.equal(before('updated* restored* updated* created', published), 2, 'a publication is compared with what the site showed');
  assert.equal(before('updated* restored* updated* created', draft), 3);
  assert.equal(before('edited* restored* updated* created', changed), 3);
});
