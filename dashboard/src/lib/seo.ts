// Checks of a text for search engines, each with what to do. Only looks at values: it must not know how they are edited.
import { parseHtml } from './inert';
import type { Attributes, Blueprint } from './types';

export type SeoRule =
  | 'no_keyword' | 'keyword_in_title' | 'keyword_in_description' | 'keyword_in_slug' | 'keyword_in_first_paragraph' | 'keyword_in_heading'
  | 'title_length' | 'description_length' | 'content_length' | 'headings' | 'image_alternatives';

export interface SeoCheck {
  rule: SeoRule;
  good: boolean;
  /** The figure that the rule looked at, such as the number of characters. */
  count: number;
}

const fold = (text: string): string => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
const has = (text: string, keyword: string): boolean => fold(text).includes(fold(keyword));
const words = (text: string): number => text.split(/\s+/).filter(Boolean).length;

const INLINE = 'a, abbr, b, bdi, bdo, cite, code, data, del, dfn, em, i, ins, kbd, mark, q, ruby, rt, s, samp, small, span, strong, sub, sup, time, u, var';

/** The text, with a space between blocks. */
const textOf = (node: Node): string =>
  [...node.childNodes].map((child) => (!(child instanceof Element) ? (child.textContent ?? '') : child.matches(INLINE) ? textOf(child) : ` ${textOf(child)} `)).join('');

interface Facts {
  words: number;
  headings: number;
  bare: number;
  first: string;
  titles: string[];
}
let known: { html: string; facts: Facts } | null = null;

/** What the rules look at in a text. Kept for the latest text: other fields are typed in while it stays the same. */
function factsOf(html: string): Facts {
  if (known?.html === html) return known.facts;
  const body = parseHtml(html);
  const images = [...body.querySelectorAll('img')];
  const facts: Facts = {
    words: words(textOf(body)),
    headings: body.querySelectorAll('h2, h3').length,
    bare: images.filter((image) => !image.getAttribute('alt')?.trim()).length,
    first: body.querySelector('p')?.textContent ?? '',
    titles: [...body.querySelectorAll('h1, h2, h3')].map((heading) => heading.textContent ?? ''),
  };
  known = { html, facts };
  return facts;
}

export function seoChecks(blueprint: Blueprint, attributes: Attributes): SeoCheck[] {
  const seo = blueprint.seo;
  if (!seo) return [];
  const text = (slug: string | null): string => {
    const value = slug ? attributes[slug] : null;
    if (typeof value === 'string') return value;
    return value && typeof value === 'object' && !Array.isArray(value) && typeof value.html === 'string' ? value.html : '';
  };
  const checks: SeoCheck[] = [];
  const add = (rule: SeoRule, good: boolean, count = 0): void => void checks.push({ rule, good, count });

  const title = text(seo.title);
  const description = text(seo.description);
  if (seo.title) add('title_length', title.length >= 20 && title.length <= 65, title.length);
  if (seo.description) add('description_length', description.length >= 70 && description.length <= 160, description.length);

  const body = factsOf(text(seo.content));
  if (seo.content) {
    add('content_length', body.words >= 300, body.words);
    add('headings', body.words < 300 || body.headings > 0, body.headings);
    add('image_alternatives', body.bare === 0, body.bare);
  }
  if (seo.focus_keyword) {
    const keyword = text(seo.focus_keyword).trim();
    if (!keyword) add('no_keyword', false);
    else {
      if (seo.title) add('keyword_in_title', has(title, keyword));
      if (seo.description) add('keyword_in_description', has(description, keyword));
      if (seo.slug) add('keyword_in_slug', has(text(seo.slug).replace(/[-_/]/g, ' '), keyword) || has(text(seo.slug), keyword.replace(/\s+/g, '-')));
      if (seo.content) {
        add('keyword_in_first_paragraph', has(body.first, keyword));
        add('keyword_in_heading', body.titles.some((heading) => has(heading, keyword)));
      }
    }
  }
  return checks;
}
