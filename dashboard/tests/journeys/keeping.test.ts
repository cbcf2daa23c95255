// Nothing that was typed is lost: blueprints, dialogs, deleted entries, restarts, ended sessions, and a second tab.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, PASSWORD, read, signedIn, toast } from '../browser';

after(closeBrowser);

const textOf = (page: Page, slug = 'text') => field(page, slug).getByRole('textbox');
const unsaved = (page: Page, text: string) => page.waitForFunction((wanted) => Object.values(localStorage).some((kept) => String(kept).includes(wanted)), text);

test('work on a blueprint survives a link, the way back and a reload, and is found from the home screen', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/new');
  const name = page.getByLabel('Name', { exact: true }).first();
  await name.fill('Keepsakes');
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.getByRole('button', { name: /^Choice/ }).click();
  await page.locator('[id^="field-name-"]').fill('Course');
  await page.getByLabel('Any value may be typed').uncheck();
  await page.getByLabel('Values, one a line').pressSequentially('starter\nmain');
  // Without leaving the input.
  await page.reload();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await name.inputValue(), 'Keepsakes');
  await page.locator('.open', { hasText: 'Course' }).click();
  assert.equal(await page.getByLabel('Values, one a line').inputValue(), 'starter\nmain');
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('link', { name: /Keepsakes/ }).waitFor();
  await page.goBack();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await name.inputValue(), 'Keepsakes');

  // A second one is empty, and says where the first is.
  await page.getByRole('link', { name: 'Home', exact: true }).click();
  await page.getByRole('heading', { name: 'Not saved yet' }).waitFor();
  await open(page, '/blueprints/new');
  assert.equal(await name.inputValue(), '');
  await page.getByRole('link', { name: 'Open it' }).click();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await name.inputValue(), 'Keepsakes');
  await page.getByRole('button', { name: 'Create the blueprint' }).click();
  await page.getByRole('heading', { name: 'No entries in Keepsakes yet' }).waitFor();

  await open(page, '/blueprints/keepsakes?tab=settings');
  await name.fill('Renamed');
  await page.getByRole('link', { name: 'Show the entries' }).click();
  await page.getByRole('heading', { name: 'Keepsakes', exact: true }).waitFor();
  await page.goBack();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await name.inputValue(), 'Renamed');
  await page.getByRole('button', { name: 'Discard my changes' }).click();
  assert.equal(await name.inputValue(), 'Keepsakes');
  // As in the form of an entry, Undo brings the changes back, until the screen is left.
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).press('Enter');
  assert.equal(await name.inputValue(), 'Renamed');
  await page.getByRole('button', { name: 'Discard my changes' }).click();
  await page.locator('.toast').getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('link', { name: 'Show the entries' }).click();
  await page.locator('.toast').waitFor({ state: 'detached' });
  await page.goBack();
  await name.waitFor();
  assert.equal(await name.inputValue(), 'Keepsakes');
  await page.reload();
  await name.waitFor();
  assert.equal(await page.getByText('Work that was not saved').count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('Back asks before it drops what was typed in a dialog, and leads on when nothing is left to lose', async () => {
  const { page, context, troubles } = await signedIn('Ola', 'owner');
  for (const [section, add] of [['webhooks', 'New webhook'], ['tokens', 'New token'], ['members', 'Add a member']] as const) {
    await open(page, '/settings/account');
    await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: section, exact: false }).click();
    await page.getByRole('button', { name: add }).first().click();
    const dialog = page.locator('dialog');
    await dialog.getByLabel('Name').fill('Half typed');
    for (const round of [1, 2]) {
      await page.goBack();
      await dialog.getByText('What you typed here is not saved').waitFor();
      assert.equal(await dialog.getByLabel('Name').inputValue(), 'Half typed', `${section}, ${round}`);
      await dialog.getByRole('button', { name: 'Keep editing' }).click();
    }
    await page.keyboard.press('Control+k');
    assert.equal(await page.locator('dialog').count(), 1, 'the search does not open over a dialog');
    await page.goBack();
    await dialog.getByRole('button', { name: 'Discard' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.ok(page.url().endsWith(`/settings/${section}`), page.url());
    await page.goBack();
    await page.waitForURL('**/settings/account');
    await page.goForward();
    await page.waitForURL(`**/settings/${section}`);
  }
  // A reload is the browser's to ask about.
  await page.getByRole('button', { name: 'Add a member' }).first().click();
  await page.locator('dialog').getByLabel('Name').fill('Half typed');
  await page.reload({ timeout: 3000 }).catch(() => {});
  assert.equal(await page.locator('dialog').getByLabel('Name').inputValue(), 'Half typed');
  assert.deepEqual(troubles.map((one) => one.slice(0, 7)), ['dialog:']);
  await context.close();
});

test('a field of a blueprint that is half typed is found again after Back', async () => {
  const { page, context } = await signedIn('Ola', 'owner');
  await open(page, '/blueprints');
  await page.locator('#screen').getByRole('link', { name: /Authors/ }).first().click();
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.locator('dialog').getByRole('button').filter({ hasText: 'Number' }).first().click();
  await page.keyboard.type('Half typed');
  await page.goBack();
  await page.waitForURL('**/admin/blueprints');
  await page.goForward();
  await page.getByText('half_typed').waitFor();
  await page.getByRole('button', { name: 'Discard' }).click();
  await context.close();
});

test('a dialog stays when one clicks beside it or selects outwards, and Escape asks before it drops what was typed', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/settings/webhooks');
  await page.getByRole('button', { name: 'New webhook' }).first().click();
  const dialog = page.locator('dialog');
  assert.equal(await page.evaluate(() => document.activeElement?.closest('label')?.textContent?.trim()), 'Name', 'the first input has the focus');
  await page.keyboard.type('Half typed');
  await page.mouse.click(5, 5);
  const box = (await dialog.getByLabel('Name').boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(4, 400, { steps: 5 });
  await page.mouse.up();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Half typed');
  await page.keyboard.press('Escape');
  await dialog.getByText('What you typed here is not saved').waitFor();
  await dialog.getByRole('button', { name: 'Keep editing' }).click();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Half typed');
  await dialog.getByLabel('Address').fill('https://www.example.com/hook');
  await dialog.getByRole('button', { name: 'Save' }).click();

  const secret = page.getByRole('textbox', { name: 'Secret for the signatures' });
  await secret.waitFor();
  await page.mouse.click(5, 5);
  const line = (await secret.boundingBox())!;
  await page.mouse.move(line.x + 20, line.y + line.height / 2);
  await page.mouse.down();
  await page.mouse.move(line.x - 300, line.y + 300, { steps: 5 });
  await page.mouse.up();
  assert.ok(await secret.isVisible());
  assert.ok((await secret.inputValue()).length > 20);
  await page.keyboard.press('Escape', { delay: 35 });
  await page.keyboard.press('Escape', { delay: 35 });
  assert.ok(await secret.isVisible(), 'it is not shown again');
  await page.getByRole('button', { name: 'Done' }).press('Enter');
  await secret.waitFor({ state: 'detached' });
  for (const one of (await api<{ data: { id: number }[] }>('GET', '/v2/webhooks')).body.data) await api('DELETE', `/v2/webhooks/${one.id}`);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what was typed into an entry that somebody deletes can be saved as a new one, also after a reload', async () => {
  await makeBlueprint('deleted-notes', { record_title: 'text' }, [['Text', 'text'], ['Other', 'text']]);
  for (const how of ['save', 'reload', 'look'] as const) {
    const id = await create('deleted-notes', { text: 'Before', other: 'Untouched' });
    const { page, context, troubles } = await signedIn('Ada', 'editor');
    await open(page, `/content/deleted-notes/${id}`);
    await textOf(page).fill(`Typed before the ${how}`);
    await unsaved(page, `Typed before the ${how}`);
    await api('DELETE', `/v2/resources/deleted-notes/${id}`);
    if (how === 'save') await page.keyboard.press('Control+s');
    if (how === 'reload') await page.reload();
    if (how === 'look') await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.getByText('This entry was deleted').waitFor();
    assert.equal(await textOf(page).inputValue(), `Typed before the ${how}`);
    await page.goto('/admin/');
    await page.getByRole('link', { name: `Typed before the ${how}` }).click();
    await page.getByRole('button', { name: 'Save it as a new entry' }).click();
    await toast(page, 'Saved');
    const fresh = page.url().split('/').pop()!;
    assert.notEqual(fresh, id);
    const { attributes } = await read('deleted-notes', fresh);
    assert.equal(attributes.text, `Typed before the ${how}`);
    // The browser keeps what was typed; with the entry still open when it vanished, all of it.
    if (how !== 'reload') assert.equal(attributes.other, 'Untouched');
    await page.goto('/admin/');
    await page.getByRole('heading', { name: /^Hello/ }).waitFor();
    assert.equal(await page.getByRole('heading', { name: 'Not saved yet' }).count(), 0);
    assert.deepEqual(troubles, []);
    await context.close();
  }
});

test('an entry that was deleted while it was open is saved once it is back, or restored from the form', async () => {
  await makeBlueprint('restored-notes', { record_title: 'text', trash: { days: 30 } }, [['Text', 'text'], ['Other', 'text']]);
  for (const how of ['save', 'new', 'look', 'button'] as const) {
    const id = await create('restored-notes', { text: 'Before', other: 'Untouched' });
    const { page, context, troubles } = await signedIn('Ada', 'editor');
    await open(page, `/content/restored-notes/${id}`);
    await textOf(page).fill('Typed');
    await api('DELETE', `/v2/resources/restored-notes/${id}`);
    await page.keyboard.press('Control+s');
    await page.getByText('This entry was deleted').waitFor();
    if (how !== 'button') {
      await api('POST', `/v2/trash/${id}/restore?blueprint=restored-notes`, {});
      // Somebody else goes on with it.
      await api('PATCH', `/v2/resources/restored-notes/${id}`, { attributes: { other: 'Changed since' } });
    }
    if (how === 'save') await page.keyboard.press('Control+s');
    if (how === 'new') await page.getByRole('button', { name: 'Save it as a new entry' }).click();
    if (how === 'look') await page.evaluate(() => dispatchEvent(new Event('focus')));
    if (how === 'button') {
      await page.getByRole('button', { name: 'Restore it from the trash' }).click();
      await toast(page, 'It is back.');
    }
    await page.getByText('This entry was deleted').waitFor({ state: 'detached' });
    assert.equal(await textOf(page).inputValue(), 'Typed');
    if (how === 'look' || how === 'button') await page.keyboard.press('Control+s');
    await toast(page, 'Saved');
    assert.equal(page.url().split('/').pop(), id);
    assert.deepEqual((await read('restored-notes', id)).attributes, { text: 'Typed', other: how === 'button' ? 'Untouched' : 'Changed since' }, how);
    assert.deepEqual(troubles, []);
    await context.close();
  }
});

test('an entry that somebody deletes is not kept by one who only reads it', async () => {
  await makeBlueprint('read-notes', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('read-notes', { text: 'Only read' });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/read-notes/${id}`);
  await textOf(page).waitFor();
  await api('DELETE', `/v2/resources/read-notes/${id}`);
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await page.getByText('This entry does not exist').waitFor();
  await context.close();
});

test('a list, the library and the traffic are loaded again with a button, and once the connection is back', async () => {
  const { page, context } = await signedIn('Olga', 'owner');
  const screens = [['/content/articles', page.locator('tbody a.title')], ['/content/media', page.locator('.grid')], ['/traffic', page.locator('.figures')]] as const;
  for (const [address, content] of screens) {
    let gone = true;
    await page.route(/\/v2\/(resources|analytics)\//, (route) => (gone ? route.abort('connectionrefused') : route.continue()));
    for (const how of ['button', 'network']) {
      gone = true;
      await open(page, address);
      const alert = page.getByRole('alert').filter({ hasText: 'The server cannot be reached.' });
      await alert.waitFor();
      gone = false;
      if (how === 'button') await alert.getByRole('button', { name: 'Try again' }).press('Enter');
      else await page.evaluate(() => dispatchEvent(new Event('online')));
      await content.first().waitFor();
      await alert.waitFor({ state: 'detached' });
      if (how === 'button') await page.waitForFunction(() => document.activeElement?.tagName === 'H1');
    }
    await page.unrouteAll();
  }
  await context.close();
});

test('a save is repeated when the server is back after a restart, without a word from the network', async () => {
  await makeBlueprint('restart-notes', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('restart-notes', { text: 'Before' });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/restart-notes/${id}`);
  await textOf(page).fill('After');
  // First nobody listens, then the server starts and accepts no writes yet.
  let state: 'gone' | 'starting' | 'back' = 'gone';
  await page.route('**/v2/**', (route) => {
    if (state === 'gone') return route.abort('connectionrefused');
    if (state === 'starting') return route.fulfill({ status: 503, contentType: 'application/json', body: JSON.stringify({ errors: { code: 'OVERLOADED', message: 'The server is starting' } }) });
    return route.continue();
  });
  await page.getByText('Not saved yet', { exact: true }).waitFor();
  const told = page.getByText('No connection. Your work is kept').waitFor();
  await page.keyboard.press('Control+s');
  await told;
  const busy = page.getByText('The server does not accept changes at present').waitFor();
  state = 'starting';
  await busy;
  assert.equal((await read('restart-notes', id)).attributes.text, 'Before');
  // The message goes after some seconds: who waits for it begins before it comes.
  const again = toast(page, 'The connection is back. Saved.');
  state = 'back';
  await again;
  assert.equal((await read('restart-notes', id)).attributes.text, 'After');
  await context.close();
});

for (const [lost, working_copy, published] of [['request', true, true], ['request', false, false], ['answer', true, true], ['answer', false, true]] as const) {
  test(`a publication whose ${lost} got lost is repeated as it was, without what was typed since (${working_copy ? 'working copy' : published ? 'live' : 'draft'})`, async () => {
    const slug = `waiting-${lost}-${working_copy}`;
    await makeBlueprint(slug, { record_title: 'text', working_copy }, [['Text', 'text']]);
    const id = await create(slug, { text: 'Before' }, published ? '2020-01-01T00:00:00Z' : undefined);
    const { page, context, troubles } = await signedIn('Ada', 'editor');
    await open(page, `/content/${slug}/${id}`);
    await textOf(page).fill('Finished sentence.');
    const publication = (address: string, method: string) => method === (working_copy ? 'POST' : 'PATCH') && address.includes(id);
    let away = true;
    await page.route('**/v2/**', async (route) => {
      const request = route.request();
      if (!away || (lost === 'answer' && !publication(request.url(), request.method()))) return route.continue();
      if (lost === 'answer') await route.fetch();
      return route.abort();
    });
    await page.keyboard.press('Control+Shift+S');
    await page.getByText(working_copy || !published ? 'and it is published as soon as the server accepts it' : 'and it is saved as soon as the server accepts it').waitFor();
    await textOf(page).press('End');
    await page.keyboard.type(' Half a sen', { delay: 40 });
    const done = toast(page, `The connection is back. ${working_copy ? 'Published. Your site shows it now.' : published ? 'Saved.' : 'Published.'} What you typed since then is not saved yet.`);
    away = false;
    await done;
    const stored = (await api<{ data: { published_at: string | null; attributes: { text: string } } }>('GET', `/v2/resources/${slug}/${id}`)).body.data;
    assert.equal(stored.attributes.text, 'Finished sentence.');
    assert.notEqual(stored.published_at, null);
    assert.equal(await textOf(page).inputValue(), 'Finished sentence. Half a sen');
    await page.keyboard.press('Control+s');
    await page.waitForFunction(() => document.querySelector('.top .saved')?.textContent === '');
    assert.equal((await read(slug, id, working_copy ? '?copy=working' : '')).attributes.text, 'Finished sentence. Half a sen');
    assert.deepEqual(troubles, []);
    await context.close();
  });
}

test('a save whose answer got lost is no change of somebody else', async () => {
  await makeBlueprint('unanswered-notes', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('unanswered-notes', { text: 'Before' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/unanswered-notes/${id}`);
  let saves = 0;
  await page.route('**/v2/resources/unanswered-notes/**', async (route) => {
    if (route.request().method() !== 'PATCH' || (saves += 1) > 1) return route.continue();
    await route.fetch();
    return route.abort();
  });
  await textOf(page).fill('First');
  await page.keyboard.press('Control+s');
  await page.getByText('No connection. Your work is kept').waitFor();
  await textOf(page).press('End');
  await page.keyboard.type(', second', { delay: 40 });
  await page.keyboard.press('Control+s');
  await page.waitForFunction(() => document.querySelector('.top .saved')?.textContent === '' || document.querySelector('dialog'));
  assert.equal(await page.locator('dialog').count(), 0);
  assert.equal((await read('unanswered-notes', id)).attributes.text, 'First, second');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an entry that cannot be read has no form, keeps what was typed, and is read when the server is back', async () => {
  await makeBlueprint('unread-notes', { record_title: 'text', working_copy: true, variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, [['Text', 'text']]);
  const id = await create('unread-notes', { text: 'Stored' }, '2020-01-01T00:00:00Z');
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const language = page.getByLabel('Language');
  const unread = page.getByText('The server cannot be reached');
  let written = 0;
  page.on('request', (request) => (written += request.method() === 'PATCH' ? 1 : 0));
  const fail = () => page.route(`**/v2/resources/unread-notes/${id}?*`, (route) => route.abort());
  await open(page, `/content/unread-notes/${id}`);
  await textOf(page).fill('Typed');
  await page.getByRole('link', { name: 'Back to unread-notes' }).click();
  await fail();
  await page.getByRole('link', { name: 'Stored', exact: true }).click();
  await unread.waitFor();
  assert.equal(await page.locator('[data-field]').count(), 0);
  await page.keyboard.press('Control+s');
  await page.keyboard.press('Control+Shift+S');
  await page.getByRole('link', { name: 'Back to unread-notes' }).click();
  await page.getByRole('link', { name: 'Stored', exact: true }).click();
  await unread.waitFor();
  await page.unroute(`**/v2/resources/unread-notes/${id}?*`);
  // Read again without a click.
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await textOf(page).inputValue(), 'Typed');

  // The languages of an entry are read one by one.
  await fail();
  await language.selectOption('de');
  await unread.waitFor();
  await language.selectOption('en');
  await unread.waitFor();
  await page.unroute(`**/v2/resources/unread-notes/${id}?*`);
  await page.getByRole('button', { name: 'Try again' }).click();
  await textOf(page).waitFor();
  assert.equal(await textOf(page).inputValue(), 'Typed');
  assert.equal(written, 0);
  assert.equal((await read('unread-notes', id)).attributes.text, 'Stored');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the one entry of a singular blueprint is found with another try', async () => {
  await makeBlueprint('single-notes', { kind: 'singular_resource' }, [['Text', 'text']]);
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await page.route('**/v2/resources/single-notes?*', (route) => route.abort());
  await open(page, '/content/single-notes');
  await page.getByRole('heading', { name: 'The server cannot be reached' }).waitFor();
  await page.unroute('**/v2/resources/single-notes?*');
  await page.route('**/v2/resources/single-notes?*', (route) => route.fulfill({ contentType: 'application/json', body: JSON.stringify({ data: [], meta: { total: 0 } }) }));
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'This entry does not exist' }).waitFor();
  await page.unroute('**/v2/resources/single-notes?*');
  await page.getByRole('button', { name: 'Try again' }).click();
  await textOf(page).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a save that found the session ended is repeated after signing in', async () => {
  await makeBlueprint('expired-notes', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('expired-notes', { text: 'Before' });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/expired-notes/${id}`);
  await textOf(page).fill('Typed in an ended session');
  await context.clearCookies();
  await page.getByRole('button', { name: 'Publish' }).click();
  await page.getByRole('heading', { name: 'Sign in again to continue' }).waitFor();
  await page.getByText('What you typed is still here.').waitFor();
  await page.keyboard.press('Escape');
  // The address is known: the password is typed at once.
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await toast(page, 'Published.');
  const saved = await read('expired-notes', id);
  assert.equal(saved.attributes.text, 'Typed in an ended session');
  assert.ok(saved.published_at);
  await context.close();
});

test('what was to be saved in an ended session is not saved by another member who signs in', async () => {
  await makeBlueprint('other-notes', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('other-notes', { text: 'Before' });
  const { page, context } = await signedIn('Ada', 'editor');
  const other = await signedIn('Grace', 'editor');
  await open(page, `/content/other-notes/${id}`);
  await textOf(page).fill('Written by Ada');
  await context.clearCookies();
  await page.keyboard.press('Control+s');
  await page.locator('dialog').getByLabel('Email').fill(other.email);
  await page.locator('dialog input[type=password]').fill(PASSWORD);
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  await page.waitForFunction(() => (document.getElementById('field-text') as HTMLTextAreaElement | null)?.value === 'Before');
  assert.equal((await read('other-notes', id)).attributes.text, 'Before');
  assert.ok(await page.evaluate(() => Object.values(localStorage).some((kept) => String(kept).includes('Written by Ada'))), 'the work of the first member is kept for them');
  await context.close();
  await other.context.close();
});

test('a new entry in a second tab is empty, and both are kept', async () => {
  await makeBlueprint('tab-notes', { record_title: 'text' }, [['Text', 'text']]);
  const { page: first, context } = await signedIn('Ada', 'editor');
  await open(first, '/content/tab-notes/new');
  await textOf(first).fill('First tab');
  await unsaved(first, 'First tab');
  const second = await context.newPage();
  await open(second, '/content/tab-notes');
  await second.getByRole('link', { name: 'New entry' }).first().click();
  await second.getByText('Another new entry is not saved yet: “First tab”').waitFor();
  assert.equal(await textOf(second).inputValue(), '');
  await textOf(second).fill('Second tab');
  await unsaved(second, 'Second tab');
  for (const [page, text] of [[first, 'First tab'], [second, 'Second tab']] as const) {
    await page.reload();
    await page.getByText('Work that was not saved was restored').waitFor();
    assert.equal(await textOf(page).inputValue(), text);
  }
  await second.goto('/admin/');
  await second.getByRole('link', { name: /First tab/ }).waitFor();
  await second.getByRole('link', { name: /Second tab/ }).click();
  assert.equal(await textOf(second).inputValue(), 'Second tab');
  await second.getByRole('button', { name: 'Save draft' }).click();
  await toast(second, 'Saved');
  await first.getByRole('button', { name: 'Save draft' }).click();
  await toast(first, 'Saved');
  assert.equal((await api<{ meta: { total: number } }>('GET', '/v2/resources/tab-notes')).body.meta.total, 2);
  await first.goto('/admin/');
  await first.getByRole('heading', { name: /^Hello/ }).waitFor();
  assert.equal(await first.getByRole('heading', { name: 'Not saved yet' }).count(), 0);
  await context.close();
});

/** Begins to save a new entry, whose answer is held back until what is returned is called. */
async function saveHeld(page: Page, blueprint: string, text: string): Promise<() => void> {
  const held: (() => void)[] = [];
  await page.route(new RegExp(`/v2/resources/${blueprint}(\\?.*)?$`), async (route) => {
    if (route.request().method() === 'POST') await new Promise<void>((resolve) => held.push(resolve));
    await route.continue();
  });
  await open(page, `/content/${blueprint}`);
  await page.getByRole('link', { name: 'New entry' }).first().click();
  await textOf(page).fill(text);
  await page.keyboard.press('Control+s');
  while (held.length === 0) await page.waitForTimeout(20);
  return held[0]!;
}

test('a new entry whose language is changed before its first save is answered stays one entry', async () => {
  await makeBlueprint('late-notes', { record_title: 'text', variants: [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }] }, [['Text', 'text']]);
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const answer = await saveHeld(page, 'late-notes', 'English');
  await page.locator('.top select').selectOption('de');
  answer();
  await page.waitForURL(/late-notes\/[0-9a-f-]{36}\?variant=de$/);
  await page.waitForFunction(() => document.querySelector<HTMLSelectElement>('.top select')?.value === 'de');
  await textOf(page).fill('Deutsch');
  const saved = page.waitForResponse((one) => one.request().method() === 'PATCH' && one.ok());
  await page.keyboard.press('Control+s');
  await saved;
  const entries = async (variant: string) => (await api<{ data: { attributes: { text: string } }[] }>('GET', `/v2/resources/late-notes?variant=${variant}`)).body.data.map((one) => one.attributes.text);
  assert.deepEqual([await entries('en'), await entries('de')], [['English'], ['Deutsch']]);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a save that is answered after its screen was left takes the address of no other screen', async () => {
  await makeBlueprint('left-notes', { record_title: 'text' }, [['Text', 'text']]);
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const answer = await saveHeld(page, 'left-notes', 'Left behind');
  await page.getByRole('link', { name: 'Back to left-notes' }).click();
  await page.getByRole('heading', { name: 'left-notes', exact: true }).waitFor();
  answer();
  await toast(page, 'Saved');
  assert.equal(new URL(page.url()).pathname, '/admin/content/left-notes');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what is published after its screen was left does not count as unsaved', async () => {
  await makeBlueprint('slow-publishing', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('slow-publishing', { text: 'Before' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  const held: (() => void)[] = [];
  await page.route(`**/v2/resources/slow-publishing/${id}`, async (route) => {
    if (route.request().method() === 'PATCH') await new Promise<void>((resolve) => held.push(resolve));
    await route.continue();
  });
  const leave = async (count: number): Promise<void> => {
    while (held.length < count) await page.waitForTimeout(20);
    await page.getByRole('link', { name: 'Home', exact: true }).click();
  };
  const heading = page.getByRole('heading', { name: 'Not saved yet' });
  const kept = () => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('bindery.unsaved.')));
  await open(page, `/content/slow-publishing/${id}`);
  await textOf(page).fill('Published late');
  await page.getByRole('button', { name: 'Publish', exact: true }).click();
  await leave(1);
  // Until it is answered, it is found there.
  await heading.waitFor();
  held[0]!();
  await toast(page, 'Published.');
  await heading.waitFor({ state: 'detached' });
  assert.deepEqual(await kept(), []);
  assert.equal((await read('slow-publishing', id)).attributes.text, 'Published late');
  await page.reload();
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
  assert.equal(await heading.count(), 0);

  // Somebody comes back before the answer: the form goes on from what was saved meanwhile.
  await open(page, `/content/slow-publishing/${id}`);
  await textOf(page).fill('Saved late');
  await page.keyboard.press('Control+s');
  await leave(2);
  await page.getByRole('link', { name: /Saved late/ }).click();
  const restored = page.getByText('Work that was not saved was restored');
  await restored.waitFor();
  held[1]!();
  await toast(page, 'Saved');
  await page.evaluate(() => dispatchEvent(new Event('focus')));
  await restored.waitFor({ state: 'detached' });
  assert.equal(await textOf(page).inputValue(), 'Saved late');
  assert.equal(await page.getByText('Not saved yet').count(), 0);
  assert.equal(await page.getByText('saved another version').count(), 0);
  assert.deepEqual(await kept(), []);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('two tabs that change one entry keep their text apart, and each can show that of the other', async () => {
  await makeBlueprint('parallel-notes', { record_title: 'text' }, [['Text', 'text'], ['Number', 'number']]);
  const id = await create('parallel-notes', { text: 'Stored' });
  const { page: first, context, troubles } = await signedIn('Ada', 'editor');
  await open(first, `/content/parallel-notes/${id}`);
  await textOf(first).fill('First tab');
  await unsaved(first, 'First tab');
  // A tab that the first one opens begins with the same session storage.
  const opened = context.waitForEvent('page');
  await first.evaluate((address) => void window.open(address), `/admin/content/parallel-notes/${id}`);
  const second = await opened;
  await second.getByText('Another tab has changes to this entry that are not saved: “First tab”').waitFor();
  assert.equal(await textOf(second).inputValue(), 'Stored');
  await textOf(second).fill('Second tab');
  await unsaved(second, 'Second tab');
  for (const [page, text] of [[first, 'First tab'], [second, 'Second tab'], [first, 'First tab']] as const) {
    await page.reload();
    await page.getByText('Work that was not saved was restored').waitFor();
    assert.equal(await textOf(page).inputValue(), text);
  }

  // The text of a tab that was closed is offered, too, and one of both is not lost for the other.
  await first.close();
  await second.reload();
  const offer = (text: string) => second.locator('.notice', { hasText: `There are other changes to this entry that were not saved: “${text}”` });
  await offer('First tab').getByRole('button', { name: 'Show them here' }).click();
  await offer('Second tab').waitFor();
  assert.equal(await textOf(second).inputValue(), 'First tab');
  await second.goto('/admin/');
  await second.getByRole('link', { name: /First tab parallel-notes/ }).waitFor();
  await second.getByRole('link', { name: /Second tab parallel-notes/ }).click();
  await offer('First tab').waitFor();
  assert.equal(await textOf(second).inputValue(), 'Second tab');
  await second.getByRole('button', { name: /^Save/ }).first().click();
  await toast(second, 'Saved');
  assert.equal((await read('parallel-notes', id)).attributes.text, 'Second tab');
  await offer('First tab').getByRole('button', { name: 'Discard them' }).click();
  await offer('First tab').waitFor({ state: 'detached' });
  await second.goto('/admin/');
  await second.getByRole('heading', { name: /^Hello/ }).waitFor();
  assert.equal(await second.getByRole('heading', { name: 'Not saved yet' }).count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what was typed into an entry of a blueprint that was deleted can still be copied', async () => {
  await makeBlueprint('fleeting-notes', { record_title: 'text' }, [['Text', 'text'], ['Price', 'money', { currencies: ['EUR'] }]]);
  const id = await create('fleeting-notes', { text: 'Stored' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/fleeting-notes/${id}`);
  await textOf(page).fill('A long thought');
  await field(page, 'price').getByRole('textbox').fill('12.5');
  await unsaved(page, '12.5');
  assert.equal((await api('DELETE', '/v2/blueprints/fleeting-notes?force=true')).status, 204);
  await page.goto('/admin/');
  await page.getByRole('button', { name: /A long thought.*fleeting-notes \(blueprint is gone\)/ }).click();
  const dialog = page.locator('dialog');
  assert.equal(await dialog.getByLabel('text', { exact: true }).inputValue(), 'A long thought');
  assert.match(await dialog.getByLabel('price', { exact: true }).inputValue(), /"amount": 12.5/);
  await dialog.getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('button', { name: /A long thought/ }).click();
  await dialog.getByRole('button', { name: 'Discard them' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('heading', { name: 'Not saved yet' }).count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();
});
