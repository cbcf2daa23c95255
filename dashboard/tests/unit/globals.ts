// What the browser has and Node has not, for modules that look at it when they are loaded.
Object.defineProperty(globalThis, 'navigator', { value: { languages: ['en-GB', 'de-DE'] }, configurable: true });
Object.defineProperty(globalThis, 'location', { value: { href: 'http://127.0.0.1:7700/admin/', pathname: '/admin/', search: '' }, configurable: true });
Object.defineProperty(globalThis, 'addEventListener', { value: () => {}, configurable: true });
for (const name of ['localStorage', 'sessionStorage']) {
  const kept = new Map<string, string>();
  Object.defineProperty(globalThis, name, {
    value: {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
      clear: () => kept.clear(),
      key: (index: number) => [...kept.keys()][index] ?? null,
      get length() {
        return kept.size;
      },
    },
  });
}
