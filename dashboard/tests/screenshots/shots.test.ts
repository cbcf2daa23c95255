// Pictures of every screen, for the documentation and for looking at. Written to `docs/` of the repository, or to SCREENSHOTS.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, open, openBrowser, signedIn, TOKEN, URL_BASE } from '../browser';
import { LIBRARY, makeLibrary, png, uploaded } from '../pictures';

const folder = path.resolve(process.env.SCREENSHOTS ?? '../docs');
mkdirSync(folder, { recursive: true });
after(closeBrowser);

async function someTraffic(): Promise<void> {
  const pages = ['/', '/articles/allocator', '/articles/any', '/about', '/contact', '/blog', '/articles/threads', '/de/'];
  const from = ['-', '-', '-', 'https://www.google.com/', 'https://www.google.com/', 'https://duckduckgo.com/', 'https://lobste.rs/'];
  const agents = ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0 Safari/537.36', 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'];
  let seed = 7;
  const random = (below: number): number => Math.floor(((seed = (seed * 16807) % 2147483647) / 2147483647) * below);
  const lines: string[] = [];
  for (let back = 60; back >= 0; back -= 1) {
    const day = new Date(Date.now() - back * 86_400_000);
    const many = Math.round((90 - back * 0.7 + random(25)) * (day.getUTCDay() % 6 === 0 ? 0.6 : 1));
    for (let visit = 0; visit < many; visit += 1) {
      const address = `203.0.${random(250)}.${random(250)}`;
      const agent = agents[random(3)]!;
      let second = random(back === 0 ? Math.max(60, new Date().getUTCHours() * 3600) : 80_000);
      for (let view = 0; view <= random(4); view += 1) {
        const time = new Date(Math.floor(day.getTime() / 86_400_000) * 86_400_000 + second * 1000);
        const stamp = `${String(time.getUTCDate()).padStart(2, '0')}/${'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')[time.getUTCMonth()]}/${time.getUTCFullYear()}:${time.toISOString().slice(11, 19)} +0000`;
        lines.push(`${address} - - [${stamp}] "GET ${pages[Math.min(random(9), random(8))] ?? '/'} HTTP/1.1" 200 512 "${view === 0 ? from[random(7)] : 'https://www.example.com/'}" "${agent}"`);
        second += 20 + random(200);
      }
    }
  }
  await fetch(`${URL_BASE}/v2/analytics/import?site=www.example.com`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' }, body: lines.join('\n') });
}

/** Writes as the member who is signed in, so that the history has their name. */
async function write(page: Page, method: string, address: string, body?: unknown): Promise<void> {
  const { data } = (await (await page.request.get('/v2/session')).json()) as { data: { csrf: string } };
  const answer = await page.request.fetch(address, { method, headers: { 'x-csrf-token': data.csrf }, ...(body === undefined ? {} : { data: body }) });
  if (!answer.ok()) throw new Error(await answer.text());
}

/** Some corrections of an article, and some articles that are gone. */
async function someMistakes(page: Page, id: string): Promise<void> {
  const article = `/v2/resources/articles/${id}`;
  const { data } = (await (await page.request.get(article)).json()) as { data: { attributes: { title: string; body: string; reading_minutes: number } } };
  const { title, body, reading_minutes } = data.attributes;
  const first = body.replace(/\bthe\b/, 'each and every').replace('</p>', ' A sentence that was cut later.</p>').replace(/(<\/p>[^]*?)<\/p>/, '$1 So was this one.</p>');
  await write(page, 'PATCH', article, { attributes: { title: title.replace(/^\S+/, 'A first draft of'), body: first, reading_minutes: reading_minutes + 3 } });
  await write(page, 'PATCH', article, { attributes: { title, reading_minutes } });
  await write(page, 'PATCH', article, { attributes: { body } });
  const others = (await (await page.request.get('/v2/resources/articles?per_page=5&sort=created_at&fields=id')).json()) as { data: { id: string }[] };
  for (const other of others.data.filter((one) => one.id !== id)) await write(page, 'DELETE', `/v2/resources/articles/${other.id}`);
}

/** A correction of the published article that the site does not show yet. */
async function someDraft(page: Page, id: string): Promise<void> {
  const article = `/v2/resources/articles/${id}?copy=working`;
  const { data } = (await (await page.request.get(article)).json()) as { data: { attributes: { body: string } } };
  await write(page, 'PATCH', article, { attributes: { title: 'DISPLAYBIND, corrected', body: data.attributes.body.replace('</p>', ' It is a hint, not a promise.</p>') } });
  const others = (await (await page.request.get('/v2/resources/articles?per_page=3&sort=title&fields=id,attributes.title')).json()) as { data: { id: string; attributes: { title: string } }[] };
  for (const { id: other, attributes } of others.data) await write(page, 'PATCH', `/v2/resources/articles/${other}?copy=working`, { attributes: { title: `${attributes.title}, corrected` } });
  await write(page, 'POST', `/v2/resources/articles/${others.data[0]!.id}/publish`, { at: new Date(Date.now() + 86_400_000).toISOString() });
}

/** From the draft to the site: what differs, when it is published, and what else is edited. */
async function ofDrafts(page: Page, id: string): Promise<void> {
  const shoot = (name: string): Promise<Buffer> => page.waitForTimeout(900).then(() => page.screenshot({ path: path.join(folder, `dashboard-${name}.png`) }));
  await open(page, `/content/articles/${id}`);
  await page.locator('.prose').waitFor();
  await shoot('working-copy');
  const choose = async (name: string): Promise<void> => {
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name }).click();
  };
  await choose('Compare with the site…');
  await page.locator('dialog ins').first().waitFor();
  await shoot('compare');
  await page.keyboard.press('Escape');
  await choose('Publish later…');
  await page.locator('dialog').getByText(/^Your site shows the changes/).waitFor();
  await shoot('plan');
  await page.keyboard.press('Escape');
  await open(page, '/content/articles?copy=working&filter[working_copy][eq]=true');
  await page.locator('tbody .badge').first().waitFor();
  await shoot('edited');
}

const pictures: [string, string, ((page: Page) => Promise<void>)?][] = [
  ['home', '/'],
  ['content', '/content/articles', async (page) => page.locator('tbody a.title').first().waitFor()],
  ['filters', '/content/articles?filter%5Bkind%5D%5Beq%5D=article&filter%5Breading_minutes%5D%5Bgte%5D=1', async (page) => {
    for (const index of [1, 2, 4]) await page.locator('tbody input[type=checkbox]').nth(index).check();
    await page.locator('.wrap').evaluate((table) => (table.scrollTop = 0));
  }],
  ['editor', '/content/articles/ID', async (page) => page.locator('.prose').waitFor()],
  ['languages', '/content/articles/ID?variant=de', async (page) => {
    await page.locator('.prose').waitFor();
    await page.getByRole('button', { name: /beside it/ }).click();
  }],
  ['page-builder', '/content/site-settings', async (page) => page.locator('.builder').scrollIntoViewIfNeeded()],
  ['blueprint', '/blueprints/articles', async (page) => page.locator('.open').nth(4).click()],
  ['traffic', '/traffic', async (page) => page.locator('.figures').first().waitFor()],
  ['members', '/settings/members'],
  ['tokens', '/settings/tokens', async (page) => page.getByRole('button', { name: 'New token' }).click()],
  ['health', '/settings/health'],
  ['rule', '/search/rules', async (page) => {
    await page.getByRole('button', { name: 'New rule' }).click();
    await page.getByLabel('Words', { exact: true }).fill('allocator');
    await page.getByRole('combobox', { name: 'Blueprint', exact: true }).selectOption('Articles');
    await page.getByRole('combobox', { name: 'Find an entry to pin' }).fill('custom');
    await page.getByRole('option', { name: 'custom (C++)', exact: true }).click();
    await page.getByRole('button', { name: 'Hide allocator<void> Class' }).click();
    await page.getByText('Left out by the rule:').waitFor();
  }],
  ['search', '/', async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type('error');
  }],
];

/** A dialog with something typed in it would ask before the next screen is opened. */
async function leaveDialog(page: Page): Promise<void> {
  const dialog = page.locator('dialog[open]');
  if ((await dialog.count()) === 0) return;
  await page.keyboard.press('Escape');
  const discard = dialog.locator('.asking').getByRole('button', { name: 'Discard' });
  await page.waitForTimeout(200);
  if (await discard.count()) await discard.click();
}

test('a picture of every screen', async () => {
  await someTraffic();
  const found = await api<{ data: { id: string }[] }>('GET', '/v2/resources/articles?filter[slug]=displaybind');
  const id = found.body.data[0]!.id;
  const gate = await (await openBrowser()).newPage({ viewport: { width: 1200, height: 720 }, locale: 'en-GB' });
  await gate.goto(`${URL_BASE}/admin/`);
  await gate.locator('h1').waitFor();
  await gate.screenshot({ path: path.join(folder, 'dashboard-sign-in.png') });
  const person = await signedIn('Ada', 'owner', { width: 1200, height: 720 });
  for (const [name, address, prepare] of pictures) {
    await open(person.page, address.replace('ID', id));
    await prepare?.(person.page);
    await person.page.waitForTimeout(900);
    await person.page.screenshot({ path: path.join(folder, `dashboard-${name}.png`) });
    await leaveDialog(person.page);
  }
  const night = await signedIn('Ada', 'owner', { width: 1200, height: 720, scheme: 'dark' });
  for (const [name, address, prepare] of pictures.filter(([one]) => one === 'editor' || one === 'traffic')) {
    await open(night.page, address.replace('ID', id));
    await prepare?.(night.page);
    await night.page.waitForTimeout(900);
    await night.page.screenshot({ path: path.join(folder, `dashboard-${name}-dark.png`) });
  }
  await someMistakes(person.page, id);
  await open(person.page, `/content/articles/${id}`);
  await person.page.locator('.revision', { hasText: 'Title' }).last().click();
  await person.page.locator('dialog del').first().waitFor();
  await person.page.waitForTimeout(900);
  await person.page.screenshot({ path: path.join(folder, 'dashboard-history.png') });
  await open(person.page, '/trash');
  await person.page.locator('.entry').first().waitFor();
  await person.page.screenshot({ path: path.join(folder, 'dashboard-trash.png') });
  await someDraft(person.page, id);
  await ofDrafts(person.page, id);
  const phone = await signedIn('Ada', 'owner', { width: 360, height: 740 });
  await open(phone.page, `/content/articles/${id}`);
  await phone.page.locator('.prose').waitFor();
  await phone.page.screenshot({ path: path.join(folder, 'dashboard-editor-narrow.png') });
});

test('pictures of the media library', async () => {
  await makeLibrary();
  const names = ['harbour', 'forest', 'old-town', 'bridge', 'market', 'library', 'station', 'garden'];
  for (const [at, name] of names.entries()) {
    await uploaded(png(`${name}.png`, 600 + 40 * at, 440, [(at * 37 + 60) % 256, (at * 83 + 90) % 256, (at * 131 + 120) % 256]), { folder: at % 3 === 0 ? 'City' : 'Travel', ...(at % 4 === 1 ? {} : { alt: `A picture of a ${name}` }) });
  }
  await uploaded({ name: 'price-list.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n') }, { folder: 'City' });
  const point = await uploaded(png('lighthouse.png', 900, 600, [40, 90, 160]), { folder: 'Travel', focal_x: 0.8, focal_y: 0.25 });
  const article = (await api<{ data: { id: string }[] }>('GET', '/v2/resources/articles?filter[slug]=displaybind')).body.data[0]!.id;
  const shoot = (page: Page, name: string): Promise<Buffer> => page.waitForTimeout(2500).then(() => page.screenshot({ path: path.join(folder, `dashboard-${name}.png`) }));
  const day = await signedIn('Ada', 'owner', { width: 1200, height: 720 });
  await open(day.page, `/content/${LIBRARY}`);
  await day.page.locator('input[type=file]').setInputFiles([png('sunrise.png', 300, 200, [250, 120, 30]), { name: 'setup.exe', mimeType: 'x', buffer: Buffer.from([77, 90, 0, 1]) }]);
  await day.page.locator('.grid img').first().waitFor();
  await shoot(day.page, 'library');
  await open(day.page, `/content/${LIBRARY}/${point.id}`);
  await day.page.locator('.media img').waitFor();
  await shoot(day.page, 'file');
  await open(day.page, `/content/articles/${article}`);
  await day.page.locator('.prose').waitFor();
  await day.page.getByRole('button', { name: 'Image', exact: true }).click();
  await day.page.getByRole('dialog').getByRole('button', { name: 'Choose from library' }).click();
  await day.page.locator('dialog .grid img').first().waitFor();
  await shoot(day.page, 'picker');
  const night = await signedIn('Ada', 'owner', { width: 1200, height: 720, scheme: 'dark' });
  await open(night.page, `/content/${LIBRARY}`);
  await night.page.locator('.grid img').first().waitFor();
  await shoot(night.page, 'library-dark');
  const phone = await signedIn('Ada', 'owner', { width: 360, height: 740 });
  await open(phone.page, `/content/${LIBRARY}`);
  await phone.page.locator('.grid img').first().waitFor();
  await shoot(phone.page, 'library-narrow');
});
