// How fast the dashboard answers a key, with a large blueprint and with a long article. Run it on a machine that does nothing
// else; it takes some minutes, most of them for the import:
//
//   FLUENCY_ARTICLES=articles.ndjson npm run fluency
//
// FLUENCY_ARTICLES  a file with one object of attributes a line: title, slug, summary, body, status, category, price, tags. Without
//                   it, articles of made-up sentences are used
// FLUENCY_COUNT     how many of them (default 100000)
// FLUENCY_STRICT    if set, the test fails where a figure is over its limit; otherwise the figures are only printed
//
// «echo» is the time from a key to the frame that shows what it typed, «answer» that to the frame with the server's answer,
// «server» the part of it between sending the request and the first byte of the answer.
import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, read, settled, signedIn, TOKEN, toast } from '../browser';

const COUNT = Number(process.env.FLUENCY_COUNT ?? 100_000);
const BATCH = 2000;
const ANSWER_MS = 100;
const ECHO_MS = 50;
/** The server adds `rel` to the links: then it is just below 1 MiB, the most that a field holds. */
const LONG_BYTES = 930_000;
const SENTENCES = ['The page cache keeps what was read from the disk.', 'A packet is sorted into a queue before it is sent.', 'Compilers report errors with the line they found them in.', 'Every module of the kernel has a license.', 'The garden behind the house is open in summer.'];

interface Article {
  [slug: string]: unknown;
}

async function* articles(): AsyncGenerator<Article> {
  const file = process.env.FLUENCY_ARTICLES;
  if (file) {
    for await (const line of createInterface({ input: createReadStream(file) })) yield JSON.parse(line) as Article;
    return;
  }
  for (let at = 0; ; at += 1) {
    const some = (many: number): string => Array.from({ length: many }, (_, index) => SENTENCES[(at * 7 + index * 3) % SENTENCES.length]).join(' ');
    yield { title: `${SENTENCES[at % SENTENCES.length]!.split(' ').slice(1, 4).join(' ')} ${at}`, slug: `article-${at}`, summary: some(1), body: `<p>${some(30)}</p>`, status: at % 3 ? 'live' : 'new', category: `c${at % 9}`, price: at % 500, tags: [`t${at % 20}`] };
  }
}

const FIELDS = [['Title', 'text'], ['Slug', 'slug'], ['Summary', 'text'], ['Body', 'rich-text'], ['Status', 'enum', { values: null }], ['Category', 'enum', { values: null }], ['Price', 'number'], ['Tags', 'multi-enum', { values: null }]] as const;

async function importAll(): Promise<void> {
  const known = new Set<string>(FIELDS.map(([name]) => name.toLowerCase()));
  const send = async (lines: string[]): Promise<void> => {
    const answer = await fetch(`${process.env.DASHBOARD_API}/v2/resources/many-articles/import`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/x-ndjson' }, body: lines.join('\n') });
    const text = await answer.text();
    assert.equal(answer.status, 200, text.slice(0, 300));
    assert.ok(!text.includes('"errors"'), text.slice(Math.max(0, text.indexOf('"errors"') - 100)).slice(0, 400));
  };
  let lines: string[] = [];
  let sent = 0;
  for await (const article of articles()) {
    if (sent + lines.length >= COUNT) break;
    const attributes = Object.fromEntries(Object.entries(article).filter(([slug]) => known.has(slug)));
    lines.push(JSON.stringify({ attributes, published_at: article.published_at ?? '2026-01-01' }));
    if (lines.length < BATCH) continue;
    await send(lines);
    sent += lines.length;
    lines = [];
  }
  if (lines.length > 0) await send(lines);
}

/** Notes in the page, for each key, when what it did was painted. */
function probe(): void {
  const notes = { echo: [] as number[], answer: [] as number[], frames: [] as number[], scrolling: false };
  (window as unknown as { notes: typeof notes }).notes = notes;
  // Within a callback for a frame: a message is taken when that frame is painted.
  const painted = (then: (now: number) => void): void => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => then(performance.now());
    channel.port2.postMessage(0);
  };
  let latest: KeyboardEvent;
  addEventListener('keydown', (event) => {
    latest = event;
    requestAnimationFrame(() => painted((now) => notes.echo.push(now - event.timeStamp)));
    const look = (): void => {
      if (latest !== event) return;
      if (document.querySelector('table[aria-busy=true]')) requestAnimationFrame(look);
      else painted((now) => notes.answer.push(now - event.timeStamp));
    };
    requestAnimationFrame(look);
  }, true);
  let last = 0;
  const frame = (now: number): void => {
    if (notes.scrolling && last) notes.frames.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

type Notes = { echo: number[]; answer: number[]; frames: number[]; scrolling: boolean };
const notesOf = (page: Page): Promise<Notes> => page.evaluate(() => (window as unknown as { notes: Notes }).notes);

const failures: string[] = [];

function report(what: string, values: number[], limit?: number): void {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN) * 10) / 10;
  const over = limit !== undefined && at(0.95) > limit;
  console.log(`${what.padEnd(44)} ${String(values.length).padStart(4)} times, median ${at(0.5)} ms, p95 ${at(0.95)} ms, most ${at(1)} ms${limit === undefined ? '' : `, limit ${limit} ms${over ? ' EXCEEDED' : ''}`}`);
  if (over) failures.push(what);
}

/** The time of each request of the page to the API, from sending it to the first byte of the answer. */
const serverTimes = (page: Page, path: string): Promise<number[]> => page.evaluate((part) => performance.getEntriesByType('resource').filter((one) => one.name.includes(part)).map((one) => (one as PerformanceResourceTiming).responseStart - (one as PerformanceResourceTiming).requestStart).filter((time) => time > 0), path);

before(async () => {
  await makeBlueprint('many-articles', { record_title: 'title' }, FIELDS);
  await importAll();
}, { timeout: 3_600_000 });
after(closeBrowser);

test(`a table of ${COUNT} articles`, async () => {
  const { page, context, troubles } = await signedIn('Fluent', 'editor');
  await context.addInitScript(probe);
  await open(page, '/content/many-articles?per_page=100').catch((error) => { console.log(troubles); throw error; });
  await page.locator('tbody tr').nth(50).waitFor();
  const total = await api<{ meta: { total: number } }>('GET', '/v2/resources/many-articles?per_page=1&fields=id');
  console.log(`${total.body.meta.total} articles`);

  for (const words of ['kernel ', 'debian pack', 'sytem configuraton', 'unix netw']) {
    await page.getByRole('searchbox').fill('');
    await settled(page);
    await page.evaluate(() => performance.clearResourceTimings());
    await page.evaluate(() => (((window as unknown as { notes: Notes }).notes.echo = []), ((window as unknown as { notes: Notes }).notes.answer = [])));
    await page.getByRole('searchbox').focus();
    await page.keyboard.type(words, { delay: 400 });
    await settled(page);
    const { echo, answer } = await notesOf(page);
    report(`search «${words}», echo`, echo, ECHO_MS);
    report(`search «${words}», answer`, answer, ANSWER_MS);
    report(`search «${words}», server`, await serverTimes(page, '/v2/resources/many-articles?'));
  }

  await open(page, '/content/many-articles?per_page=100');
  await settled(page);
  const turns: number[] = [];
  for (let turn = 0; turn < 10; turn += 1) {
    turns.push(await page.evaluate(async () => {
      const from = performance.now();
      const first = document.querySelector('tbody a.title')?.getAttribute('href');
      document.querySelector<HTMLButtonElement>('button[aria-label="Next page"]')!.click();
      while (document.querySelector('tbody a.title')?.getAttribute('href') === first) await new Promise((resolve) => requestAnimationFrame(resolve));
      return performance.now() - from;
    }));
    await settled(page);
  }
  report('next page', turns, ANSWER_MS);

  const box = (await page.locator('.wrap').boundingBox())!;
  await page.mouse.move(box.x + 200, box.y + 200);
  await page.evaluate(() => void ((window as unknown as { notes: Notes }).notes.scrolling = true));
  for (let step = 0; step < 60; step += 1) await page.mouse.wheel(0, step < 30 ? 130 : -130);
  await settled(page);
  report('frames while scrolling 100 rows', (await notesOf(page)).frames, ECHO_MS);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an article of 1 MB', async () => {
  const paragraph = (at: number): string => `<h2>Section ${at}</h2><p>${SENTENCES.join(' ')} <a href="/x">A link</a> and <code>code</code>.</p><ul><li>One</li><li>Two</li></ul>`;
  let body = '';
  for (let at = 0; body.length < LONG_BYTES; at += 1) body += paragraph(at);
  const id = await create('many-articles', { title: 'A long article', slug: 'a-long-article', body });
  // Sanitised: the server adds `rel` to the links.
  const before = String((await read('many-articles', id)).attributes.body);
  const { page, context, troubles } = await signedIn('Fluent', 'editor');
  await context.addInitScript(probe);
  const start = Date.now();
  await open(page, `/content/many-articles/${id}`);
  await page.locator('.prose h2').nth(1000).waitFor({ state: 'attached' });
  console.log(`opened after ${Date.now() - start} ms, ${body.length} bytes of HTML`);
  await settled(page);
  await page.locator('.prose p').nth(400).click();
  await page.evaluate(() => void ((window as unknown as { notes: Notes }).notes.echo = []));
  await page.keyboard.type(' typed '.repeat(25), { delay: 60 });
  report('typing in 1 MB of rich text', (await notesOf(page)).echo, ECHO_MS);
  await page.evaluate(() => void ((window as unknown as { notes: Notes }).notes.echo = []));
  for (let word = 0; word < 12; word += 1) {
    await page.keyboard.type(' and then', { delay: 60 });
    // Longer than the pause in which the text is written as HTML.
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
  report('the same with pauses', (await notesOf(page)).echo, ECHO_MS);
  await page.evaluate(() => void ((window as unknown as { notes: Notes }).notes.echo = []));
  await field(page, 'title').getByRole('textbox').click();
  await page.keyboard.type(', renamed'.repeat(8), { delay: 60 });
  report('typing in the title beside it', (await notesOf(page)).echo, ECHO_MS);
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  const stored = (await read('many-articles', id)).attributes;
  assert.ok(String(stored.body).includes('typed  typed'.replace('  ', ' ')) || String(stored.body).includes('typed  typed'), 'what was typed is stored');
  assert.ok(Math.abs(String(stored.body).length - before.length) < 5000, 'nothing of the text is lost');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the limits hold', () => {
  if (process.env.FLUENCY_STRICT) assert.deepEqual(failures, []);
});
