// The periods that the traffic page offers, in UTC days as the API counts them.
export type Period = 'today' | '7d' | '30d' | '90d' | '12m' | 'custom';
export const PERIODS: Period[] = ['today', '7d', '30d', '90d', '12m', 'custom'];

export interface Range {
  start: string;
  end: string;
  interval: 'hour' | 'day' | 'week' | 'month';
}

const DAY = 86_400_000;
const iso = (time: number): string => new Date(time).toISOString().slice(0, 10);

export function rangeOf(period: Period, custom: { start: string; end: string }, now = Date.now()): Range {
  const end = iso(now);
  const back = (days: number): string => iso(now - (days - 1) * DAY);
  switch (period) {
    case 'today':
      return { start: end, end, interval: 'hour' };
    case '7d':
      return { start: back(7), end, interval: 'day' };
    case '90d':
      return { start: back(90), end, interval: 'day' };
    case '12m':
      return { start: back(365), end, interval: 'month' };
    case 'custom':
      return { ...custom, interval: intervalOf(custom.start, custom.end) };
    default:
      return { start: back(30), end, interval: 'day' };
  }
}

/** The same number of days, ending the day before: what the server's own changes compare with. */
export function periodBefore({ start, end }: { start: string; end: string }): { start: string; end: string } {
  const days = Math.round((Date.parse(end) - Date.parse(start)) / DAY) + 1;
  return { start: iso(Date.parse(start) - days * DAY), end: iso(Date.parse(start) - DAY) };
}

/** A change in per cent. As the server does it: from nothing to something is 100. */
export const changeOf = (before: number, now: number): number => (before === 0 ? (now > 0 ? 100 : 0) : ((now - before) / before) * 100);

function intervalOf(start: string, end: string): Range['interval'] {
  const days = (Date.parse(end) - Date.parse(start)) / DAY + 1;
  if (days <= 2) return 'hour';
  if (days <= 100) return 'day';
  return days <= 400 ? 'week' : 'month';
}
