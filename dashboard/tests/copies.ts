// Shared by the journeys of working copies.
import axe from 'axe-core';
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { api, field, settled, URL_BASE } from './browser';

export const DATE = '2020-02-03T04:05:06.000+00:00';
const FIELDS = [
  { name: 'Text', slug: 'text', type: 'text', required: true },
  { name: 'Summary', slug: 'summary', type: 'text' },
];

export async function makeCopied(slug: string, more: Record<string, unknown> = {}): Promise<void> {
  const answer = await api('POST', '/v2/blueprints', { name: slug, slug, record_title: 'text', working_copy: true, fields: FIELDS, ...more });
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
}

/** The answer to a site, which sees published entries only. */
export async function siteOf(blueprint: string): Promise<(id: string) => Promise<Record<string, unknown>>> {
  const token = await api<{ data: { secret: string } }>('POST', '/v2/tokens', { name: `site of ${blueprint}`, abilities: ['view'] });
  assert.equal(token.status, 201, JSON.stringify(token.body));
  return async (id) => {
    const answer = await fetch(`${URL_BASE}/v2/resources/${blueprint}/${id}`, { headers: { authorization: `Bearer ${token.body.data.secret}` } });
    assert.equal(answer.status, 200);
    return ((await answer.json()) as { data: { attributes: Record<string, unknown> } }).data.attributes;
  };
}

interface Copied {
  published_at: string | null;
  attributes: Record<string, unknown>;
  working_copy: { publish_at: string | null; publish_failed?: unknown } | null;
}
export const working = async (blueprint: string, id: string, query = ''): Promise<Copied> => (await api<{ data: Copied }>('GET', `/v2/resources/${blueprint}/${id}?copy=working${query}`)).body.data;

/** Nothing for axe to say, and nothing that scrolls sideways on a narrow screen. */
export async function isSound(page: Page, name: string): Promise<void> {
  await settled(page);
  if (process.env.COPIES_SHOTS) await page.screenshot({ path: `${process.env.COPIES_SHOTS}/${name}.png` });
  // The content security policy lets nothing be added to the page but by the debugger.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () => await (window as unknown as { axe: typeof axe }).axe.run(document, { iframes: false, resultTypes: ['violations'] }));
  assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes[0]?.html.slice(0, 160)}`), [], name);
  const before = page.viewportSize()!;
  await page.setViewportSize({ width: 360, height: 740 });
  await settled(page);
  if (process.env.COPIES_SHOTS) await page.screenshot({ path: `${process.env.COPIES_SHOTS}/${name}-360.png` });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${name} scrolls sideways`);
  await page.setViewportSize(before);
}

export const input = (page: Page, slug: string) => field(page, slug).getByRole('textbox');
export const status = (page: Page, text: string) => page.locator('.top .badge').getByText(text, { exact: true }).waitFor();
