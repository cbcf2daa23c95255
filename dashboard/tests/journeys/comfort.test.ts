// Small things that editors meet every day: the focus, long lists, long words, writing from right to left, faults at their inputs.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { api, closeBrowser, create, field, makeBlueprint, open, PASSWORD, read, settled, signedIn, toast, URL_BASE } from '../browser';

after(closeBrowser);

const focused = (page: Page): Promise<string> => page.evaluate(() => document.activeElement?.getAttribute('aria-label') || document.activeElement?.id || document.activeElement?.textContent?.trim() || '');

test('references beyond a hundred are shown, moved and removed', async () => {
  await makeBlueprint('long-lists', { record_title: 'text' }, [['Text', 'text'], ['Many', 'references', { blueprint: 'long-lists' }]]);
  const ids: string[] = [];
  for (let part = 0; part < 3; part += 1) {
    const resources = Array.from({ length: 50 }, (_, index) => ({ attributes: { text: `Entry ${part * 50 + index + 1}` } }));
    const answer = await api<{ data: { created: { id: string }[] } }>('POST', '/v2/resources/long-lists/bulk', { resources });
    assert.ok(answer.status < 300, JSON.stringify(answer.body).slice(0, 300));
  }
  const all = await api<{ data: { id: string; attributes: { text: string } }[] }>('GET', '/v2/resources/long-lists/export?format=json');
  const numberOf = (one: { attributes: { text: string } }): number => Number(one.attributes.text.split(' ')[1]);
  ids.push(...all.body.data.sort((a, b) => numberOf(a) - numberOf(b)).map((one) => one.id));
  const id = await create('long-lists', { text: 'The list', many: ids });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/long-lists/${id}`);
  await field(page, 'many').getByText('and 50 more').waitFor();
  await field(page, 'many').getByRole('button', { name: 'Show 50 more' }).click();
  await field(page, 'many').getByRole('link', { name: 'Entry 150' }).waitFor();
  await field(page, 'many').getByRole('button', { name: 'Move Entry 150 up' }).click();
  await field(page, 'many').getByRole('button', { name: 'Remove Entry 120' }).click();
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  const stored = (await read('long-lists', id)).attributes.many as string[];
  assert.deepEqual(stored, [...ids.slice(0, 119), ...ids.slice(120, 148), ids[149]!, ids[148]!]);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('an entry opens with the focus in its first field, Tab leads from input to input, and dialogs begin at what is useful', async () => {
  await makeBlueprint('focus-notes', { record_title: 'text' }, [['Related', 'reference', { blueprint: 'focus-notes' }], ['Text', 'text'], ['Link', 'link'], ['Number', 'number']]);
  const id = await create('focus-notes', { text: 'Begin here', link: '/path', number: 1 });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/focus-notes');
  await page.locator('tbody a.title').first().waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'field-text');
  await page.keyboard.type(', and on');
  assert.equal(await field(page, 'text').getByRole('textbox').inputValue(), 'Begin here, and on');
  const before = await page.evaluate(() => {
    const labels: string[] = [];
    for (const row of document.querySelectorAll('[data-field]')) {
      const stops = [...row.querySelectorAll<HTMLElement>('button, input, select, textarea')].map((one) => one.getAttribute('aria-label') ?? one.id);
      if (/^(Empty|Undo)/.test(stops[0] ?? '')) labels.push(stops[0]!);
    }
    return labels;
  });
  assert.deepEqual(before, [], 'buttons that stand before their input');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Publish with a date…' }).click();
  assert.equal(await page.evaluate(() => (document.activeElement as HTMLInputElement).type), 'datetime-local');
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.locator('dialog').waitFor();
  assert.equal(await focused(page), 'Cancel');
  await page.keyboard.press('Escape');

  // What is focused where somebody already works stays.
  await open(page, `/content/focus-notes/new`);
  await page.waitForFunction(() => document.activeElement?.id === 'field-text');
  await read('focus-notes', id);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('very long words widen no screen, and text from right to left begins at the right', async () => {
  const word = 'Donaudampfschifffahrtsgesellschaftskapitän'.repeat(12);
  await makeBlueprint('long-words', { name: word.slice(0, 200), record_title: 'text' }, [['Text', 'text'], ['Body', 'rich-text'], ['Tags', 'multi-enum', { values: null }], ['One', 'reference', { blueprint: 'long-words' }], ['Many', 'references', { blueprint: 'long-words' }], ['Link', 'link']]);
  const other = await create('long-words', { text: `${word}x` });
  const id = await create('long-words', { text: word, body: `<p>${word}</p><h2>${word}</h2>`, tags: [word.slice(0, 200)], one: other, many: [other], link: `https://www.example.com/${word}` }, '2024-01-01T00:00:00Z');
  const hebrew = await create('long-words', { text: 'שלום עולם' });
  for (const width of [1280, 360]) {
    const { page, context } = await signedIn('Ada', 'owner', { width, height: 800 });
    const viewer = await signedIn('Vera', 'viewer', { width, height: 800 });
    for (const [who, address] of [[page, '/'], [page, '/content/long-words'], [page, `/content/long-words?search=${word}`], [page, `/content/long-words?filter[text][eq]=${word}`], [page, `/content/long-words/${id}`], [page, '/blueprints'], [page, '/blueprints/long-words'], [page, '/search'], [page, '/search/try?blueprint=long-words'], [page, '/search/rules'], [page, '/trash'], [viewer.page, `/content/long-words/${id}`]] as const) {
      await open(who, address);
      await settled(who);
      const widest = await who.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('#screen')!.scrollWidth + document.querySelector('#screen')!.getBoundingClientRect().left));
      assert.ok(widest <= width, `${address} is ${widest} wide at ${width}`);
    }
    await open(page, `/content/long-words/${id}`);
    await field(page, 'text').getByRole('textbox').fill(`${word} changed`);
    await api('PATCH', `/v2/resources/long-words/${id}`, { attributes: { text: `${word} ${width}` } });
    await page.keyboard.press('Control+s');
    await page.getByRole('dialog').waitFor();
    await settled(page);
    const dialog = await page.getByRole('dialog').evaluate((one) => one.querySelector('.content')!.scrollWidth - one.querySelector('.content')!.clientWidth);
    assert.ok(dialog <= 0, `the comparison is ${dialog} too wide`);
    await context.close();
    await viewer.context.close();
  }
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/long-words/${hebrew}`);
  assert.equal(await field(page, 'text').getByRole('textbox').evaluate((input) => getComputedStyle(input).direction), 'rtl');
  await open(page, '/content/long-words');
  assert.equal(await page.getByRole('link', { name: 'שלום עולם' }).evaluate((link) => getComputedStyle(link).direction), 'rtl');
  await context.close();
});

test('what is wrong with a blueprint stands at its inputs, in words', async () => {
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/new');
  const name = page.getByLabel('Name', { exact: true }).first();
  await page.getByRole('button', { name: 'Add a language' }).click();
  await page.getByLabel('Code, such as en').fill('e_n');
  await page.getByRole('button', { name: 'Add a field' }).click();
  await page.getByRole('button', { name: /^Choice/ }).click();
  await page.locator('[id^="field-name-"]').fill('Course');
  await page.getByLabel('Any value may be typed').uncheck();
  await page.getByRole('button', { name: 'Create the blueprint' }).click();
  await page.getByText(/fields need your attention/).waitFor();
  assert.equal(await name.getAttribute('aria-invalid'), 'true');
  const first = await name.elementHandle();
  await page.waitForFunction((input) => input === document.activeElement, first);
  const described = async (input: import('playwright-core').Locator): Promise<string> => input.evaluate((one) => document.getElementById(one.getAttribute('aria-describedby') ?? '')?.textContent?.trim() ?? '');
  assert.equal(await described(name), 'Must not be empty.');
  assert.match(await described(page.getByLabel('Code, such as en')), /Must be a short name/);
  assert.match(await described(page.getByLabel('Values, one a line')), /Name at least one value/);
  const shown = await page.locator('#screen').innerText();
  assert.ok(!/fields\.\d|variants\.\d|\bsettings\b.*:/.test(shown), shown);
  await name.fill('Meals');
  await page.getByPlaceholder('English').fill('English');
  await page.getByLabel('Code, such as en').fill('en');
  await page.getByLabel('Values, one a line').fill('starter');
  await page.getByRole('button', { name: 'Create the blueprint' }).click();
  await page.getByRole('heading', { name: 'No entries in Meals yet' }).waitFor();

  // In an existing one the part that has the error is shown.
  await open(page, '/blueprints/meals?tab=settings');
  await name.fill('');
  await page.getByRole('link', { name: 'Fields' }).click();
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await name.waitFor();
  assert.equal(await described(name), 'Must not be empty.');
  await page.getByRole('button', { name: 'Discard my changes' }).click();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the arrow keys promote nobody until the choice is confirmed', async () => {
  const name = `Paul ${Date.now()}`;
  const member = (await api<{ data: { id: number } }>('POST', '/v2/members', { name, email: `paul-${Date.now()}@example.org`, role: 'editor' })).body.data.id;
  const roleOf = async (): Promise<string> => (await api<{ data: { id: number; role: string }[] }>('GET', '/v2/members')).body.data.find((one) => one.id === member)!.role;
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/settings/members');
  const role = page.getByRole('combobox', { name: `Role of ${name}` });
  const requests: string[] = [];
  page.on('request', (request) => request.method() === 'PATCH' && requests.push(request.url()));
  await role.focus();
  await page.keyboard.press('ArrowUp');
  assert.equal(await role.inputValue(), 'owner');
  await page.getByRole('button', { name: 'Apply' }).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await role.inputValue(), 'editor');
  await page.keyboard.press('ArrowUp');
  await page.getByRole('link', { name: 'Home', exact: true }).focus();
  assert.equal(await role.inputValue(), 'editor');
  assert.deepEqual(requests, []);
  assert.equal(await roleOf(), 'editor');
  await role.focus();
  await page.keyboard.press('ArrowDown');
  await Promise.all([page.waitForResponse((response) => response.request().method() === 'PATCH'), page.keyboard.press('Enter')]);
  assert.equal(await roleOf(), 'author');
  await role.selectOption('viewer');
  for (let tries = 0; (await roleOf()) !== 'viewer'; tries += 1) {
    assert.ok(tries < 50, 'a click chooses at once');
    await page.waitForTimeout(100);
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a red button that cannot be used looks like it', async () => {
  await makeBlueprint('narrow-notes', { record_title: 'text' }, [['Text', 'text'], ['Kind', 'enum', { values: ['a', 'b'] }]]);
  await create('narrow-notes', { text: 'One', kind: 'a' });
  const { page, context } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/narrow-notes');
  await page.getByRole('button', { name: 'Remove Text' }).click();
  await page.locator('.open', { hasText: 'Kind' }).click();
  await page.getByLabel('Values, one a line').fill('b');
  await page.getByRole('button', { name: 'Review the changes' }).click();
  const apply = page.getByRole('button', { name: 'Apply the changes' });
  await apply.waitFor();
  assert.ok(await apply.isDisabled());
  const [background, plain] = await apply.evaluate((button) => {
    const other = document.createElement('button');
    other.className = 'button primary';
    other.disabled = true;
    button.parentElement!.append(other);
    const found = [getComputedStyle(button).backgroundColor, getComputedStyle(other).backgroundColor];
    other.remove();
    return found;
  });
  assert.equal(background, plain);
  await context.close();
});

test('a language with values goes after the plan has said what is lost', async () => {
  const variants = [{ name: 'English', slug: 'en', default: true }, { name: 'German', slug: 'de', default: false }];
  await makeBlueprint('two-languages', { variants }, [['Text', 'text']]);
  const id = await create('two-languages', { text: 'Hello' });
  await api('PATCH', `/v2/resources/two-languages/${id}?variant=de`, { attributes: { text: 'Hallo' } });
  const { page, context, troubles } = await signedIn('Olga', 'owner');
  await open(page, '/blueprints/two-languages?tab=settings');
  await page.getByRole('button', { name: 'Remove German' }).click();
  await page.getByRole('button', { name: 'Review the changes' }).click();
  await page.getByRole('dialog').getByText('1 entry loses its value').waitFor();
  await page.getByRole('button', { name: 'Apply anyway' }).click();
  await toast(page, 'Saved');
  const left = await api<{ data: { variants: { slug: string }[] } }>('GET', '/v2/blueprints/two-languages');
  assert.deepEqual(left.body.data.variants.map((one) => one.slug), ['en']);
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a server that fails or is busy does not ask somebody who is signed in to sign in', async () => {
  const { page, context, troubles } = await signedIn('Una', 'editor');
  for (const status of [500, 503, 429]) {
    const errors = { code: status === 429 ? 'RATE_LIMITED' : status === 503 ? 'OVERLOADED' : 'INTERNAL', message: 'not now' };
    await page.route('**/v2/session', (route) => route.fulfill({ status, json: { errors }, headers: { 'retry-after': '7' } }));
    await page.goto(`${URL_BASE}/admin/`);
    await page.getByRole('heading', { name: 'The dashboard cannot be opened now' }).waitFor();
    await page.getByText(status === 429 ? 'Too many attempts. Try again in 7 seconds.' : 'not now').waitFor();
    assert.equal(await page.getByLabel('Password').count(), 0, String(status));
    await page.unroute('**/v2/session');
    await page.getByRole('button', { name: 'Try again' }).press('Enter');
    await page.getByRole('heading', { name: 'Hello Una' }).waitFor();
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a message about what was saved has the title that was saved, not what was typed since', async () => {
  await makeBlueprint('slow-titles', { record_title: 'text' }, [['Text', 'text']]);
  const id = await create('slow-titles', { text: 'Before' });
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, `/content/slow-titles/${id}`);
  const text = field(page, 'text').getByRole('textbox');
  await text.fill('Saved title');
  let answer = (): void => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  await page.route(`**/v2/resources/slow-titles/${id}**`, async (route) => {
    if (route.request().method() === 'PATCH') await held;
    await route.continue();
  });
  const sent = page.waitForRequest((request) => request.method() === 'PATCH');
  await page.keyboard.press('Control+s');
  await sent;
  await text.pressSequentially(', and more', { delay: 40 });
  answer();
  await toast(page, 'Saved.');
  assert.equal((await page.locator('.toast .name').first().innerText()).trim(), 'Saved title');
  assert.equal(await text.inputValue(), 'Saved title, and more');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the traffic shows no change where there is nothing to compare', async () => {
  const { page, context } = await signedIn('Una', 'editor');
  const figures = { visitors: 0, sessions: 0, pageviews: 0, visitors_change: 0, sessions_change: 0, pageviews_change: 0, bounce_rate: 0, average_session_duration: '00:00:00', live_users: 0 };
  const [none, some] = [figures, { ...figures, visitors: 4, sessions: 5, pageviews: 9, pageviews_change: 50, bounce_rate: 20, average_session_duration: '00:01:00' }];
  for (const [now, past, shown] of [[none, none, []], [some, none, ['0 %', '0 %', '+50 %']], [some, { ...some, bounce_rate: 40 }, ['0 %', '0 %', '+50 %', '-50 %', '0 %']]] as const) {
    const asked: string[] = [];
    await page.route('**/v2/analytics/summary**', (route) => route.fulfill({ json: asked.push(route.request().url()) === 1 ? now : past }));
    await open(page, '/traffic');
    await settled(page);
    assert.equal(asked.length, 2);
    assert.deepEqual(await page.locator('.change').allInnerTexts(), shown);
    await page.unroute('**/v2/analytics/summary**');
  }
  await context.close();
});

test('the form to sign in begins at its first empty field', async () => {
  const { page, context, email, troubles } = await signedIn('Una', 'editor');
  await context.clearCookies();
  await page.goto(`${URL_BASE}/admin/`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.keyboard.type(email);
  await page.keyboard.press('Tab');
  await page.keyboard.type(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Hello Una' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('Tab leaves the search for an entry with one press, while its list scrolls', async () => {
  await makeBlueprint('tab-targets', { record_title: 'text' }, [['Text', 'text']]);
  for (let count = 1; count <= 12; count += 1) await create('tab-targets', { text: `Target ${count}` });
  await makeBlueprint('tab-sources', { record_title: 'text' }, [['Text', 'text'], ['Target', 'reference', { blueprint: 'tab-targets' }], ['After', 'text']]);
  const { page, context, troubles } = await signedIn('Una', 'editor');
  await open(page, '/content/tab-sources/new');
  const search = field(page, 'target').getByRole('combobox');
  await search.focus();
  await field(page, 'target').getByRole('option').nth(7).waitFor();
  const list = field(page, 'target').getByRole('listbox');
  assert.ok(await list.evaluate((node) => node.scrollHeight > node.clientHeight), 'the list scrolls');
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
  assert.equal(await list.count(), 0, 'the list is closed');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('units and hints stand beside their inputs without being broken or touched', async () => {
  await makeBlueprint('with-units', { record_title: 'text' }, [['Text', 'text'], ['Time', 'duration', { unit: 'minutes' }]]);
  const { page, context, troubles } = await signedIn('Una', 'owner');
  await open(page, '/content/with-units/new');
  const unit = field(page, 'time').getByText('minutes', { exact: true });
  assert.equal(await unit.evaluate((node) => node.getClientRects().length === 1 && node.scrollWidth <= node.clientWidth && node.getBoundingClientRect().height < 30), true, 'the unit is one line');

  await open(page, '/settings/members');
  await page.getByRole('button', { name: 'Add a member' }).press('Enter');
  const dialog = page.getByRole('dialog');
  const [role, hint] = await Promise.all([dialog.getByRole('combobox').boundingBox(), dialog.getByText('Writes and publishes content').boundingBox()]);
  assert.ok(hint!.y >= role!.y + role!.height, 'what the role may do stands below it');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('on a narrow screen the menu lies above a message', async () => {
  const id = await create('articles', { title: 'Under the menu', slug: `under-${Date.now()}` });
  const { page, context, troubles } = await signedIn('Una', 'editor', { width: 360, height: 740 });
  await open(page, `/content/articles/${id}`);
  await field(page, 'title').getByRole('textbox').fill('Under the menu, changed');
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  await page.getByRole('button', { name: 'Menu', exact: true }).press('Enter');
  const find = page.getByRole('navigation').getByRole('button', { name: 'Search everything' });
  await find.waitFor();
  await settled(page);
  assert.equal(await page.locator('.toast').count() > 0, true, 'the message is still there');
  // Asked once: a click would wait until the message has gone.
  assert.equal(await find.evaluate((node) => {
    const { x, y, width, height } = node.getBoundingClientRect();
    return node.contains(document.elementFromPoint(x + width / 2, y + height / 2));
  }), true, 'the message covers the menu');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a key that an input method takes does nothing else', async () => {
  await makeBlueprint('composed-notes', { record_title: 'text' }, [['Text', 'text'], ['Tags', 'multi-enum', { values: null }], ['One', 'reference', { blueprint: 'composed-notes' }]]);
  const id = await create('composed-notes', { text: 'Composed' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/composed-notes/${id}`);
  /** Safari reports the key after the composition, by its number only. */
  const confirm = (how: { isComposing: true } | { keyCode: 229 }) => page.evaluate((how) => void document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...how })), how);
  for (const how of [{ isComposing: true }, { keyCode: 229 }] as const) {
    const tags = field(page, 'tags').getByRole('combobox');
    await tags.fill('かんじ');
    await confirm(how);
    assert.equal(await field(page, 'tags').locator('.chip').count(), 0);
    await tags.fill('');
    await field(page, 'one').getByRole('combobox').fill('Comp');
    await field(page, 'one').getByRole('option', { name: 'Composed' }).waitFor();
    await confirm(how);
    await settled(page);
    assert.equal(await field(page, 'one').getByRole('link').count(), 0);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    const search = page.getByRole('dialog', { name: 'Search everything' });
    await search.waitFor();
    await confirm(how);
    assert.equal(await search.isVisible(), true);
    await page.keyboard.press('Escape');
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a list that is pasted into tags becomes several of them', async () => {
  await makeBlueprint('pasted-tags', { record_title: 'text' }, [['Text', 'text'], ['Tags', 'multi-enum', { values: null }]]);
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/pasted-tags/new');
  const paste = (text: string) => field(page, 'tags').getByRole('combobox').evaluate((input, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', text);
    return input.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);
  await paste('alpha, beta,alpha\ngamma');
  assert.deepEqual(await field(page, 'tags').locator('.chip').allInnerTexts(), ['alpha', 'beta', 'gamma']);
  assert.equal(await paste('one value'), true, 'is pasted as usual');
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a relation is found by the beginning of its title before other texts with the words', async () => {
  await makeBlueprint('picked-notes', { record_title: 'text' }, [['Text', 'text'], ['Body', 'text'], ['One', 'reference', { blueprint: 'picked-notes' }]]);
  await api('POST', '/v2/resources/picked-notes/bulk', { resources: Array.from({ length: 30 }, (_, index) => ({ attributes: { text: `A harbour ${index}`, body: 'harbour harbour harbour' } })) });
  await create('picked-notes', { text: 'Harbour lights, and much more of a long title', body: 'Nothing' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/picked-notes/new');
  await field(page, 'one').getByPlaceholder('Search titles and texts…').fill('harbour');
  await field(page, 'one').getByRole('option').first().filter({ hasText: 'Harbour lights' }).waitFor();
  await field(page, 'one').getByRole('option').nth(20).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('Enter chooses what the typed text finds, also if that comes later', async () => {
  await makeBlueprint('quick-notes', { record_title: 'text' }, [['Text', 'text'], ['One', 'reference', { blueprint: 'quick-notes' }]]);
  for (const text of ['Alder', 'Beech']) await create('quick-notes', { text });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, '/content/quick-notes/new');
  const search = field(page, 'one').getByPlaceholder('Search titles and texts…');
  await search.fill('Alder');
  await field(page, 'one').getByRole('option', { name: 'Alder' }).waitFor();
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await page.route(/Beech/, async (route) => (await held, route.continue()));
  await search.fill('Beech');
  await search.press('Enter');
  release();
  await field(page, 'one').getByRole('link', { name: 'Beech' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

test('the pager of a narrow screen is one line', async () => {
  await makeBlueprint('paged-notes', { record_title: 'text' }, [['Text', 'text']]);
  await api('POST', '/v2/resources/paged-notes/bulk', { resources: Array.from({ length: 30 }, (_, index) => ({ attributes: { text: `Note ${index}` } })) });
  for (const locale of ['en-GB', 'de-DE']) {
    const { page, context } = await signedIn('Ada', 'editor', { width: 390, locale });
    await open(page, '/content/paged-notes');
    const middle = async (one: Locator): Promise<number> => one.boundingBox().then((box) => box!.y + box!.height / 2);
    const arrows = page.locator('.pager button');
    assert.ok(Math.abs((await middle(arrows.first())) - (await middle(arrows.last()))) < 2, locale);
    await context.close();
  }
});
