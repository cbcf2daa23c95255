// What the journeys share: a browser, members of each role, and the API as a program uses it.
import { chromium, type Browser, type BrowserContext, type Page, type Request } from 'playwright-core';

export const URL_BASE = process.env.DASHBOARD_URL ?? 'http://127.0.0.1:7780';
export const TOKEN = process.env.DASHBOARD_TOKEN ?? '';
export const PASSWORD = 'a long enough password';

const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Generous, because other work may load the machine. */
const TIMEOUT_MS = 60_000;
const SETTLED_MS = 10_000;

let browser: Browser | undefined;

export async function openBrowser(): Promise<Browser> {
  browser ??= await chromium.launch({ executablePath: process.env.BINDERY_TEST_CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
  return browser;
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

export async function api<T = unknown>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<{ status: number; body: T }> {
  const answer = await fetch(`${URL_BASE}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text ? JSON.parse(text) : null) as T };
}

interface Created {
  data: { id: string; attributes: Record<string, unknown>; published_at: string | null };
}

export const create = async (blueprint: string, attributes: Record<string, unknown>, publishedAt?: string): Promise<string> => {
  const answer = await api<Created>('POST', `/v2/resources/${blueprint}`, { attributes, ...(publishedAt ? { published_at: publishedAt } : {}) });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data.id;
};

export const read = async (blueprint: string, id: string, query = ''): Promise<Created['data']> => (await api<Created>('GET', `/v2/resources/${blueprint}/${id}${query}`)).body.data;

/** A link that lets a new member choose a password. */
export async function invitationFor(name: string, role: string): Promise<{ url: string; email: string }> {
  const email = `${name.toLowerCase().replace(/[^a-z]+/g, '-').replace(/^-/, '')}-${Math.random().toString(36).slice(2, 8)}@example.org`;
  const member = await api<{ data: { id: number } }>('POST', '/v2/members', { name, email, role });
  const invitation = await api<{ data: { url: string } }>('POST', `/v2/members/${member.body.data.id}/invitations`, {});
  return { url: invitation.body.data.url, email };
}

export interface Person {
  context: BrowserContext;
  page: Page;
  email: string;
  /** Exceptions, dialogs, violations of the content security policy, and what else the console reported as an error. */
  troubles: string[];
}

interface Looks {
  scheme?: 'light' | 'dark';
  locale?: string;
  width?: number;
  height?: number;
}

/** A member who is signed in, in a browser profile of their own. */
export async function signedIn(name: string, role: string, looks: Looks = {}): Promise<Person> {
  const { url, email } = await invitationFor(name, role);
  const token = url.split('#')[1]!;
  const context = await (await openBrowser()).newContext({
    viewport: { width: looks.width ?? 1280, height: looks.height ?? 900 }, colorScheme: looks.scheme ?? 'light', locale: looks.locale ?? 'en-GB', baseURL: URL_BASE,
  });
  // The same call that the invitation screen makes; that screen has a journey of its own.
  const answer = await context.request.post(`${URL_BASE}/v2/invitation`, { data: { token, password: PASSWORD } });
  if (!answer.ok()) throw new Error(await answer.text());
  context.setDefaultTimeout(TIMEOUT_MS);
  const troubles: string[] = [];
  await context.exposeBinding('reportViolation', (_source, text: string) => void troubles.push(text));
  await context.addInitScript(() => {
    addEventListener('securitypolicyviolation', (event) => {
      const report = (window as unknown as { reportViolation?: (text: string) => void }).reportViolation;
      report?.(`policy: ${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  const page = await context.newPage();
  countRequests(page);
  page.on('console', (message) => message.type() === 'error' && !/Failed to load resource|net::ERR/.test(message.text()) && troubles.push(message.text()));
  page.on('pageerror', (error) => troubles.push(error.message));
  page.on('dialog', (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return { context, page, email, troubles };
}

/** Requests of pages that were not answered yet. */
const underWay = new WeakMap<Page, Set<Request>>();

function countRequests(page: Page): void {
  const requests = new Set<Request>();
  underWay.set(page, requests);
  // Pictures of other hosts may never be answered.
  page.on('request', (request) => request.url().startsWith(URL_BASE) && requests.add(request));
  page.on('requestfinished', (request) => requests.delete(request));
  page.on('requestfailed', (request) => requests.delete(request));
  page.on('framenavigated', (frame) => frame === page.mainFrame() && requests.clear());
}

/**
 * Waits until a screen asks for nothing more, and shows what it was answered; not for long, because some content takes long.
 * Requests that the test holds back are not waited for.
 */
export async function settled(page: Page, heldBack?: RegExp): Promise<void> {
  const requests = (): Request[] => [...(underWay.get(page) ?? [])].filter((one) => !heldBack?.test(one.url()));
  for (const start = Date.now(), quiet = { rounds: 0 }; quiet.rounds < 3 && Date.now() - start < SETTLED_MS; ) {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20))));
    const busy = requests().length > 0 || (await page.locator('[aria-busy=true]').count()) > 0;
    quiet.rounds = busy ? 0 : quiet.rounds + 1;
  }
}

export async function open(page: Page, path: string): Promise<void> {
  await page.goto(`/admin${path}`);
  await page.locator('#screen h1').first().waitFor().catch(async (error: Error) => {
    throw new Error(`${path} shows no heading: ${(await page.locator('body').innerText()).slice(0, 300)}`, { cause: error });
  });
}

export const field = (page: Page, slug: string) => page.locator(`[data-field="${slug}"]`);

export const toast = (page: Page, text: string) => page.locator('.toast', { hasText: text }).first().waitFor();

/** Chooses in the search over everything. */
export async function choose(page: Page, words: string): Promise<void> {
  await page.keyboard.press('Control+k');
  const search = page.getByRole('dialog', { name: 'Search everything' });
  await search.waitFor();
  await page.keyboard.type(words);
  await search.getByRole('option', { selected: true }).filter({ hasText: new RegExp(words, 'i') }).waitFor();
  await page.keyboard.press('Enter');
}

/** Presses Tab, or another key, until the focus is at what has this name, and fails if it never is. */
export async function reach(page: Page, name: string | RegExp, key = 'Tab'): Promise<void> {
  const wanted = typeof name === 'string' ? `^${name}$` : name.source;
  for (let step = 0; step < 400; step += 1) {
    const found = await page.evaluate((pattern) => {
      const element = document.activeElement as HTMLElement;
      return new RegExp(pattern).test((element.getAttribute('aria-label') ?? element.textContent ?? '').trim());
    }, wanted);
    if (found) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${wanted} is not reached`);
}

export async function press(page: Page, name: string | RegExp): Promise<void> {
  await reach(page, name);
  await page.keyboard.press('Enter');
}

/** A blueprint with every type of field. */
export const EVERY_TYPE = [
  ['Text', 'text'], ['Rich', 'rich-text'], ['Page', 'html-page'], ['Slug', 'slug'], ['Email', 'email'], ['Link', 'link'], ['Image', 'image'], ['File', 'file'],
  ['Choice', 'enum', { values: ['red', 'green', 'blue'] }], ['Free', 'enum', { values: null }], ['Choices', 'multi-enum', { values: ['a', 'b', 'c'] }], ['Tags', 'multi-enum', { values: null }],
  ['Flag', 'boolean'], ['Colour', 'color'], ['Number', 'number'], ['Price', 'money', { currencies: ['EUR', 'USD'] }], ['Day', 'date'], ['Moment', 'datetime'],
  ['Length', 'duration', { unit: 'minutes', min: 0, max: 100 }], ['One', 'reference', { blueprint: 'authors' }], ['Many', 'references', { blueprint: 'authors' }], ['Member', 'user'], ['Place', 'address'],
] as const;

export async function makeBlueprint(slug: string, more: Record<string, unknown> = {}, fields: readonly (readonly unknown[])[] = EVERY_TYPE): Promise<void> {
  const answer = await api('POST', '/v2/blueprints', { name: slug, slug, record_title: 'text', fields: fields.map(([name, type, settings]) => ({ name, slug: String(name).toLowerCase(), type, settings: settings ?? {} })), ...more });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
}
