// Runs the tests: builds them with Vite, starts a server with demonstration content, and hands both to Node's test runner.
//
//   node tests/run.mjs [unit | journeys | screenshots | fluency] [--test-name-pattern …]
//
// BINDERY_BINARY        the server (default: ../target/release/bindery, then ../target/debug/bindery)
// BINDERY_TEST_CHROMIUM the browser (default: /usr/bin/chromium)
// BINDERY_TEST_DATA     the folder with html-hostile.ndjson.zst; without it those payloads are skipped
// DASHBOARD_URL, DASHBOARD_TOKEN  a running server and a token with every ability, instead of one that is started here
//
// DASHBOARD_FILES       if set, the files of ../src/dashboard/dist are served instead of those in the binary
//
// A server without sign-in of its own (its /v2/session is 404) gets the development server in front.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';

const here = path.dirname(fileURLToPath(import.meta.url));
const [which = 'all', ...flags] = process.argv.slice(2);
const children = [];
/** For one file of tests; measurements begin with an import. */
const TEST_TIMEOUT_MS = which === 'fluency' ? 3_600_000 : 900_000;
const scratch = mkdtempSync(path.join(os.tmpdir(), 'bindery-dashboard-'));

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });

function start(command, args, env = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  children.push(child);
  return child;
}

/** Ends every process that was started here, and waits for its end. */
async function stop() {
  const ended = (child) => child.exitCode !== null || child.signalCode !== null;
  const running = children.filter((child) => !ended(child));
  await Promise.all(running.map((child) => new Promise((resolve) => {
    const hard = setTimeout(() => child.kill('SIGKILL'), 10_000);
    child.on('exit', () => resolve(clearTimeout(hard)));
    child.kill();
  })));
  rmSync(scratch, { recursive: true, force: true });
}

async function until(url, good) {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const answer = await fetch(url).catch(() => null);
    if (answer && good(answer)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${url} does not answer`);
}

async function server() {
  if (process.env.DASHBOARD_URL) return { DASHBOARD_URL: process.env.DASHBOARD_URL, DASHBOARD_API: process.env.DASHBOARD_URL, DASHBOARD_TOKEN: process.env.DASHBOARD_TOKEN };
  const binary = process.env.BINDERY_BINARY ?? ['../../target/release/bindery', '../../target/debug/bindery'].map((one) => path.resolve(here, one)).find(existsSync);
  if (!binary) throw new Error('no server to test with: set BINDERY_BINARY');
  const [port, front] = [await freePort(), await freePort()];
  const token = `dashboard-tests-${'x'.repeat(32)}`;
  start(binary, ['serve', '--demo', '--quiet', '--data', path.join(scratch, 'data'), '--listen', `127.0.0.1:${port}`], { BINDERY_ADMIN_TOKEN: token, BINDERY_LOG_FILTER: 'error', BINDERY_ANALYTICS_SITES: 'www.example.com', BINDERY_WEBHOOK_PRIVATE_ADDRESSES: 'true' });
  const url = `http://127.0.0.1:${port}`;
  await until(`${url}/readyz`, (answer) => answer.ok);
  const signsIn = (await fetch(`${url}/v2/session`)).status === 401;
  if (signsIn && !process.env.DASHBOARD_FILES) return { DASHBOARD_URL: url, DASHBOARD_API: url, DASHBOARD_TOKEN: token, BINDERY_BINARY: binary };
  const more = signsIn ? ['--pass', 'yes'] : ['--first', 'dashboard-tests-first-owner'];
  start(process.execPath, [path.resolve(here, '../dev/server.mjs'), '--upstream', url, '--token', token, '--port', String(front), ...more]);
  await until(`http://127.0.0.1:${front}/admin/`, (answer) => answer.ok);
  return { DASHBOARD_URL: `http://127.0.0.1:${front}`, DASHBOARD_API: url, DASHBOARD_TOKEN: token, BINDERY_BINARY: binary };
}

async function compile(folders) {
  const files = folders.flatMap((folder) => readdirSync(path.join(here, folder)).filter((name) => name.endsWith('.test.ts') && new RegExp(process.env.ONLY ?? '').test(name)).map((name) => [`${folder}-${name.slice(0, -8)}`, path.join(here, folder, name)]));
  await build({
    configFile: false, logLevel: 'error', root: path.resolve(here, '..'), plugins: [svelte()],
    build: { ssr: true, outDir: path.join(here, '.built', which), emptyOutDir: true, target: 'node20', rollupOptions: { input: Object.fromEntries(files), output: { entryFileNames: '[name].mjs' } } },
    ssr: { external: ['playwright-core', 'axe-core', 'vite'] },
  });
  return files.map(([name]) => path.join(here, '.built', which, `${name}.mjs`));
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void stop().then(() => process.exit(1)));

let code = 1;
try {
  const folders = which === 'all' ? ['unit', 'journeys'] : [which];
  const files = await compile(folders);
  const env = folders.some((one) => one !== 'unit') ? await server() : {};
  code = await new Promise((resolve) => {
    const run = spawn(process.execPath, ['--test', '--test-concurrency=2', `--test-timeout=${TEST_TIMEOUT_MS}`, ...flags, ...files], { env: { ...process.env, ...env }, stdio: 'inherit' });
    children.push(run);
    run.on('exit', (exit) => resolve(exit ?? 1));
  });
} finally {
  await stop();
}
process.exit(code);
