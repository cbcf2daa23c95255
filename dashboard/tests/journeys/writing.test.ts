// An editor who has never seen the dashboard; the fields; work that is not saved; a lost connection.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { api, choose, closeBrowser, create, EVERY_TYPE, field, invitationFor, makeBlueprint, open, openBrowser, PASSWORD, read, settled, signedIn, toast, URL_BASE } from '../browser';

after(closeBrowser);

test('an invited member chooses a password, signs out and in again', async () => {
  const { url, email } = await invitationFor('Nina', 'editor');
  const context = await (await openBrowser()).newContext({ locale: 'en-GB' });
  const page = await context.newPage();
  await page.goto(url);
  await page.getByLabel('Password').fill('short');
  await page.getByRole('button', { name: 'Save and sign in' }).click();
  assert.ok(page.url().includes('/invitation'), 'a short password is rejected');
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Save and sign in' }).click();
  await page.getByRole('heading', { name: 'Hello Nina' }).waitFor();
  await page.getByRole('button', { name: /Nina/ }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill('wrong password');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('The email or the password is wrong.').waitFor();
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Hello Nina' }).waitFor();
  const again = await context.newPage();
  await again.goto(url);
  await again.getByText('This link does not work').waitFor();
  await context.close();
});

test('an editor writes, illustrates, translates and publishes an article, and finds it again', async () => {
  const { page, context, troubles } = await signedIn('Eda', 'editor');
  await page.goto('/admin/');
  await page.getByRole('link', { name: 'New entry in Articles' }).click();
  await page.getByLabel('Title', { exact: false }).first().fill('Binding a book by hand');
  assert.equal(await field(page, 'slug').getByRole('textbox').inputValue(), 'binding-a-book-by-hand', 'the address follows the title');
  const body = page.getByRole('textbox', { name: 'Body' });
  await body.click();
  await page.keyboard.type('## What you need');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Thread, a needle and ');
  await page.keyboard.press('Control+b');
  await page.keyboard.type('patience');
  await page.keyboard.press('Control+b');
  await page.keyboard.type('.');
  await page.getByRole('button', { name: 'Image', exact: true }).click();
  await page.getByLabel('Address').fill('https://www.example.com/needle.jpg');
  await page.getByLabel('Description').fill('A needle');
  await page.getByRole('button', { name: 'Insert' }).click();
  await page.getByRole('combobox', { name: 'Author' }).fill('string');
  await field(page, 'author').getByRole('option').first().click();
  await page.getByRole('button', { name: 'Publish' }).click();
  await toast(page, 'Published.');
  const id = page.url().split('/').pop()!.split('?')[0]!;

  await page.getByRole('combobox', { name: 'Language' }).selectOption('de');
  await page.getByRole('button', { name: 'Show English beside it' }).click();
  await page.getByText('Not translated').first().waitFor();
  await field(page, 'title').getByRole('textbox').fill('Ein Buch von Hand binden');
  await field(page, 'slug').getByRole('textbox').fill('ein-buch-von-hand-binden');
  await page.getByRole('button', { name: 'Publish changes' }).click();
  await toast(page, 'Your site shows it now');

  const english = (await read('articles', id)).attributes;
  assert.equal(english.slug, 'binding-a-book-by-hand');
  assert.equal(english.body, '<h2>What you need</h2><p>Thread, a needle and <strong>patience</strong>.<img src="https://www.example.com/needle.jpg" alt="A needle"></p>');
  assert.ok(english.author);
  assert.equal((await read('articles', id, '?variant=de')).attributes.title, 'Ein Buch von Hand binden');
  assert.ok((await read('articles', id)).published_at);

  await page.keyboard.press('Control+k');
  await page.keyboard.type('book by hand');
  await page.getByRole('option', { name: 'Binding a book by hand', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Binding a book by hand' }).waitFor();
  await page.getByRole('link', { name: 'Back to Articles' }).click();
  await page.getByRole('searchbox').fill('binding a BOOK');
  await page.getByRole('link', { name: 'Binding a book by hand' }).waitFor();
  assert.deepEqual(troubles, []);
  await context.close();
});

const SETTING: Record<string, (page: import('playwright-core').Page) => Promise<void>> = {
  text: (page) => field(page, 'text').getByRole('textbox').fill('zwei\nZeilen'),
  rich: async (page) => {
    await field(page, 'rich').getByRole('textbox').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(' more');
  },
  page: async (page) => {
    await field(page, 'page').getByRole('button', { name: 'CSS' }).click();
    await field(page, 'page').getByRole('textbox', { name: 'CSS' }).fill('p { color: red }');
  },
  slug: (page) => field(page, 'slug').getByRole('textbox').fill('other'),
  email: (page) => field(page, 'email').getByRole('textbox').fill('grace@example.org'),
  link: (page) => field(page, 'link').getByRole('textbox').fill('/path'),
  image: (page) => field(page, 'image').getByRole('textbox').fill('https://www.example.com/b.png'),
  file: (page) => field(page, 'file').getByRole('textbox').fill('https://www.example.com/b.pdf'),
  choice: async (page) => void (await field(page, 'choice').getByRole('combobox').selectOption('blue')),
  free: (page) => field(page, 'free').getByRole('combobox').fill('anything'),
  choices: (page) => field(page, 'choices').getByLabel('c', { exact: true }).check(),
  tags: async (page) => {
    await field(page, 'tags').getByRole('combobox').fill('new');
    await page.keyboard.press('Enter');
  },
  flag: (page) => field(page, 'flag').getByLabel('No', { exact: true }).check(),
  colour: (page) => field(page, 'colour').getByRole('textbox', { name: 'Colour', exact: true }).fill('#abcdef80'),
  number: (page) => field(page, 'number').getByRole('textbox').fill('3.5'),
  price: (page) => field(page, 'price').getByRole('textbox').fill('12.5'),
  day: (page) => field(page, 'day').locator('input').fill('2031-02-03'),
  moment: async (page) => {
    await field(page, 'moment').locator('input').fill('2031-02-03T04:05');
    await field(page, 'moment').locator('input').blur();
  },
  length: (page) => field(page, 'length').getByRole('textbox').fill('42'),
  one: async (page) => {
    await field(page, 'one').getByRole('combobox').click();
    await field(page, 'one').getByRole('option').nth(2).click();
  },
  many: async (page) => {
    await field(page, 'many').getByRole('combobox').click();
    await field(page, 'many').getByRole('option').nth(2).click();
  },
  member: async (page) => void (await field(page, 'member').getByRole('combobox').selectOption({ index: 1 })),
  place: (page) => field(page, 'place').getByLabel('City').fill('Porto'),
};

/** Values in forms that a careless editor would write differently. */
async function odd(): Promise<Record<string, unknown>> {
  const authors = (await api<{ data: { id: string }[] }>('GET', '/v2/resources/authors?per_page=2&sort=name')).body.data.map((one) => one.id);
  return {
    text: '', rich: '<p>A  <i>b</i> <b>c</b></p>\n<details><summary>x</summary>y</details>', page: { html: '<section class="hero"><h1>Hi</h1></section>', css: 'h1{color:blue}', blocks: [{ type: 'hero', n: 1 }] },
    slug: 'a/b.c~d', email: 'ada@example.org', link: 'mailto:ada@example.org', image: 'https://www.example.com/a.png', file: 'https://www.example.com/a.pdf', choice: 'red', free: 'x, y', choices: ['b', 'a'], tags: ['ü', 'a,b'],
    flag: true, colour: '#ABC', number: 1e-7, price: { amount: 0.1, currency: 'USD' }, day: '0001-01-01', moment: '2026-01-02T03:04:05.1234+05:30', length: 1.5, one: authors[0], many: [authors[1], authors[0]], member: null,
    place: { street: null, postal_code: '1000', city: 'Lisbon', country: 'PT' },
  };
}

test('every type of field is edited and emptied, and nothing else is sent or changed', async () => {
  await makeBlueprint('every-type');
  const id = await create('every-type', await odd());
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/every-type/${id}`);
  await page.locator('.source, .prose').first().waitFor();
  const sent: Record<string, unknown>[] = [];
  page.on('request', (request) => request.method() === 'PATCH' && sent.push(request.postDataJSON() as Record<string, unknown>));

  const save = async (slug: string): Promise<void> => {
    const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
    await page.keyboard.press('Control+s');
    assert.equal((await answered).status(), 200, slug);
  };
  for (const [slug, change] of Object.entries(SETTING)) {
    const before = (await read('every-type', id)).attributes;
    await change(page);
    await save(slug);
    const after = (await read('every-type', id)).attributes;
    assert.deepEqual(Object.keys(sent.at(-1)!), ['attributes'], slug);
    assert.deepEqual(Object.keys(sent.at(-1)!.attributes as object), [slug]);
    assert.notDeepEqual(after[slug], before[slug], slug);
    for (const other of Object.keys(before)) if (other !== slug) assert.equal(JSON.stringify(after[other]), JSON.stringify(before[other]), `${other} after a change of ${slug}`);
  }
  const filled = (await read('every-type', id)).attributes;
  assert.equal(filled.number, 3.5);
  assert.deepEqual(filled.tags, ['ü', 'a,b', 'new']);
  assert.deepEqual(filled.price, { amount: 12.5, currency: 'USD' });

  for (const slug of Object.keys(SETTING)) {
    await field(page, slug).getByRole('button', { name: /^Empty / }).click();
    await save(slug);
    assert.deepEqual(sent.at(-1)!, { attributes: { [slug]: null } });
    assert.equal((await read('every-type', id)).attributes[slug], null);
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('numbers are read as the language writes them, refused where they are ambiguous, and shown as they are stored', async () => {
  await makeBlueprint('typed-numbers', {}, [['Text', 'text'], ['Number', 'number'], ['Price', 'money', { currencies: ['EUR'] }], ['Length', 'duration', { unit: 'minutes' }]]);
  const slugs = ['number', 'price', 'length'];
  const stored = async (id: string): Promise<unknown[]> => {
    const { attributes } = await read('typed-numbers', id);
    return [attributes.number, (attributes.price as { amount: number } | null)?.amount, attributes.length];
  };
  for (const [tag, good, refused, shown, message] of [
    ['en-GB', '1,234', ['3,5', '1.234,5'], '1234', 'Must be one number, written such as 1,234.5.'],
    ['de-DE', '1.234,5', ['1,234.50'], '1234,5', 'Muss eine einzige Zahl sein, geschrieben wie 1.234,5.'],
  ] as const) {
    const id = await create('typed-numbers', { text: 'x' });
    const { page, context, troubles } = await signedIn('Ada', 'editor', { locale: tag });
    await open(page, `/content/typed-numbers/${id}`);
    const save = async (): Promise<number> => {
      const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await page.keyboard.press('Control+s');
      return (await answered).status();
    };
    for (const slug of slugs) await field(page, slug).getByRole('textbox').fill(good);
    assert.equal(await save(), 200);
    const value = tag === 'en-GB' ? 1234 : 1234.5;
    assert.deepEqual(await stored(id), [value, value, value], tag);
    for (const slug of slugs) assert.equal(await field(page, slug).getByRole('textbox').inputValue(), shown, `${slug} in ${tag}`);
    for (const text of refused) {
      for (const slug of slugs) await field(page, slug).getByRole('textbox').fill(text);
      assert.equal(await save(), 422);
      for (const slug of slugs) {
        await field(page, slug).getByText(message).waitFor();
        assert.equal(await field(page, slug).getByRole('textbox').inputValue(), text);
      }
      assert.deepEqual(await stored(id), [value, value, value], text);
    }
    assert.deepEqual(troubles, []);
    await context.close();
  }
});

/** A value of each type that the form can hold and the server rejects. Booleans, days and addresses of a form are valid or empty. */
const DEEP = '<div>'.repeat(600);
const type = (slug: string, value: string) => (page: import('playwright-core').Page) => field(page, slug).locator('input:not([type=color]), textarea').first().fill(value);
const WRONG: Record<string, (page: import('playwright-core').Page) => Promise<unknown>> = {
  text: type('text', 'x'.repeat(65_537)),
  rich: async (page) => {
    await field(page, 'rich').getByRole('button', { name: 'HTML', exact: true }).click();
    await field(page, 'rich').locator('textarea').fill(DEEP);
  },
  page: async (page) => {
    await field(page, 'page').getByRole('button', { name: 'HTML', exact: true }).click();
    await field(page, 'page').locator('textarea').fill(DEEP);
  },
  slug: type('slug', 'a b'),
  email: type('email', 'nobody'),
  link: type('link', 'www.example.com'),
  image: type('image', 'ftp://a'),
  file: type('file', 'x'),
  choice: (page) => field(page, 'choice').getByRole('combobox').selectOption('gone'),
  free: type('free', 'x'.repeat(256)),
  choices: (page) => field(page, 'choices').getByLabel('gone', { exact: true }).check(),
  tags: async (page) => {
    await type('tags', 'x'.repeat(256))(page);
    await page.keyboard.press('Enter');
  },
  colour: type('colour', 'red'),
  number: type('number', 'many'),
  price: type('price', 'much'),
  moment: async (page) => {
    await field(page, 'moment').locator('input').fill('12026-01-02T03:04');
    await field(page, 'moment').locator('input').blur();
  },
  length: type('length', '1000'),
  one: (page) => relate(page, 'one'),
  many: (page) => relate(page, 'many'),
  member: (page) => field(page, 'member').getByRole('combobox').selectOption({ label: 'Leaving' }),
};

async function relate(page: import('playwright-core').Page, slug: string): Promise<void> {
  await field(page, slug).getByRole('combobox').fill('Vanishing');
  await field(page, slug).getByRole('option', { name: 'Vanishing' }).click();
}

/** The message stands at its field, and the input names it as its description. */
async function assertFault(page: import('playwright-core').Page, slug: string): Promise<void> {
  const row = field(page, slug);
  assert.ok((await row.locator('.fault li').allInnerTexts()).join('').trim().length > 5, `${slug} has no message`);
  assert.ok((await row.locator(`[aria-describedby~="field-${slug}-error"]`).count()) > 0, `${slug} is not described by its message`);
  assert.ok((await row.locator('[aria-invalid=true], .invalid').count()) > 0, `${slug} is not marked as invalid`);
}

test('what the server rejects is said at its field, for every type', async () => {
  await makeBlueprint('wrong-values');
  const author = await create('authors', { name: 'Vanishing', slug: `vanishing-${Date.now()}` });
  const leaving = (await api<{ data: { id: number } }>('POST', '/v2/members', { name: 'Leaving', email: `leaving-${Date.now()}@example.org`, role: 'viewer' })).body.data.id;
  const { page, context } = await signedIn('Ada', 'editor');
  // The form still offers a value that the blueprint has lost.
  await page.route('**/v2/blueprints', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { data: { slug: string; fields: { settings: { values?: string[] | null } }[] }[] };
    for (const one of body.data.find((found) => found.slug === 'wrong-values')!.fields) one.settings.values?.push('gone');
    await route.fulfill({ response: answer, json: body });
  });
  await open(page, '/content/wrong-values/new');
  await page.locator('.prose').waitFor();
  for (const fill of Object.values(WRONG)) await fill(page);
  await api('DELETE', `/v2/resources/authors/${author}`);
  await api('DELETE', `/v2/members/${leaving}`);
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.getByText(/fields need your attention/).waitFor();
  const silent: string[] = [];
  for (const slug of Object.keys(WRONG)) if ((await field(page, slug).locator('.fault li').count()) === 0) silent.push(slug);
  assert.deepEqual(silent, [], 'fields without a message');
  for (const slug of Object.keys(WRONG)) await assertFault(page, slug);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'field-text', 'the first field that is wrong has the focus');
  await field(page, 'email').getByRole('textbox').fill('ada@example.org');
  assert.equal(await field(page, 'email').locator('.fault').count(), 0);
  await context.close();
});

test('a required field that is empty is said at its place, for every type', async () => {
  const fields = EVERY_TYPE.map(([name, type, settings]) => ({ name, slug: name.toLowerCase(), type, required: true, settings: settings ?? {} }));
  await makeBlueprint('required-values', { fields });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, '/content/required-values/new');
  await page.locator('.prose').waitFor();
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.getByText(`${fields.length} fields need your attention`).waitFor();
  for (const { slug } of fields) {
    await assertFault(page, slug);
    await page.evaluate((id) => document.getElementById(id)?.focus(), `field-${slug}`);
    assert.ok(await field(page, slug).evaluate((row) => row.contains(document.activeElement)), `${slug} cannot take the focus`);
  }
  await context.close();
});

test('work that is not saved survives a reload, and is found from the home screen', async () => {
  const id = await create('authors', { name: 'Unsaved', slug: `unsaved-${Date.now()}` });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/authors/${id}`);
  await field(page, 'name').getByRole('textbox').fill('Kept');
  await page.reload();
  await page.getByText('Work that was not saved was restored').waitFor();
  assert.equal(await field(page, 'name').getByRole('textbox').inputValue(), 'Kept');
  assert.equal((await read('authors', id)).attributes.name, 'Unsaved');
  await page.goto('/admin/');
  await page.getByRole('heading', { name: 'Not saved yet' }).waitFor();
  await page.getByRole('link', { name: /Kept/ }).click();
  await page.getByRole('button', { name: 'Discard my changes' }).click();
  assert.equal(await field(page, 'name').getByRole('textbox').inputValue(), 'Unsaved');
  await context.close();
});

test('a lost connection loses nothing, and a new entry is created once', async () => {
  const { page, context } = await signedIn('Ada', 'editor');
  const slug = `offline-${Date.now()}`;
  await open(page, '/content/authors/new');
  await field(page, 'name').getByRole('textbox').fill('Offline');
  await field(page, 'slug').getByRole('textbox').fill(slug);
  // The request arrives, and its answer gets lost.
  await page.route('**/v2/resources/authors', async (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    await route.fetch();
    return route.abort();
  });
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.getByText('No connection. Your work is kept').waitFor();
  await page.unroute('**/v2/resources/authors');
  await page.getByRole('button', { name: 'Try again' }).click();
  await toast(page, 'Saved');
  const found = await api<{ meta: { total: number } }>('GET', `/v2/resources/authors?filter[slug]=${slug}`);
  assert.equal(found.body.meta.total, 1);

  await context.setOffline(true);
  await field(page, 'name').getByRole('textbox').fill('Back again');
  await page.keyboard.press('Control+s');
  await page.getByText('No connection. Your work is kept').waitFor();
  await context.setOffline(false);
  await toast(page, 'The connection is back');
  const id = page.url().split('/').pop()!;
  assert.equal((await read('authors', id)).attributes.name, 'Back again');
  await context.close();
});

for (const [first, site, edited] of [['Save draft', 'Third', 'Third'], ['Publish', 'First', 'Third']] as const) {
  test(`text that is written after the answer to "${first}" got lost goes into the entry that this created`, async () => {
    const slug = `lost-${first === 'Publish' ? 'publications' : 'drafts'}`;
    await makeBlueprint(slug, { working_copy: true, record_title: 'text' }, [['Text', 'text']]);
    const { page, context } = await signedIn('Ada', 'editor');
    await open(page, `/content/${slug}/new`);
    const text = field(page, 'text').getByRole('textbox');
    await text.fill('First');
    let lost = 0;
    await page.route(`**/v2/resources/${slug}`, async (route) => {
      if (route.request().method() !== 'POST' || lost > 1) return route.continue();
      lost += 1;
      // Only the first of both requests arrives.
      if (lost === 1) await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: first, exact: true }).click();
    await page.getByText('No connection. Your work is kept').waitFor();
    await text.fill('Second');
    await page.keyboard.press('Control+s');
    await text.fill('Third');
    // It may be repeated before.
    await page.keyboard.press('Control+s');
    await page.waitForURL((url) => !url.pathname.endsWith('/new'));
    await page.locator('.top .saved').filter({ hasText: /./ }).waitFor({ state: 'detached' });
    const found = await api<{ data: { id: string; attributes: { text: string } }[] }>('GET', `/v2/resources/${slug}`);
    assert.deepEqual(found.body.data.map(({ attributes }) => attributes.text), [site]);
    const { id } = found.body.data[0]!;
    assert.equal(page.url().split('/').pop(), id);
    assert.equal((await read(slug, id, first === 'Publish' ? '?copy=working' : '')).attributes.text, edited);
    await page.goto('/admin/');
    await page.getByRole('heading', { name: 'Hello Ada' }).waitFor();
    await settled(page);
    assert.equal(await page.getByText('Not saved yet').count(), 0);
    await context.close();
  });
}

test('an entry is published at a time, and unpublished', async () => {
  await makeBlueprint('scheduled-notes', { scheduled: true }, [['Text', 'text']]);
  const id = await create('scheduled-notes', { text: 'Later' });
  const { page, context } = await signedIn('Ada', 'editor');
  await open(page, `/content/scheduled-notes/${id}`);
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Schedule…' }).click();
  await page.getByLabel('Date and time').fill('2099-01-02T03:04');
  await page.getByRole('button', { name: 'Schedule', exact: true }).click();
  await toast(page, 'Scheduled');
  assert.equal((await read('scheduled-notes', id)).published_at?.slice(0, 7), '2099-01');
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('button', { name: 'Unpublish' }).click();
  await toast(page, 'It is a draft now');
  assert.equal((await read('scheduled-notes', id)).published_at, null);
  await context.close();
});

test('where a blueprint does not wait for dates nothing is called a schedule, and a new blueprint waits', async () => {
  await makeBlueprint('unscheduled-notes', {}, [['Text', 'text']]);
  const id = await create('unscheduled-notes', { text: 'Now' });
  const { page, context } = await signedIn('Ada', 'owner');
  await open(page, `/content/unscheduled-notes/${id}`);
  await page.getByRole('button', { name: 'More' }).click();
  assert.equal(await page.getByRole('button', { name: 'Schedule…' }).count(), 0);
  await page.getByRole('button', { name: 'Publish with a date…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Publish with a date' });
  await dialog.getByLabel('Date and time').fill('2099-01-02T03:04');
  await dialog.getByText('the entry is published at once').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Schedule' }).count(), 0);
  await dialog.getByRole('button', { name: 'Publish now with this date' }).click();
  await toast(page, 'Published.');
  await open(page, '/blueprints/new');
  assert.ok(await page.getByLabel('Publish at the date').isChecked());
  const demonstration = await api<{ data: { slug: string; scheduled?: boolean }[] }>('GET', '/v2/blueprints');
  assert.equal(demonstration.body.data.find((one) => one.slug === 'articles')!.scheduled, true);
  await context.close();
});

test('a session that ends asks to sign in again, over the work', async () => {
  const { page, context, email } = await signedIn('Ada', 'editor');
  await open(page, '/content/authors/new');
  await field(page, 'name').getByRole('textbox').fill('Still here');
  await field(page, 'slug').getByRole('textbox').fill(`still-${Date.now()}`);
  await context.clearCookies();
  await page.getByRole('button', { name: 'Save draft' }).click();
  await page.getByRole('heading', { name: 'Sign in again to continue' }).waitFor();
  assert.equal(await page.getByLabel('Email').last().inputValue(), email);
  await page.locator('dialog input[type=password]').fill(PASSWORD);
  await page.locator('dialog button', { hasText: 'Sign in' }).click();
  await page.locator('dialog').waitFor({ state: 'detached' });
  await toast(page, 'Saved');
  assert.ok(page.url().startsWith(URL_BASE));

  // Another tab begins a session of its own, whose cookie this one has from then on.
  assert.ok((await context.request.post(`${URL_BASE}/v2/session`, { data: { email, password: PASSWORD } })).ok());
  await field(page, 'name').getByRole('textbox').fill('Still here, again');
  const saved = page.waitForResponse((answer) => answer.request().method() === 'PATCH' && answer.ok());
  await page.keyboard.press('Control+s');
  await saved;
  await context.close();
});

test('what is changed while an entry is being saved is saved by the next key', async () => {
  await makeBlueprint('saved-twice');
  const id = await create('saved-twice', { text: 'One' });
  const { page, context, troubles } = await signedIn('Ada', 'editor');
  await open(page, `/content/saved-twice/${id}`);
  let first = true;
  await page.route(`**/v2/resources/saved-twice/${id}`, async (route) => {
    if (route.request().method() === 'PATCH' && first) {
      first = false;
      await new Promise((resolve) => setTimeout(resolve, 1500));
    }
    await route.continue();
  });
  const text = field(page, 'text').getByRole('textbox');
  for (const value of ['Two', 'Three']) {
    await text.fill(value);
    await page.keyboard.press('Control+s');
  }
  for (let tries = 0; (await read('saved-twice', id)).attributes.text !== 'Three'; tries += 1) {
    assert.ok(tries < 100, 'the second change is not saved');
    await page.waitForTimeout(100);
  }
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a date without one of its parts, or one that does not exist, is said at its field and not saved', async () => {
  await makeBlueprint('half-dated-notes', {}, [['Text', 'text'], ['Day', 'date'], ['Moment', 'datetime']]);
  const id = await create('half-dated-notes', { text: 'Stored', day: '2026-12-05', moment: '2026-12-05T10:00:00Z' });
  const { page, context, troubles } = await signedIn('Ada', 'editor', { locale: 'en-US' });
  await open(page, `/content/half-dated-notes/${id}`);
  const [day, moment] = [page.locator('#field-day'), page.locator('#field-moment')];
  const isWrong = (slug: string) => field(page, slug).getByText('This date is not complete, or does not exist.').waitFor();
  await field(page, 'text').getByRole('textbox').fill('Typed');
  await day.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Delete');
  // Saved with the key, while the input still has the focus.
  await page.keyboard.press('Control+s');
  await isWrong('day');
  assert.equal(await day.evaluate((one) => one === document.activeElement), true);
  await moment.focus();
  await page.keyboard.press('Delete');
  await field(page, 'text').getByRole('textbox').focus();
  await isWrong('moment');
  assert.equal(await moment.getAttribute('aria-invalid'), 'true');
  await page.getByRole('button', { name: 'Save' }).first().click();
  await page.getByText('2 fields need your attention').waitFor();
  await settled(page);
  assert.deepEqual((await read('half-dated-notes', id)).attributes, { text: 'Stored', day: '2026-12-05', moment: '2026-12-05T10:00:00Z' });

  await day.focus();
  await page.keyboard.type('02312026');
  await page.keyboard.press('Tab');
  await isWrong('day');
  await day.focus();
  await page.keyboard.type('02282026');
  assert.equal(await field(page, 'day').locator('.fault').count(), 0);
  // A date is emptied by its button, though a part of it is left in the input.
  await page.getByRole('button', { name: 'Empty Moment' }).click();
  assert.equal(await field(page, 'moment').locator('.fault').count(), 0);
  assert.equal(await moment.evaluate((one: HTMLInputElement) => one.validity.badInput), false);
  await page.keyboard.press('Control+s');
  await toast(page, 'Saved');
  assert.deepEqual((await read('half-dated-notes', id)).attributes, { text: 'Typed', day: '2026-02-28', moment: null });
  assert.deepEqual(troubles, []);
  await context.close();
});

test('a date that is half typed goes from its input when the changes are discarded', async () => {
  await makeBlueprint('half-discarded-notes', {}, [['Text', 'text'], ['Day', 'date'], ['Moment', 'datetime']]);
  const id = await create('half-discarded-notes', { text: 'Stored', day: '2026-12-05' });
  const { page, context, troubles } = await signedIn('Ada', 'editor', { locale: 'en-US' });
  await open(page, `/content/half-discarded-notes/${id}`);
  const [text, day, moment] = [field(page, 'text').getByRole('textbox'), page.locator('#field-day'), page.locator('#field-moment')];
  await text.fill('Typed');
  // A part of what is stored is gone, and a part of what was empty is there.
  await day.focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Delete');
  await moment.focus();
  await page.keyboard.type('12');
  await text.focus();
  for (const slug of ['day', 'moment']) await field(page, slug).getByText('This date is not complete, or does not exist.').waitFor();

  await choose(page, 'Discard my changes');
  await toast(page, 'What was not saved is discarded.');
  assert.equal(await text.inputValue(), 'Stored');
  assert.equal(await day.inputValue(), '2026-12-05');
  for (const input of [day, moment]) assert.equal(await input.evaluate((one: HTMLInputElement) => one.validity.badInput), false);
  for (const slug of ['day', 'moment']) assert.equal(await field(page, slug).locator('.fault').count(), 0, slug);
  await text.fill('Saved');
  const saved = page.waitForResponse((one) => one.request().method() === 'PATCH' && one.ok());
  await page.keyboard.press('Control+s');
  await saved;
  assert.deepEqual((await read('half-discarded-notes', id)).attributes, { text: 'Saved', day: '2026-12-05', moment: null });
  assert.deepEqual(troubles, []);
  await context.close();
});
