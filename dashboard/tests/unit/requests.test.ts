// Tests what the dashboard does while a request is under way, with a server that answers when the test lets it.
import './globals';
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { aborted, send } from '../../src/lib/api';
import { planBulk, runBulk, triedOf } from '../../src/lib/bulk';
import { Editing } from '../../src/lib/editing.svelte';
import { forget, page } from '../../src/lib/pages';
import { awaitHandOver, handedOver } from '../../src/lib/pending';
import { session } from '../../src/lib/session.svelte';
import type { Attributes, Blueprint, Session } from '../../src/lib/types';
import { allUnsaved, newPlace } from '../../src/lib/unsaved';

interface Asked {
  method: string;
  path: string;
  csrf: string | undefined;
  body: Record<string, unknown>;
}

let asked: Asked[] = [];
let serve: (one: Asked) => Promise<unknown> | unknown = () => ({});

const refused = (status: number): Response => new Response(JSON.stringify({ errors: { code: 'NO', message: 'no' } }), { status });
const answer = (body: unknown, etag = ''): Response => new Response(JSON.stringify(body), { headers: { etag } });

globalThis.fetch = async (path, init = {}) => {
  const { method = 'GET', body, headers, signal } = init;
  const one: Asked = { method, path: String(path), csrf: (headers as Record<string, string>)['x-csrf-token'], body: body ? (JSON.parse(String(body)) as Asked['body']) : {} };
  asked.push(one);
  const stopped = new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(new DOMException('stopped', 'AbortError'))));
  const found = await Promise.race([serve(one), stopped]);
  return found instanceof Response ? found.clone() : answer(found);
};

const as = (id: number, csrf: string): Session => ({ member: { id, name: 'Ada', email: 'ada@example.org' }, role: 'owner', abilities: ['manage'], csrf }) as unknown as Session;

beforeEach(() => {
  asked = [];
  forget();
  localStorage.clear();
  session.status = 'loading';
  session.enter(as(1, 'first'));
});

/** A promise that the test settles. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open: () => open(), opened };
}

const FIELDS = ['title', 'text'].map((slug) => ({ name: slug, slug, type: 'text', description: null, required: false, unique: false, settings: {} }));
const notes = { slug: 'notes', fields: FIELDS, record_title: 'title', variants: [{ slug: 'en', name: 'English', default: true }, { slug: 'de', name: 'Deutsch' }] } as unknown as Blueprint;
const copied = { ...notes, working_copy: true } as unknown as Blueprint;

/** The answer about a note. Without `copy`, it is a draft. */
const note = (attributes: Attributes, etag = '"1"', copy?: unknown): Response =>
  answer({ data: { id: 'a', attributes: { title: null, text: null, ...attributes }, published_at: copy === undefined ? null : '2020-01-01T00:00:00Z', ...(copy === undefined ? {} : { working_copy: copy }) } }, etag);

async function opened(first: () => Response, blueprint = notes, variant: string | null = null): Promise<Editing> {
  serve = first;
  const editing = new Editing(blueprint, 'a', variant, newPlace());
  await editing.load();
  return editing;
}

test('a page of a list whose request was given up is asked for again, and one that is there is not', async () => {
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const { open, opened: held } = gate();
  serve = () => held.then(() => ({ data: [] }));
  const given = page('/v2/resources/notes', first.signal);
  first.abort();
  const again = page('/v2/resources/notes', second.signal);
  open();
  await assert.rejects(given, aborted);
  assert.deepEqual(await again, { data: [] });
  second.abort();
  await page('/v2/resources/notes', third.signal);
  assert.equal(asked.length, 2);
});

test('the comparison with a newer version has what was typed since it was found', async () => {
  const editing = await opened(() => note({ title: 'One', text: 'Short' }));
  editing.set('title', 'Mine');
  serve = () => note({ title: 'Theirs', text: 'Short' }, '"2"');
  await editing.look();
  editing.set('title', 'Mine, longer');
  const late = (): void => (handedOver(late), editing.set('text', 'Written'));
  awaitHandOver(late);
  editing.compareNewer();
  editing.resolve({ title: 'mine' });
  assert.deepEqual(editing.values, { title: 'Mine, longer', text: 'Written' });
});

test('a look that is answered after a save does not take it back', async () => {
  const editing = await opened(() => note({ title: 'One' }));
  const { open, opened: held } = gate();
  serve = async ({ method }) => {
    if (method === 'PATCH') return note({ title: 'Two' }, '"2"');
    await held;
    return note({ title: 'One' });
  };
  const look = editing.look();
  editing.set('title', 'Two');
  assert.equal(await editing.save(), true);
  open();
  await look;
  assert.equal(editing.values.title, 'Two');
  assert.equal(editing.etag, '"2"');
});

test('a newer version that has nothing but the changes of the form is not shown, and they do not count as unsaved', async () => {
  const editing = await opened(() => note({ title: 'One', text: 'Short' }));
  editing.set('title', 'Two');
  editing.keep();
  serve = () => note({ title: 'Two', text: 'Short' }, '"2"');
  await editing.look();
  assert.deepEqual([editing.newer, editing.conflict, editing.dirty, editing.etag], [null, null, false, '"2"']);
  assert.deepEqual(allUnsaved(1), []);
  // A change of somebody else beside it is shown.
  editing.set('title', 'Three');
  serve = () => note({ title: 'Three', text: 'Theirs' }, '"3"');
  await editing.look();
  assert.notEqual(editing.newer, null);
});

test('a save whose answer got lost is no change of somebody else', async () => {
  const editing = await opened(() => note({ title: 'One', text: 'Short' }));
  let stored = note({ title: 'One', text: 'Short' });
  const losing = (store: Response | null) => ({ method }: Asked) => {
    if (method !== 'PATCH') return stored;
    if (store) stored = store;
    return refused(504);
  };
  // The first arrives and the second does not.
  for (const [title, arrived] of [['Two', note({ title: 'Two', text: 'Theirs' }, '"2"')], ['Three', null]] as const) {
    editing.set('title', title);
    serve = losing(arrived);
    assert.equal(await editing.save(), false);
  }
  // The form begins from the values that it sent, so that taking them back is a change.
  editing.set('title', 'One');
  const sent: unknown[] = [];
  serve = ({ method, body }) => {
    if (method !== 'PATCH') return stored;
    sent.push(body);
    return sent.length === 1 ? refused(412) : note({ title: 'One', text: 'Theirs' }, '"3"');
  };
  assert.equal(await editing.save({ publishedAt: null }), false, 'somebody else changed the other field');
  assert.deepEqual(editing.conflict?.differences.map(({ field, by }) => [field.slug, by]), [['title', 'me'], ['text', 'them']]);
  assert.equal(await editing.save(editing.resolve({})!), true);
  assert.deepEqual(sent.at(-1), { attributes: { title: 'One' }, published_at: null });
});

test('what is typed while changes are discarded, brought back or replaced by an earlier version stays', async () => {
  const editing = await opened(() => note({ title: 'Draft', text: 'Draft' }, '"1"', {}), copied);
  const typing = (typed: Attributes, written: Response) => ({ method }: Asked) => {
    if (method !== 'GET') for (const [slug, value] of Object.entries(typed)) editing.set(slug, value);
    return method === 'DELETE' ? answer(null) : written;
  };
  editing.set('title', 'Before');
  serve = typing({ text: 'Late' }, note({ title: 'Site', text: 'Site' }, '"2"', null));
  const undo = (await editing.discardCopy())!;
  assert.deepEqual(editing.values, { title: 'Site', text: 'Late' });

  serve = typing({ text: 'Later' }, note({ title: 'Draft', text: 'Draft' }, '"3"', {}));
  await undo();
  assert.deepEqual(editing.values, { title: 'Before', text: 'Later' });

  serve = typing({ title: 'Latest' }, note({ title: 'Earlier', text: 'Earlier' }, '"4"', {}));
  await editing.restoreRevision(1, ['title', 'text']);
  assert.deepEqual(editing.values, { title: 'Latest', text: 'Earlier' });
});

test('what was written of a new entry in another language is kept with it when it gets its id', async () => {
  const place = newPlace();
  const english = new Editing(notes, null, null, place);
  await english.load();
  english.set('title', 'English');
  english.keep();
  const german = new Editing(notes, null, 'de', place);
  await german.load();
  german.set('title', 'Deutsch');
  german.keep();
  serve = () => note({ title: 'Deutsch' });
  assert.equal(await german.save(), true);
  assert.deepEqual(allUnsaved(1).map(({ id, variant, changes }) => ({ id, variant, changes })), [{ id: 'a', variant: null, changes: { title: 'English' } }]);
  assert.equal((await opened(() => note({}))).values.title, 'English');
});

test('a write that is refused because another tab has a new session is sent again with its token, once', async () => {
  let current = as(1, 'second');
  serve = ({ method, csrf }) => (method === 'GET' ? { data: current } : csrf === current.csrf ? { done: true } : refused(403));
  const writes = await Promise.all(['/v2/a', '/v2/b'].map((path) => send('POST', path, { body: {} })));
  assert.deepEqual(writes.map(({ body }) => body), [{ done: true }, { done: true }]);

  // This one is not allowed, whatever the token.
  serve = ({ method }) => (method === 'GET' ? { data: current } : refused(403));
  asked = [];
  await assert.rejects(send('POST', '/v2/a', { body: {} }), { status: 403 });
  assert.equal(asked.length, 2);

  // Somebody else signed in there: nothing is sent in their name.
  current = as(2, 'third');
  asked = [];
  const write = send('POST', '/v2/a', { body: {} });
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(session.status, 'expired');
  assert.deepEqual(asked.map(({ method }) => method), ['POST', 'GET']);
  serve = () => ({ done: true });
  session.enter(as(1, 'fourth'));
  assert.deepEqual((await write).body, { done: true });
});

test('a bulk operation that fails in the middle reports what was done until then', async () => {
  const ids = Array.from({ length: 250 }, (_, index) => `id-${index}`);
  let left = 1;
  serve = ({ path, body }) => {
    if (!path.includes('bulk-publish')) return { data: [] };
    if (left-- <= 0) return refused(500);
    return { data: { failed: [{ index: 0, errors: { code: 'NOT_FOUND', message: `${(body.ids as string[])[0]} has no working copy` } }] } };
  };
  const report = await runBulk('notes', 'publish', ids, () => {});
  assert.equal(report.done, 99);
  assert.equal(triedOf(ids, report).length, 100);
  assert.equal((report.stoppedBy as { status: number }).status, 500);

  left = 1;
  const plan = await planBulk('notes', ids, '2090-01-01T00:00:00Z', true, () => {}, new AbortController().signal);
  assert.equal(plan.planned.length, 99);
  assert.deepEqual([plan.dated, plan.unchanged], [[], []], 'the draft stays selected');
  assert.equal((plan.stoppedBy as { status: number }).status, 500);
});
