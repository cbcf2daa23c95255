// What the server says is wrong with a value, in the words of the dashboard. The server's messages are fixed (a snapshot in its
// tests compares them), so they are recognised by how they begin. One that is not known here is shown as the server wrote it.
import { bytes, number } from './format';
import { locale, t, type Key } from './i18n.svelte';
import type { Blueprint, ErrorBody } from './types';

const QUOTED = '`([^`]*)`';
/** The parts in brackets are `{a}` and `{b}` of the text. */
const KNOWN: [RegExp, Key][] = [
  [/^must not be empty/, 'fault.empty'],
  [/^must be given: no slug can be derived/, 'fault.slug.none'],
  [/^`blueprint` must be given|^relates to the blueprint `[^`]*`, which does not exist/, 'fault.blueprint'],
  [/^`currency` must be given/, 'fault.currency.empty'],
  [/^(?:`\w+` )?must be given/, 'fault.empty'],
  [/^is required: a string of (\d+) to (\d+) characters/, 'fault.length'],
  [/^is required: an absolute URL/, 'fault.url.web'],
  [/^is required: an array of one or more/, 'fault.choose'],
  [/^is required/, 'fault.empty'],
  [/^is not the password of this member/, 'fault.password'],
  [/^(?:element \d+ )?must have (\d+) to (\d+) characters, not/, 'fault.length'],
  [/^must have at most (\d+) characters/, 'fault.long'],
  [/^must have at most (\d+) bytes/, 'fault.bytes'],
  [/^must have at most (\d+) elements/, 'fault.many'],
  [/^must not nest elements more than (\d+) deep/, 'fault.deep'],
  [/^must be unique: another variant/, 'fault.taken'],
  [/^must be unique: field/, 'fault.taken'],
  [/^must be unique: the member/, 'fault.email.taken'],
  [/^must be unique: .*holds this value (?:already|by now)/, 'fault.unique'],
  [new RegExp(`^${QUOTED} is taken by another blueprint`), 'fault.blueprint.taken'],
  [new RegExp(`^must not be ${QUOTED}: the slugs .* are reserved`), 'fault.reserved'],
  [/^must contain only letters, digits, `-`, `_`, `\.`, `~` and `\/`; `[^`]*` contains `(.*)`$/, 'fault.slug'],
  [/^must be a lowercase letter followed by/, 'fault.slug.lower'],
  [/^must be a letter followed by up to/, 'fault.variant'],
  [/^must be one email address/, 'fault.email'],
  [/^must be an absolute URL with one of the schemes .*`mailto`/, 'fault.link'],
  [/^must be an absolute URL/, 'fault.url'],
  [/^must not contain white space, control characters or backslashes/, 'fault.url.space'],
  [/^must be `#RGB`/, 'fault.color'],
  [/^must be an existing date in the form/, 'fault.date'],
  [/^must be (?:a date and time|an ISO 8601 date and time)/, 'fault.datetime'],
  [/^(?:`\w+` )?must be a number of magnitude/, 'fault.number.large'],
  [/^(?:`\w+` )?must be a number, not/, 'fault.number'],
  [/^must be from (\S+) to (\S+), not/, 'fault.between'],
  [/^must be (-?[\d.e+]+) or more, not/, 'fault.least'],
  [/^must be (-?[\d.e+]+) or less, not/, 'fault.most'],
  [/^`min` must not be greater than `max`/, 'fault.minmax'],
  [/^`currency` must be one of ([A-Z, ]+?)(?:, not .*)?$/, 'fault.currency'],
  [/^(?:element \d+ )?must be one of .*, not (?:the string )?`([^`]*)`$/, 'fault.choice'],
  [/^element \d+ must not repeat element \d+: `([^`]*)`/, 'fault.repeat'],
  [/^`values` must not contain `([^`]*)` twice/, 'fault.repeat'],
  [/^`\w+` must be among ([A-Z]{3}(?:, [A-Z]{3})*)/, 'fault.among'],
  [/^`currencies` must have at least one/, 'fault.empty'],
  [/^`values` must have at least one value/, 'fault.values'],
  [/^was changed in the live copy too/, 'fault.live'],
  [/^must be true or false/, 'fault.boolean'],
  [/^must name (?:a resource|resources) of the blueprint/, 'fault.gone'],
  [/^there is no member with the id/, 'fault.member'],
  [/^must be false: only fields of the types/, 'fault.unique.type'],
  [/^must have exactly one default variant/, 'fault.variant.default'],
  [/^must be a word or phrase of 1 to (\d+) characters/, 'fault.word'],
  [/^must not be given twice; .* without case and accents/, 'fault.word.twice'],
  [/^must be null or a question of at most (\d+) characters/, 'fault.question'],
  [/^must be after `from`/, 'fault.after'],
  [/^the file is empty/, 'fault.file.empty'],
  [/^the picture is broken/, 'fault.picture'],
  [/^the picture is too large/, 'fault.picture.large'],
];

/** A count of bytes is said in the unit that it is a round number of. */
function figure(key: Key, text: string): string {
  if (key !== 'fault.bytes') return text;
  const size = Number(text);
  const [unit, step] = ([['MiB', 1 << 20], ['KiB', 1 << 10]] as const).find(([, one]) => size % one === 0) ?? ['bytes', 1];
  return `${number(size / step)} ${unit === 'bytes' ? t('unit.bytes') : unit}`;
}

/** A message of the server at a field, in the language of the person. */
export function faultText(message: string): string {
  for (const [pattern, key] of KNOWN) {
    const found = pattern.exec(message);
    if (found) return t(key, { a: figure(key, found[1] ?? ''), b: found[2] ?? '', example: number(1234.5) });
  }
  return message;
}

/** All messages of a rejected body, each under its field. */
export const faultTexts = (fields: Record<string, string[]>): Record<string, string[]> =>
  Object.fromEntries(Object.entries(fields).map(([slug, messages]) => [slug, [...new Set(messages.map(faultText))]]));

/** The reasons why one resource was refused: each field by its name, if it is about fields. */
export function whyRefused(blueprint: Blueprint, { code, message, count, fields = {} }: ErrorBody): string {
  const named = blueprint.fields.filter(({ slug }) => fields[slug]).map(({ slug, name }) => `${name}: ${faultText(fields[slug]![0] ?? '')}`);
  if (named.length > 0) return named.join('; ');
  return refusal({ code, message, count });
}

/** The words of an error as a whole. English has the server's own words, unless they are about requests. */
export function refusal({ code, message, count }: Pick<ErrorBody, 'code' | 'message' | 'count'>): string {
  if (count !== undefined && /refers? to it by a relation|uses? this file/.test(message)) return t('error.used', { count });
  const most = /the file is too large; at most (\d+) bytes/.exec(message)?.[1];
  if (most) return t('error.large.file', { size: bytes(Number(most)) });
  return (locale.language === 'en' && code !== 'PRECONDITION_FAILED' ? message : codeText(code)) || message;
}

/** What a code of the server means to somebody who cannot change the request. */
const CODES: Record<string, Key> = {
  UNAUTHENTICATED: 'error.signedout',
  NOT_FOUND: 'error.missing',
  SINGULAR_RESOURCE: 'error.singular',
  CONFLICT: 'error.conflict',
  PRECONDITION_FAILED: 'error.changed',
  PAYLOAD_TOO_LARGE: 'error.large',
  VALIDATION_FAILED: 'error.invalid',
  INVALID_FILTER: 'error.filter',
  INTERNAL: 'error.server',
  OVERLOADED: 'error.busy',
  LOG_UNREACHABLE: 'error.unreachable',
  OUTCOME_UNKNOWN: 'error.outcome',
};

export const codeText = (code: string): string | null => (CODES[code] ? t(CODES[code]) : null);
