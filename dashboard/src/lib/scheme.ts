// Light or dark: by the system, unless the person chose one.
export type Scheme = 'system' | 'light' | 'dark';
const KEPT = 'bindery.scheme';

export function chosenScheme(): Scheme {
  const kept = localStorage.getItem(KEPT);
  return kept === 'light' || kept === 'dark' ? kept : 'system';
}

export function applyScheme(scheme: Scheme = chosenScheme()): void {
  if (scheme === 'system') {
    localStorage.removeItem(KEPT);
    delete document.documentElement.dataset.scheme;
  } else {
    localStorage.setItem(KEPT, scheme);
    document.documentElement.dataset.scheme = scheme;
  }
}
