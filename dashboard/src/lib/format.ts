// Dates, numbers and sizes as the person's locale writes them.
import { locale } from './i18n.svelte';
import { dateFormat, numberFormat, relativeFormat } from './intl';

export const number = (value: number, options?: Intl.NumberFormatOptions): string => numberFormat(locale.tag, options).format(value);

export function dateTime(time: string | null | undefined): string {
  if (!time) return '';
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : dateFormat(locale.tag, { dateStyle: 'medium', timeStyle: 'short' }).format(date);
}

export function day(text: string): string {
  const date = new Date(`${text}T00:00:00Z`);
  return Number.isNaN(date.getTime()) ? text : dateFormat(locale.tag, { dateStyle: 'medium', timeZone: 'UTC' }).format(date);
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000], ['month', 2_592_000], ['week', 604_800], ['day', 86_400], ['hour', 3600], ['minute', 60],
];

/** "3 minutes ago", "in 2 days". */
export function ago(time: string | number, now = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  const format = relativeFormat(locale.tag);
  for (const [unit, length] of STEPS) if (Math.abs(seconds) >= length) return format.format(Math.round(seconds / length), unit);
  return format.format(0, 'second');
}

/** "in 30 days": as settings count, which say days. */
export function inDays(time: string | number, now = Date.now()): string {
  const days = Math.round((new Date(time).getTime() - now) / 86_400_000);
  return days < 1 ? ago(time, now) : relativeFormat(locale.tag).format(days, 'day');
}

export function bytes(size: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'];
  let value = size;
  let step = 0;
  while (value >= 1000 && step < units.length - 1) {
    value /= 1000;
    step += 1;
  }
  return number(value, { style: 'unit', unit: units[step]!, unitDisplay: step === 0 ? 'long' : 'short', maximumFractionDigits: value < 10 && step > 0 ? 1 : 0 });
}

export function money(amount: number, currency: string): string {
  try {
    return number(amount, { style: 'currency', currency });
  } catch {
    return `${amount} ${currency}`;
  }
}
