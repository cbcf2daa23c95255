// Where in the forms the server's objections to a blueprint belong: each stands at its input.
import type { ApiError } from '../lib/api';
import { faultText } from '../lib/faults';

/** The texts by the path of their input, such as `name`, `variants.0.slug` or `fields.2.values`. */
export type BlueprintFaults = Record<string, string[]>;

/** The server names a setting of a field at the beginning of its message. */
const SETTING = /^`(values|currencies|default_currency|unit|min|max|blueprint|on_delete|display|role|blocks)`/;

export function placed(error: ApiError): BlueprintFaults {
  const faults: BlueprintFaults = {};
  for (const [path, messages] of Object.entries(error.messages)) {
    for (const message of messages) {
      const field = /^(fields\.\d+)\.settings/.exec(path)?.[1];
      const setting = /^fields\.\d+\.settings\.(\w+)/.exec(path)?.[1] ?? SETTING.exec(message)?.[1];
      const place = field ? (setting ? `${field}.${setting}` : field) : path;
      const texts = (faults[place] ??= []);
      const text = faultText(message);
      if (!texts.includes(text)) texts.push(text);
    }
  }
  return faults;
}

/** The number of the field that a path belongs to, or null. */
export const fieldNumber = (path: string): number | null => {
  const found = /^fields\.(\d+)/.exec(path);
  return found ? Number(found[1]) : null;
};
