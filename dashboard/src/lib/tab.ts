// Which tab of the browser this is, and which others are open. A tab keeps its name when its page is loaded again.
const KEY = 'bindery.tab';
const lockOf = (tab: string): string => `${KEY}.${tab}`;
/** Missing where the page is neither from this machine nor over TLS. Then no other tab counts as open. */
const locks = navigator.locks as LockManager | undefined;

export const newTab = (): string => Math.random().toString(36).slice(2, 10);

let name = sessionStorage.getItem(KEY) ?? newTab();
export const thisTab = (): string => name;

/** Settled when the name belongs to this tab only: a duplicate of a tab begins with the name of that one. */
const named = claim();

async function claim(): Promise<void> {
  sessionStorage.setItem(KEY, name);
  if (!locks) return;
  const got = await new Promise<boolean>((answer) => {
    // The tab has the lock as long as it is open.
    const hold = (lock: Lock | null): Promise<never> | void => {
      answer(lock !== null);
      if (lock) return new Promise<never>(() => {});
    };
    locks.request(lockOf(name), { ifAvailable: true }, hold).catch(() => answer(true));
  });
  if (got) return;
  name = newTab();
  return claim();
}

/** The other tabs that are open. */
export async function openTabs(): Promise<Set<string>> {
  await named;
  const held = (await locks?.query())?.held ?? [];
  return new Set(held.map((one) => one.name ?? '').filter((one) => one.startsWith(lockOf(''))).map((one) => one.slice(lockOf('').length)).filter((one) => one !== name));
}
