// The parts of a `datetime` value: the API keeps it as it was sent, so an untouched part must come back as it was.

export interface TimeParts {
  /** `YYYY-MM-DDTHH:mm` with seconds and a fraction if there are any: what an input of type datetime-local shows. */
  local: string;
  /** `Z`, an offset such as `+02:00`, or empty if none was given (UTC). */
  offset: string;
}

export function parseTime(value: string): TimeParts {
  const match = /^(\d{4}-\d\d-\d\d)(?:[Tt](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*([Zz]|[+-]\d\d(?::?\d\d)?)?$/.exec(value.trim());
  if (!match) return { local: '', offset: 'Z' };
  return { local: `${match[1]}T${match[2] ?? '00:00'}`, offset: offsetOf(match[3] ?? '') };
}

function offsetOf(text: string): string {
  if (text === '') return '';
  if (text.toUpperCase() === 'Z') return 'Z';
  const digits = text.slice(1).replace(':', '').padEnd(4, '0');
  return `${text[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
}

export const formatTime = ({ local, offset }: TimeParts): string | null => (local ? `${local}${offset || 'Z'}` : null);

/** The offset of this browser's zone at a time of day, such as `+02:00` in summer. */
export function zoneOffset(local: string): string {
  const date = new Date(local || Date.now());
  const minutes = Number.isNaN(date.getTime()) ? 0 : -date.getTimezoneOffset();
  const sign = minutes < 0 ? '-' : '+';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${sign}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

export const OFFSETS = [
  '-12:00', '-11:00', '-10:00', '-09:30', '-09:00', '-08:00', '-07:00', '-06:00', '-05:00', '-04:00', '-03:30', '-03:00', '-02:00', '-01:00',
  'Z', '+01:00', '+02:00', '+03:00', '+03:30', '+04:00', '+04:30', '+05:00', '+05:30', '+05:45', '+06:00', '+06:30', '+07:00', '+08:00', '+08:45',
  '+09:00', '+09:30', '+10:00', '+10:30', '+11:00', '+12:00', '+12:45', '+13:00', '+14:00',
];

/** The end of what an input of type datetime-local takes: more digits of a year are typed by mistake. */
export const LATEST = '9999-12-31T23:59';

/** The moment of such an input, in this browser's zone; null if it has none. */
export function momentOf(local: string): string | null {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** A moment as an input of type datetime-local shows it, in this browser's zone. */
export function localTime(date: Date): string {
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
