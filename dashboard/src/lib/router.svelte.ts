// The address of the page: which screen is shown, with which parts and query. Links stay ordinary links.
export const BASE = '/admin';

class Route {
  path = $state('');
  query = $state('');

  constructor() {
    this.read();
    addEventListener('popstate', () => this.read());
  }

  /** The parts of the path behind /admin, decoded. */
  get parts(): string[] {
    return this.path.split('/').filter(Boolean).map(decode);
  }

  private read(): void {
    this.path = location.pathname.slice(BASE.length);
    this.query = location.search;
  }

  go(target: string, how: 'push' | 'replace' = 'push'): void {
    const url = new URL(target, location.href);
    if (url.pathname === location.pathname && url.search === location.search) return;
    if (how === 'push') history.pushState(null, '', url);
    else history.replaceState(history.state, '', url);
    const moved = url.pathname.slice(BASE.length) !== this.path;
    this.read();
    if (moved) scrollTo(0, 0);
  }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = new Route();

/** The address of a screen: `href('content', slug, id)`. */
export const href = (...parts: string[]): string => [BASE, ...parts.map(encodeURIComponent)].join('/');

/** Lets clicks on links within the dashboard change the screen without loading the page again. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = (event.target as Element | null)?.closest?.('a');
  if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${BASE}/`) && link.pathname !== BASE) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  route.go(link.href);
}
