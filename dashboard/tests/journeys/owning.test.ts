// Webhooks, the own account, and names that attack.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { api, closeBrowser, create, makeBlueprint, open, openBrowser, PASSWORD, settled, signedIn, toast } from '../browser';

after(closeBrowser);

test('an owner makes a webhook, tests it, looks at what was delivered, pauses and deletes it', async (journey) => {
  const received: { op: string }[] = [];
  let status = 500;
  const receiver = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => (text += part)).on('end', () => {
      received.push(JSON.parse(text) as { op: string });
      response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => receiver.once('listening', resolve));
  journey.after(() => receiver.close().closeAllConnections());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/settings/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  await page.locator('dialog').getByLabel('Name').fill('Site');
  await page.locator('dialog').getByLabel('Address').fill('https://user:secret@example.org');
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.locator('dialog .fault').first().waitFor();
  await page.locator('dialog').getByLabel('Address').fill(url);
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByRole('textbox', { name: 'Secret for the signatures' }).waitFor();
  await page.getByRole('button', { name: 'Done' }).click();

  await page.getByRole('button', { name: 'Send a test to Site' }).click();
  await page.locator('.toast', { hasText: '500' }).waitFor();
  status = 204;
  await page.getByRole('button', { name: 'Send a test to Site' }).click();
  await page.locator('.toast', { hasText: 'Delivered in' }).waitFor();
  assert.equal(received.at(-1)!.op, 'test');
  // A test is not among the deliveries, which are of changes.
  await makeBlueprint('delivered-notes', {}, [['Text', 'text']]);
  await create('delivered-notes', { text: 'A note' });
  const { data: [webhook] } = (await api<{ data: { id: string }[] }>('GET', '/v2/webhooks')).body;
  const states = async () => (await api<{ data: { state: string }[] }>('GET', `/v2/webhooks/${webhook!.id}/deliveries`)).body.data.map((one) => one.state);
  while (!(await states()).includes('delivered')) await page.waitForTimeout(30);
  await page.getByRole('button', { name: 'Deliveries of Site' }).click();
  await page.locator('dialog').getByText('Delivered').first().waitFor();
  // The open dialog shows later deliveries, too.
  await create('delivered-notes', { text: 'A later note' });
  await page.locator('dialog li').nth(1).getByText('Delivered').waitFor();
  await page.getByRole('button', { name: 'Close' }).first().click();

  await page.getByRole('button', { name: 'Edit Site' }).click();
  await page.locator('dialog').getByLabel('Active').uncheck();
  await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
  await page.getByText('Paused').waitFor();
  assert.equal((await api<{ data: { active: boolean }[] }>('GET', '/v2/webhooks')).body.data[0]!.active, false);
  await page.getByRole('button', { name: 'Remove Site' }).click();
  await page.locator('dialog').getByRole('button', { name: 'Delete' }).click();
  await toast(page, 'Deleted');
  assert.deepEqual((await api<{ data: unknown[] }>('GET', '/v2/webhooks')).body.data, []);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a member sees where they are signed in, ends another session, and changes the password', async () => {
  const { page, context, email } = await signedIn('Olga Petrova', 'author');
  const other = await (await openBrowser()).newContext({ baseURL: new URL(page.url() === 'about:blank' ? process.env.DASHBOARD_URL! : page.url()).origin });
  assert.equal((await other.request.post('/v2/session', { data: { email, password: PASSWORD } })).status(), 200);
  await open(page, '/settings/account');
  await page.getByText('This browser').waitFor();
  assert.equal(await page.locator('.avatar').first().innerText(), 'OP');
  assert.equal(await page.locator('tbody tr').count(), 2);
  await page.locator('tbody tr', { hasNotText: 'This browser' }).getByRole('button', { name: 'Sign out' }).click();
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
  assert.equal((await other.request.get('/v2/session')).status(), 401);

  // Everybody changes their own password, whatever their role.
  await page.getByLabel('Current password').fill('not my password');
  await page.getByLabel('New password').fill('another long password');
  await page.getByRole('button', { name: 'Change password' }).click();
  await page.getByText('This is not your present password.').waitFor();
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Change password' }).click();
  await toast(page, 'Password changed');
  assert.equal(await page.getByLabel('Current password').inputValue(), '');
  await page.reload();
  await page.getByText('This browser').waitFor();
  assert.equal((await other.request.post('/v2/session', { data: { email, password: PASSWORD } })).status(), 401);
  assert.equal((await other.request.post('/v2/session', { data: { email, password: 'another long password' } })).status(), 200);
  await other.close();
  await context.close();
});

test('names of blueprints, fields, members, tokens, values and files are only text', async () => {
  const evil = '<img src=x onerror=top.hit=1>"\'><script>top.hit=1</script>';
  await makeBlueprint('hostile-names', { name: evil, record_title: 'text', variants: [{ name: evil, slug: 'en', default: true }, { name: evil, slug: 'de', default: false }] }, [['Text', 'text'], ['Choice', 'enum', { values: [evil, 'b'] }], ['Tags', 'multi-enum', { values: null }], ['File', 'file'], ['Picture', 'image'], ['One', 'reference', { blueprint: 'hostile-names' }]].map(([name, type, settings]) => [name, type, settings]));
  const first = await create('hostile-names', { text: evil, choice: evil, tags: [evil] });
  const address = 'https://www.example.com/%22%3E%3Cscript%3Etop.hit=1%3C/script%3E.pdf';
  const id = await create('hostile-names', { text: evil, choice: evil, tags: [evil, 'x'], one: first, file: address, picture: address });
  await api('POST', '/v2/members', { name: evil, email: `evil-${Date.now()}@example.org`, role: evil });
  await api('POST', '/v2/tokens', { name: evil, abilities: ['view'] });
  await api('POST', '/v2/webhooks', { name: evil, url: 'https://www.example.com/hook', events: ['created'], active: false });
  const { page, context, troubles } = await signedIn(evil, 'owner');
  // In an address: without what the server takes for the name of a file, and answers itself.
  const inAddress = encodeURIComponent(evil.replaceAll('top.hit', 'hit').replaceAll('/', ''));
  const screens = ['/', '/content/hostile-names', `/content/hostile-names?search=${encodeURIComponent('img onerror')}`, `/content/hostile-names/${id}`, `/content/hostile-names/${id}?variant=de`, '/blueprints', '/blueprints/hostile-names', '/blueprints/hostile-names?tab=api', '/settings/members', '/settings/tokens', '/settings/webhooks', '/settings/account', `/content/${inAddress}`, `/settings/${inAddress}`];
  for (const screen of screens) {
    await open(page, screen);
    await settled(page);
    assert.equal(await page.evaluate(() => (window as unknown as { hit?: number }).hit), undefined, screen);
    assert.equal(await page.locator('#app img[src=x], #app [onerror]').count(), 0, screen);
  }
  await page.keyboard.press('Control+k');
  await page.keyboard.type('onerror');
  await settled(page);
  assert.equal(await page.evaluate(() => (window as unknown as { hit?: number }).hit), undefined, 'search');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the health page names the other servers of a cluster, and what is wrong with them', async () => {
  const { page } = await signedIn('Clara', 'owner');
  const node = (name: string, ready: boolean, warnings: string[]) => ({ node: name, address: '10.0.0.5:7700', version: '0.1.0', position: 8123, lag: 3, ready, warnings });
  const cluster = { id: 'a', history: 'b', position: 8123, leader: 'node-a', warnings: [], nodes: [node('node-a', true, []), node('node-b', false, ['it has said nothing for 129 seconds'])] };
  await open(page, '/settings/health');
  await page.locator('.figures').first().waitFor();
  // A single server has no such list, and is not asked for one.
  assert.equal(await page.getByRole('heading', { name: 'Servers of the cluster' }).count(), 0);
  await page.route('**/v2/status', async (route) => {
    const status = await (await route.fetch()).json();
    await route.fulfill({ json: status, headers: { 'bindery-number': '1' } });
  });
  await page.route('**/v2/cluster', (route) => route.fulfill({ json: { data: cluster } }));
  await page.reload();
  await page.getByRole('heading', { name: 'Servers of the cluster' }).waitFor();
  assert.match(await page.getByRole('row', { name: /node-a/ }).innerText(), /Ready · leads/);
  assert.match(await page.getByRole('row', { name: /node-b/ }).innerText(), /Not ready[\s\S]*it has said nothing for 129 seconds/);
});
