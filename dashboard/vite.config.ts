import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The build is embedded in the server's binary and compared byte for byte by CI, so nothing in it may depend on the
// machine or the time. Everything is a file of its own: the content security policy allows no inline script or style.
export default defineConfig({
  base: '/admin/',
  plugins: [svelte()],
  build: {
    outDir: '../src/dashboard/dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 600,
    reportCompressedSize: true,
  },
});
