// Numbers as people type them. The locale says which sign groups digits and which one begins the decimals. What it cannot read
// as one number is refused, not guessed: in English `3,5` may be a German three and a half, or a thirty-five with a slip.
import { numberFormat } from './intl';

interface Signs {
  decimal: string;
  /** The signs that may stand between groups of digits; a space is one everywhere. */
  group: string;
  /** Digits in a group other than the last: 3, in India 2. */
  size: number;
}

const kept = new Map<string, Signs>();

function signsOf(tag: string): Signs {
  let signs = kept.get(tag);
  if (!signs) {
    const parts = numberFormat(tag, { numberingSystem: 'latn', useGrouping: true }).formatToParts(123456789.5);
    const of = (type: string): string | undefined => parts.find((part) => part.type === type)?.value;
    const group = (of('group') ?? '').trim();
    const middle = parts.filter((part) => part.type === 'integer')[1]?.value.length ?? 3;
    // Swiss numbers are grouped by an apostrophe, in either form.
    signs = { decimal: of('decimal') ?? '.', group: group !== '' && '’\''.includes(group) ? '’\'' : group, size: middle };
    kept.set(tag, signs);
  }
  return signs;
}

const escaped = (signs: string): string => signs.replace(/[.\\\]^-]/g, '\\$&');

/** The digits of a text in a locale as programs write them, such as `-1234.5`, or null as for `parseNumber`. */
function programForm(text: string, tag: string): string | null {
  const { decimal, group, size } = signsOf(tag);
  const plain = text.trim().replace(/\u2212/g, '-').replace(/[\u00a0\u202f\u2009]/g, ' ');
  const found = /^([+-]?)(\S.*)$/.exec(plain);
  if (!found) return null;
  const [, sign, digits] = found as unknown as [string, string, string];
  const separator = `[ ${escaped(group)}]`;
  // A group never begins with a zero: `0,123` is a decimal of another locale.
  const grouped = new RegExp(`^[1-9]\\d{0,${size - 1}}(?:(${separator})\\d{${size}})*(?:${separator})\\d{3}(?:[${escaped(decimal)}]\\d*)?$`);
  const simple = new RegExp(`^(?:\\d+[${escaped(decimal)}]?\\d*|[${escaped(decimal)}]\\d+)(?:e[+-]?\\d+)?$`, 'i');
  let one = digits;
  if (grouped.test(digits)) {
    // One kind of sign throughout.
    if (new Set(digits.match(new RegExp(separator, 'g'))).size > 1) return null;
    one = digits.replace(new RegExp(separator, 'g'), '');
  } else if (!simple.test(digits)) return null;
  return `${sign === '-' ? '-' : ''}${one.replace(decimal, '.')}`;
}

/** The number that a text is in a locale, or null if it is none or could be another one elsewhere. */
export function parseNumber(text: string, tag: string): number | null {
  const value = Number(programForm(text, tag) ?? NaN);
  return Number.isFinite(value) ? value : null;
}

/** The digits between the outer zeros, and the power of ten that they begin at: `12e3` for `120.0`. */
function significant(form: string): string {
  const [mantissa = '', exponent = '0'] = form.replace(/^-/, '').toLowerCase().split('e');
  const [whole = '', decimals = ''] = mantissa.split('.');
  const digits = (whole + decimals).replace(/^0+/, '');
  const power = digits.length - decimals.length + Number(exponent);
  return digits === '' ? '0' : `${digits.replace(/0+$/, '')}e${power}`;
}

/** True if a text has digits that its number does not keep, such as more than 17. */
export function isRounded(text: string, tag: string): boolean {
  const value = parseNumber(text, tag);
  return value !== null && significant(programForm(text, tag)!) !== significant(String(value));
}

/** A number as an input shows it: every digit that is stored, with the decimal sign of the locale and no groups. */
export const plainNumber = (value: number, tag: string): string => String(value).replace('.', signsOf(tag).decimal);

/** What an input hands over: a number, or the text as it was typed, which the server rejects at its field. */
export const typedNumber = (text: string, tag: string): number | string => parseNumber(text, tag) ?? text;
