// Addresses as people type and paste them.

/** Endings that a relative address of a file has more often than a host. */
const FILES = /\.(html?|php|aspx?|jsp|pdf|png|jpe?g|gif|svg|webp|css|js|json|xml|txt|md|zip|docx?|xlsx?|mp[34])$/i;
const HOST = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+(?:\p{L}{2,}|xn--[a-z0-9-]+)(?::\d{1,5})?(?:[/?#]\S*)?$/u;
const EMAIL = /^[^\s@:/?#]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}$/u;
const WEB = /^https?:\/\/[^\s/?#]+\S*$/i;

/** An address with its scheme: `example.com` is a host, `me@example.com` is mail, `/path` stays. */
export function completeAddress(typed: string): string {
  const address = typed.trim();
  if (EMAIL.test(address)) return `mailto:${address}`;
  return HOST.test(address) && !FILES.test(address) ? `https://${address}` : address;
}

/** The address that a text is as a whole, or null. */
export function addressOf(text: string): string | null {
  const complete = completeAddress(text);
  return WEB.test(complete) || /^(mailto|tel):\S+$/i.test(complete) ? complete : null;
}

export interface FoundLink {
  from: number;
  to: number;
  href: string;
}

const CANDIDATE = /(?:https?:\/\/|www\.)[^\s<>"\ufffc]+|[^\s<>"@(),:;/\ufffc]+@[\p{L}\p{N}.-]+\.\p{L}{2,}/giu;

/** The addresses in a text: those that begin with a scheme or `www.`, and mail. Punctuation at their end belongs to the sentence. */
export function findLinks(text: string): FoundLink[] {
  const found: FoundLink[] = [];
  for (const match of text.matchAll(CANDIDATE)) {
    let address = match[0].replace(/[.,;:!?'"»”’]+$/u, '');
    if (address.endsWith(')') && !address.includes('(')) address = address.slice(0, -1).replace(/[.,;:!?]+$/, '');
    const href = addressOf(address);
    if (href) found.push({ from: match.index, to: match.index + address.length, href });
  }
  return found;
}
