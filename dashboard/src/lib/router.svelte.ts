// The address of the page: which screen is shown, with which parts and query. Links stay ordinary links.
export const BASE = '/admin';

interface Hold {
  ask: (leave: () => void) => void;
  url: string;
  /** Links ask, too. */
  always: boolean;
}

class Route {
  path = $state('');
  query = $state('');
  /** The path of the screen that was shown before this one. */
  before = '';

  /** Ask about what is at an address that is not to be left without a question. The last one asks first. */
  private holds: Hold[] = [];
  /** True at an entry of the history that only holds the address of the one before it. */
  private double = false;

  constructor() {
    this.read();
    addEventListener('popstate', () => this.moved());
  }

  /**
   * From now on the browser's Back asks, instead of leaving the screen. For that, the history gets a second entry of this address,
   * which Back leaves. Returns what ends it. With `every way`, links ask, too.
   */
  hold(ask: (leave: () => void) => void, ways: 'back' | 'every way' = 'back'): () => void {
    const hold = { ask, url: location.href, always: ways === 'every way' };
    this.holds = [...this.holds, hold];
    if (!this.double) this.pushDouble(hold.url);
    return () => this.release(hold);
  }

  private release(hold: Hold): void {
    this.holds = this.holds.filter((one) => one !== hold);
  }

  /** Asks, and goes on without a further question of the same kind. */
  private ask(hold: Hold, leave: () => void): void {
    hold.ask(() => {
      this.release(hold);
      leave();
    });
  }

  private pushDouble(url: string): void {
    history.pushState({ ...(history.state as object | null), double: true }, '', url);
    this.double = true;
  }

  private moved(): void {
    const hold = this.holds.at(-1);
    if (hold) {
      this.pushDouble(hold.url);
      return this.ask(hold, () => history.back());
    }
    const stays = this.path === location.pathname.slice(BASE.length) && this.query === location.search;
    // The second entry is left with the first one: nobody presses Back twice.
    if (this.double && stays) {
      this.double = false;
      return history.back();
    }
    this.read();
  }

  /** The parts of the path behind /admin, decoded. */
  get parts(): string[] {
    return this.path.split('/').filter(Boolean).map(decode);
  }

  private read(): void {
    const path = location.pathname.slice(BASE.length);
    if (path !== this.path) this.before = this.path;
    this.path = path;
    this.query = location.search;
    this.double = (history.state as { double?: boolean } | null)?.double ?? false;
  }

  go(target: string, how: 'push' | 'replace' = 'push'): void {
    const url = new URL(target, location.href);
    if (url.pathname === location.pathname && url.search === location.search) return;
    const hold = this.holds.findLast((one) => one.always);
    if (hold) return this.ask(hold, () => this.go(target, how));
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
  // A link in a text that is edited is not followed, wherever it leads.
  if (!link || link.isContentEditable || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${BASE}/`) && link.pathname !== BASE) return;
  if (link.hash && link.pathname === location.pathname) return;
  event.preventDefault();
  route.go(link.href);
}
