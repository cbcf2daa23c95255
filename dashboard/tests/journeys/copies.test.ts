// A published entry is changed without the site seeing it, and published when it is ready: working copies, with the keyboard.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { api, choose, closeBrowser, create, field, open, press, read, signedIn, toast } from '../browser';
import { DATE, input, isSound, makeCopied, siteOf, status, working } from '../copies';

after(closeBrowser);

test('a published entry is corrected without changing the site, and published', async () => {
  await makeCopied('copied');
  const site = await siteOf('copied');
  const id = await create('copied', { text: 'A tpyo', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/copied/${id}`);
  await status(page, 'Published');
  const publish = page.getByRole('button', { name: 'Publish changes' });
  assert.equal(await publish.isDisabled(), true, 'there is nothing to publish');

  await input(page, 'text').press('Control+A');
  await page.keyboard.type('No typo');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved. Your site shows the earlier version until you publish.');
  await status(page, 'Published · edited');
  assert.equal((await site(id)).text, 'A tpyo');
  assert.equal((await working('copied', id)).attributes.text, 'No typo');
  await isSound(page, 'edited');

  // Another day.
  await page.reload();
  await status(page, 'Published · edited');
  assert.equal(await input(page, 'text').inputValue(), 'No typo');

  // Publishing saves what was typed since.
  await input(page, 'summary').press('Control+A');
  await page.keyboard.type('Shorter');
  await press(page, 'Publish changes');
  await toast(page, 'Published. Your site shows it now.');
  await status(page, 'Published');
  assert.deepEqual(await site(id), { text: 'No typo', summary: 'Shorter' });
  const after = await working('copied', id);
  assert.deepEqual([after.working_copy, after.published_at], [null, DATE], 'the date stays');
  assert.equal(await publish.isDisabled(), true);

  // The next change is a working copy again.
  await input(page, 'summary').fill('Shortest');
  await press(page, 'Save draft');
  await status(page, 'Published · edited');
  assert.equal((await site(id)).summary, 'Shorter');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('changes are discarded, and come back with Undo', async () => {
  await makeCopied('discarded');
  const id = await create('discarded', { text: 'On the site', summary: 'Short' }, DATE);
  await api('PATCH', `/v2/resources/discarded/${id}?copy=working`, { attributes: { text: 'Aside' } });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/discarded/${id}`);
  await status(page, 'Published · edited');
  await input(page, 'summary').fill('Typed only');
  await press(page, 'More');
  await page.getByRole('button', { name: 'Discard what is not saved' }).waitFor();
  await press(page, 'Discard changes');
  await toast(page, 'The changes are discarded. This is what your site shows.');
  await status(page, 'Published');
  assert.deepEqual([await input(page, 'text').inputValue(), await input(page, 'summary').inputValue()], ['On the site', 'Short']);
  assert.equal((await working('discarded', id)).working_copy, null);
  await choose(page, 'Undo');
  await toast(page, 'The changes are back.');
  await status(page, 'Published · edited');
  assert.deepEqual([await input(page, 'text').inputValue(), await input(page, 'summary').inputValue()], ['Aside', 'Typed only']);
  assert.deepEqual((await working('discarded', id)).attributes, { text: 'Aside', summary: 'Short' });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('what cannot be published is saved, and says why', async () => {
  await makeCopied('unready');
  const site = await siteOf('unready');
  const id = await create('unready', { text: 'Complete' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/unready/${id}`);
  await input(page, 'text').fill('');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  await field(page, 'text').getByText(/^Not ready to publish:/).waitFor();
  assert.equal((await working('unready', id)).attributes.text, null);
  await isSound(page, 'not-ready');
  await press(page, 'Publish changes');
  await page.getByText('Saved as a draft, but not published: one field needs your attention.').waitFor();
  assert.equal(await field(page, 'text').locator('.fault').count(), 1);
  assert.equal((await site(id)).text, 'Complete');
  await input(page, 'text').fill('Complete again');
  await press(page, 'Publish changes');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'Complete again');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a value that changed on the site meanwhile is replaced only after asking', async () => {
  await makeCopied('overwritten');
  const site = await siteOf('overwritten');
  const id = await create('overwritten', { text: 'The price is 10', summary: 'Short' }, DATE);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/overwritten/${id}`);
  await input(page, 'text').fill('The price is 12');
  await page.keyboard.press('Control+s');
  await toast(page, 'Draft saved.');
  await api('PATCH', `/v2/resources/overwritten/${id}`, { attributes: { text: 'The price is 11' } });
  await press(page, 'Publish changes');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Text was changed on your site since you changed it here.').waitFor();
  await dialog.locator('del', { hasText: '11' }).waitFor();
  await isSound(page, 'overwriting');
  await press(page, 'Do not publish');
  assert.equal((await site(id)).text, 'The price is 11');
  await status(page, 'Published · edited');
  await press(page, 'Publish changes');
  await dialog.waitFor();
  await press(page, 'Publish anyway');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'The price is 12');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('authors correct what is published, and others publish it', async () => {
  await makeCopied('authored');
  const site = await siteOf('authored');
  const id = await create('authored', { text: 'As it is' }, DATE);
  const { page, context, troubles } = await signedIn('Artur', 'author');
  await open(page, `/content/authored/${id}`);
  await input(page, 'text').fill('As it should be');
  const said = toast(page, 'Draft saved. Your site shows the earlier version until an editor publishes it.');
  await press(page, 'Save draft');
  await said;
  await status(page, 'Published · edited');
  assert.equal(await page.getByRole('button', { name: 'Publish changes' }).count(), 0);
  assert.equal((await site(id)).text, 'As it is');

  // It is to be published later: until then nobody changes it.
  const planned = await api('POST', `/v2/resources/authored/${id}/publish`, { at: '2090-01-01T00:00:00Z' });
  assert.equal(planned.status, 200, JSON.stringify(planned.body));
  await page.reload();
  await page.getByText(/^These changes will be published on/).waitFor();
  assert.equal(await page.getByRole('button', { name: /Save draft|Cancel the schedule/ }).count(), 0);
  assert.deepEqual(troubles, []);
  await context.close();

  const editor = await signedIn('Una', 'editor');
  await open(editor.page, `/content/authored/${id}`);
  await press(editor.page, 'Cancel the schedule');
  await press(editor.page, 'Publish changes');
  await toast(editor.page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'As it should be');
  await editor.context.close();
});

test('drafts are written in place, unpublishing keeps a working copy, and each language has its own', async () => {
  const variants = [{ name: 'English', slug: 'en', default: true }, { name: 'Deutsch', slug: 'de', default: false }];
  await makeCopied('phases', { variants, trash: { days: 30 } });
  const site = await siteOf('phases');
  const id = await create('phases', { text: 'Draft' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/phases/${id}`);
  await status(page, 'Draft');
  await input(page, 'text').fill('Better draft');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved.');
  assert.equal((await read('phases', id)).attributes.text, 'Better draft');
  await press(page, 'Publish');
  await toast(page, 'Published.');
  await status(page, 'Published');
  await input(page, 'text').fill('Aside');
  await page.keyboard.press('Control+s');
  await status(page, 'Published · edited');
  assert.equal((await site(id)).text, 'Better draft');

  // The other language has no part in it.
  await api('PATCH', `/v2/resources/phases/${id}?variant=de&copy=working`, { attributes: { text: 'Beiseite' } });
  await choose(page, 'Publish changes');
  await toast(page, 'Published. Your site shows it now.');
  assert.equal((await site(id)).text, 'Aside');
  assert.notEqual((await working('phases', id, '&variant=de')).working_copy, null);
  const languages = page.locator('aside section', { has: page.getByRole('heading', { name: 'Languages' }) });
  await page.reload();
  await languages.getByRole('button', { name: /Deutsch.*Edited/ }).waitFor();
  assert.equal(await languages.getByText('Edited').count(), 1, 'the main language is published');
  await page.getByLabel('Language').first().selectOption('de');
  await status(page, 'Published · edited');
  assert.equal(await input(page, 'text').inputValue(), 'Beiseite');

  await choose(page, 'Unpublish');
  await toast(page, 'Unpublished.');
  await status(page, 'Draft');
  assert.equal(await input(page, 'text').inputValue(), 'Beiseite');
  await choose(page, 'Undo');
  await status(page, 'Published · edited');
  await choose(page, 'Delete');
  await page.getByRole('dialog').waitFor();
  await press(page, 'Delete');
  await toast(page, 'Moved to the trash.');
  assert.equal((await api('GET', `/v2/resources/phases/${id}`)).status, 404);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an earlier version comes back into the draft, and Undo brings the draft back', async () => {
  await makeCopied('remembered', { history: { keep: 50, days: 365 } });
  const site = await siteOf('remembered');
  const id = await create('remembered', { text: 'The old house' }, DATE);
  await api('PATCH', `/v2/resources/remembered/${id}`, { attributes: { text: 'The new house' } });
  await api('PATCH', `/v2/resources/remembered/${id}?copy=working`, { attributes: { text: 'The newest house' } });
  const { page, context, troubles } = await signedIn('Hana', 'editor');
  await open(page, `/content/remembered/${id}`);
  await status(page, 'Published · edited');
  await page.locator('.revision').last().press('Enter');
  await page.getByRole('dialog').locator('ins', { hasText: 'new' }).waitFor();
  await page.getByRole('checkbox', { name: 'Bring back Text' }).press('Space');
  await page.getByRole('dialog').getByText('Your site does not change until you publish.').waitFor();
  await press(page, 'Bring back 1 field');
  await page.locator('.toast', { hasText: /The earlier version is back\.(?! Your site)/ }).waitFor();
  assert.equal(await input(page, 'text').inputValue(), 'The old house');
  assert.equal((await working('remembered', id)).attributes.text, 'The old house');
  assert.equal((await site(id)).text, 'The new house');
  await choose(page, 'Undo');
  await toast(page, 'As it was before.');
  assert.equal((await working('remembered', id)).attributes.text, 'The newest house');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a table shows the site or what is being worked on, and publishes it', async () => {
  await makeCopied('tabled');
  const site = await siteOf('tabled');
  const ids = [await create('tabled', { text: 'First' }, DATE), await create('tabled', { text: 'Second' }, DATE)];
  await api('PATCH', `/v2/resources/tabled/${ids[0]}?copy=working`, { attributes: { text: 'First, corrected' } });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/tabled');
  await page.getByRole('link', { name: 'First', exact: true }).waitFor();
  await page.getByRole('button', { name: 'With edits', exact: true }).press('Enter');
  await page.getByRole('link', { name: 'First, corrected' }).waitFor();
  assert.match(page.url(), /\?copy=working$/);
  const row = (text: string) => page.locator('tbody tr', { hasText: text });
  assert.match(await row('First, corrected').innerText(), /Published · edited/);
  assert.doesNotMatch(await row('Second').innerText(), /edited/);
  await isSound(page, 'table');

  await page.getByLabel('Select all rows').press('Space');
  await press(page, 'Publish changes');
  await page.getByRole('dialog').waitFor();
  await press(page, 'Publish');
  await toast(page, '1 entry published.');
  await toast(page, '1 entry had no changes to publish.');
  await row('First, corrected').getByText('Published', { exact: true }).waitFor();
  assert.equal((await site(ids[0]!)).text, 'First, corrected');
  await page.goBack();
  await page.waitForURL(/tabled$/);
  await page.getByRole('button', { name: 'As on the site', exact: true, pressed: true }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();

  // German words are longer.
  await api('PATCH', `/v2/resources/tabled/${ids[1]}?copy=working`, { attributes: { text: null } });
  const german = await signedIn('Grete', 'editor', { scheme: 'dark', locale: 'de-DE' });
  await open(german.page, '/content/tabled?copy=working');
  await german.page.locator('tbody').getByText('Veröffentlicht · bearbeitet').waitFor();
  await isSound(german.page, 'table-german');
  await open(german.page, `/content/tabled/${ids[1]}`);
  await german.page.getByRole('button', { name: 'Änderungen veröffentlichen' }).press('Enter');
  await german.page.getByText('Als Entwurf gespeichert, aber nicht veröffentlicht').waitFor();
  await isSound(german.page, 'refused-german');
  await german.context.close();

  // Where there are no working copies, there is nothing to choose, whatever the address says.
  const other = await signedIn('Una', 'editor');
  await open(other.page, '/content/authors?copy=working');
  await other.page.locator('tbody a.title').first().waitFor();
  assert.equal(await other.page.getByRole('button', { name: 'With edits', exact: true }).count(), 0);
  await other.context.close();
});

test('a new blueprint has working copies', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/new');
  const setting = page.getByRole('checkbox', { name: /Change published entries without changing the site/ });
  assert.equal(await setting.isChecked(), true);
  await setting.press('Space');
  assert.equal(await setting.isChecked(), false);
  await setting.press('Space');
  await page.getByLabel('Name', { exact: true }).first().fill('Set apart');
  await isSound(page, 'setting');
  await press(page, /^Create/);
  await page.waitForURL(/content\/set_apart/);
  const made = await api<{ data: { working_copy?: boolean } }>('GET', '/v2/blueprints/set_apart');
  assert.equal(made.body.data.working_copy, true);
  assert.deepEqual(troubles, []);
  await context.close();
});
