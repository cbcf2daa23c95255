// Views of tables that members save.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { api, closeBrowser, create, makeBlueprint, open, settled, signedIn } from '../browser';

after(closeBrowser);

test('views are kept at the server, are shared, and leave the browser that kept them', async () => {
  await makeBlueprint('viewed', { record_title: 'text' }, [['Text', 'text']]);
  for (const text of ['apple', 'pear']) await create('viewed', { text });
  const { page, context, troubles, email } = await signedIn('Ada', 'editor');
  const members = (await api<{ data: { id: number; email: string }[] }>('GET', '/v2/members')).body.data;
  const { id } = members.find((member) => member.email === email)!;
  const key = `bindery.views.${id}/viewed`;
  await open(page, '/');
  await page.evaluate(([at, views]) => localStorage.setItem(at!, views!), [key, JSON.stringify([{ name: 'Old', query: 'search=pear' }, { odd: 1 }])]);
  await open(page, '/content/viewed?search=apple');
  await page.getByText('1 entry', { exact: true }).waitFor();
  const views = page.getByRole('button', { name: 'Views' });
  await views.click();
  await page.getByLabel('Name of this view').fill('Apples');
  await page.getByLabel('Share with everybody').check();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('button', { name: 'Apples shared' }).waitFor();
  assert.equal(await page.evaluate((at) => localStorage.getItem(at), key), null);
  await page.getByRole('button', { name: 'Old', exact: true }).click();
  await page.getByRole('link', { name: 'pear' }).waitFor();

  const other = await signedIn('Bob', 'editor');
  await open(other.page, '/content/viewed');
  await other.page.getByText('2 entries').waitFor();
  await other.page.getByRole('button', { name: 'Views' }).click();
  assert.equal(await other.page.getByRole('button', { name: 'Old' }).count(), 0);
  assert.equal(await other.page.getByRole('button', { name: 'Remove Apples' }).count(), 0);
  await other.page.getByRole('button', { name: 'Apples by Ada' }).click();
  await other.page.getByText('1 entry', { exact: true }).waitFor();

  // A name that is used again stands for the new view.
  await page.getByRole('searchbox').fill('');
  await page.getByText('2 entries').waitFor();
  await views.click();
  await page.getByLabel('Name of this view').fill('Old');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await settled(page);
  assert.equal(await page.getByRole('button', { name: 'Old', exact: true }).count(), 1);
  await page.getByRole('button', { name: 'Remove Old' }).click();
  await page.getByRole('button', { name: 'Old', exact: true }).waitFor({ state: 'detached' });
  assert.deepEqual([...troubles, ...other.troubles], []);
  await other.context.close();
  await context.close();
});
