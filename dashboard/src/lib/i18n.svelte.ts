// The words of the dashboard, in the language of the person: German where it is asked for, else English. Dates and numbers
// follow the locale of the browser if it is of that language.
import de from '../strings/de.json';
import en from '../strings/en.json';
import { numberFormat, pluralRules } from './intl';

export type Key = keyof typeof en;
export type Language = 'en' | 'de';
type Values = Record<string, string | number>;

const tables: Record<Language, Record<string, string>> = { en, de };
const KEPT = 'bindery.language';

function preferred(): Language {
  const kept = localStorage.getItem(KEPT);
  if (kept === 'en' || kept === 'de') return kept;
  return navigator.languages.find((one) => /^(de|en)\b/.test(one))?.startsWith('de') ? 'de' : 'en';
}

class Locale {
  language = $state<Language>(preferred());
  /** The locale for dates and numbers, such as `de-AT`. */
  tag = $derived(navigator.languages.find((one) => one.startsWith(this.language)) ?? this.language);

  choose(language: Language): void {
    this.language = language;
    localStorage.setItem(KEPT, language);
  }
}

export const locale = new Locale();

/**
 * The text of a key. `{name}` is replaced by the value of that name. If `count` is given and the key has forms such as
 * `key.one`, the form of the plural is used.
 */
export function t(key: Key, values: Values = {}): string {
  const table = tables[locale.language];
  let text: string | undefined;
  if (typeof values.count === 'number') text = table[`${key}.${pluralRules(locale.tag).select(values.count)}`];
  text ??= table[key] ?? tables.en[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? numberFormat(locale.tag).format(value) : value;
  });
}
