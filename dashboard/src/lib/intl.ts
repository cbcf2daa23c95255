// The browser's formatters, kept: making one takes longer than using it, and a table uses hundreds.
const kept = new Map<string, unknown>();

function keep<T>(kind: string, tag: string, options: object | undefined, make: () => T): T {
  const key = `${kind}|${tag}|${options ? JSON.stringify(options) : ''}`;
  let found = kept.get(key) as T | undefined;
  if (found === undefined) kept.set(key, (found = make()));
  return found;
}

export const numberFormat = (tag: string, options?: Intl.NumberFormatOptions): Intl.NumberFormat => keep('number', tag, options, () => new Intl.NumberFormat(tag, options));
export const dateFormat = (tag: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => keep('date', tag, options, () => new Intl.DateTimeFormat(tag, options));
export const relativeFormat = (tag: string): Intl.RelativeTimeFormat => keep('ago', tag, undefined, () => new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }));
export const pluralRules = (tag: string): Intl.PluralRules => keep('plural', tag, undefined, () => new Intl.PluralRules(tag));
export const listFormat = (tag: string): Intl.ListFormat => keep('list', tag, undefined, () => new Intl.ListFormat(tag, { type: 'conjunction' }));
