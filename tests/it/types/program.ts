// Uses all of the client. Its types are checked by the compiler, with errors that it must find; its answers by running it.
import { BinderyError, Client, type Filter, type ListOptions, type Resource, type Shown } from "./bindery.ts";

declare const process: { argv: string[]; exitCode: number };
const [, , url = "", token = ""] = process.argv;
const client = new Client(`${url}/`, token);

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

function same<A, B>(_: Same<A, B>): void {}

function check(got: unknown, expected: unknown, about: string): void {
  const [left, right] = [JSON.stringify(got), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${about}: got ${left}, expected ${right}`);
}

async function failure(call: () => Promise<unknown>): Promise<BinderyError> {
  try {
    await call();
  } catch (error) {
    if (error instanceof BinderyError) return error;
    throw error;
  }
  throw new Error(`no error: ${call}`);
}

/** Is compiled and never runs. */
export async function types(text: string, options: ListOptions<"notes">, either: "id" | "attributes"): Promise<void> {
  // @ts-expect-error the blueprint does not exist
  await client.list("nothing");
  // @ts-expect-error the option does not exist
  await client.list("notes", { per_pgae: 1 });
  // @ts-expect-error the field does not exist
  await client.list("notes", { filter: { titel: "x" } });
  // @ts-expect-error nor in a group
  await client.list("notes", { filter: { $or: [{ titel: "x" }, { kind: "red" }] } });
  // @ts-expect-error the operator does not exist
  await client.list("notes", { filter: { title: { contain: "x" } } });
  // @ts-expect-error the related blueprint does not have the field
  await client.list("notes", { filter: { "author.nmae": "x" } });
  // @ts-expect-error nor in a condition that one author must meet
  await client.list("notes", { filter: { author: { $some: { nmae: "x" } } } });
  // @ts-expect-error the operator does not exist there either
  await client.list("notes", { filter: { author: { $some: { name: { contain: "x" } } } } });
  // @ts-expect-error this is no relation
  await client.list("notes", { filter: { title: { $some: { name: "x" } } } });
  // @ts-expect-error the second relation does not exist
  await client.list("notes", { filter: { "answers.autor.name": "x" } });
  // @ts-expect-error nor the field behind two relations
  await client.list("notes", { filter: { "answers.author.nmae": "x" } });
  // @ts-expect-error a day has no time
  await client.list("notes", { filter: { day: new Date() } });
  // @ts-expect-error with an operator too
  await client.list("notes", { filter: { day: { gte: new Date() } } });
  // @ts-expect-error behind a relation too
  await client.list("notes", { filter: { "answers.day": { in: [new Date()] } } });
  // @ts-expect-error the field does not exist
  await client.list("notes", { fields: ["attributes.titel"] });
  // @ts-expect-error nor in a text
  await client.list("notes", { fields: "id,attributes.titel" });
  // @ts-expect-error nor in an order
  await client.list("notes", { sort: "-titel" });
  // @ts-expect-error this is no relation
  await client.list("notes", { expand: "kind" });
  // @ts-expect-error the field is one of another blueprint
  await client.list("notes", { expand: "author", "fields[authors]": ["attributes.title"] });
  // @ts-expect-error a walk has no pages
  client.all("notes", { page: 2 });
  // @ts-expect-error an export neither
  client.export("notes", { per_page: 2 });
  // @ts-expect-error one resource is not sorted
  await client.get("notes", "x", { sort: "title" });
  // @ts-expect-error neighbors have no facets
  await client.neighbors("notes", "x", { facets: "kind" });
  // @ts-expect-error the option does not exist
  await client.search({ serach: "x" });
  // @ts-expect-error nor for a change
  await client.update("notes", "x", {}, { ifmatch: "x" });
  // @ts-expect-error the blueprint has no variants
  await client.get("authors", "x", { variant: "de" });
  // @ts-expect-error the variant does not exist
  await client.get("notes", "x", { variant: "fr" });
  // @ts-expect-error the required field is missing
  await client.create("notes", { attributes: {} });
  // @ts-expect-error in a bulk request too
  await client.bulkCreate("notes", [{ attributes: { kind: "red" } }]);
  // @ts-expect-error the value is none of the field's
  await client.create("notes", { attributes: { title: "t", kind: "blue" } });

  const whole = await client.list("notes", { search: text, sort: "price.amount,-title" });
  same<(typeof whole.data)[number], Resource<"notes">>(true);
  // @ts-expect-error no facets were asked for
  whole.meta.facets;
  // @ts-expect-error nothing is expanded
  whole.included;
  const some = await client.list("notes", { fields: ["id", "attributes.title"] });
  same<(typeof some.data)[number], { id: string; attributes: { title: string | null } }>(true);
  const less = await client.list("notes", { fields: "id,type,attributes.title", exclude: "id" });
  same<(typeof less.data)[number], { type: "resource"; attributes: { title: string | null } }>(true);
  const without = await client.list("notes", { exclude: "attributes,relationships" });
  // @ts-expect-error it is left out
  without.data[0]?.attributes;
  const unknown = await client.list("notes", { fields: text });
  // @ts-expect-error it may be left out
  unknown.data[0]?.attributes.title;
  const expanded = await client.get("notes", "x", { expand: "answers.author", "fields[authors]": "id", "fields[notes]": ["attributes.day"] });
  same<(typeof expanded.included)[number], { id: string } | { attributes: { day: string | null } }>(true);
  const wide = await client.list("notes", options);
  // @ts-expect-error the answer may be 304
  wide.data;
  const one = await client.get("notes", "x", { fields: either });
  // @ts-expect-error it may be the other one
  one.id;
  const red: Filter<"notes"> = { kind: "red" };
  await client.list("notes", { filter: { ...red, updated_at: { gt: new Date() }, author: null, "author.name": { contains: "a" } } });
  const walk = await client.list("notes", { cursor: "" });
  // @ts-expect-error a walk has no pages
  walk.meta.current_page;
  const shown: Shown<"authors", "id"> = { id: "x" };
  void shown;
}

async function reads(): Promise<void> {
  const ada = await client.create("authors", { attributes: { name: "Ada" }, published_at: new Date("2026-01-02T00:00:00Z") });
  check(ada.published_at, "2026-01-02T00:00:00.000+00:00", "a date of the program");
  const created = await client.create("notes", { attributes: { title: "ä & b", kind: "red", author: ada.id, day: "2026-03-01", sent_at: "2026-03-01T13:00+01:00" }, published_at: null });
  const kind: "red" | 'gr"een' | null = created.attributes.kind;
  check(kind, "red", "the answer to a write");
  check(Object.keys(created).includes("etag"), false, "a tag is not part of the resource");
  for (let n = 0; n < 5; n += 1) {
    await client.create("notes", { attributes: { title: `t${n}, \\`, kind: 'gr"een', price: { amount: n, currency: "EUR" } } });
  }
  const titles = async (filter: Filter<"notes">): Promise<string> => {
    const { data } = await client.list("notes", { filter, sort: ["title"], fields: "attributes.title" });
    return data.map(({ attributes }) => attributes.title?.slice(0, 2).trim()).join(" ");
  };
  check(await titles({ title: "ä & b" }), "ä", "a value");
  check(await titles({ title: { in: ["t0, \\", "t2, \\"] } }), "t0 t2", "a list whose values have commas and backslashes");
  check(await titles({ price: { gte: 1, lt: 3 } }), "t1 t2", "two conditions on one field");
  check(await titles({ price: { between: [3, 4] } }), "t3 t4", "a range");
  check(await titles({ price: null }), "ä", "null");
  check(await titles({ "author.name": "Ada" }), "ä", "a field of a relation");
  check(await titles({ author: { $some: { name: "Ada", published_at: { lt: new Date() } } } }), "ä", "fields of one author");
  check(await titles({ "answers.author.name": "Ada" }), "", "a field behind two relations");
  check(await titles({ $or: [{ "price.amount": 0 }, { kind: "red", price: { null: true } }] }), "ä t0", "a group");
  check(await titles({ $not: { price: { gt: 0 } } }), "ä t0", "a negation");
  check(await titles({ created_at: { gt: new Date("2100-01-01") } }), "", "a date of the program");
  check(await titles({ sent_at: new Date("2026-03-01T12:00:00Z"), day: "2026-03-01" }), "ä", "an instant and a day");
  check(await titles({ kind: undefined, price: { gt: 3 } }), "t4", "a filter that is left out");
  await titles({ kind: { in: [] } }).then(() => check(0, 1, "an empty list"), (error) => check(error.name, "RangeError", "an empty list"));

  const page = await client.list("notes", {
    q: "ä", highlight: ["title"], facets: "kind:5", facet_mode: "disjunctive", stats: ["price"], per_page: 2, page: 1,
    expand: "author", "fields[authors]": ["attributes.name"], fields: ["attributes.author"], strict: true,
  });
  const named: { attributes: { name: string | null } }[] = page.included;
  check(named, [{ attributes: { name: "Ada" } }], "expanded");
  check(page.data, [{ attributes: { author: ada.id }, highlights: { title: "<mark>ä</mark> &amp; b" } }], "fields and highlights");
  check(page.meta.facets["kind:5"].values, [{ value: "red", count: 1 }], "facets");
  check(page.meta.stats.price.null, 1, "statistics");
  check([page.meta.total, page.meta.current_page, page.links.next], [1, 1, null], "where the page is");

  check(await client.list("notes", { ifNoneMatch: (await client.list("notes")).etag ?? "" }), null, "a list that is unchanged");
  const read = await client.get("notes", created.id, { variant: "en", fallback: "de", expand: ["author"] });
  check(read.included.map((author) => author.attributes.name), ["Ada"], "expanded in one");
  const etag = (await client.get("notes", created.id)).etag ?? "";
  check(await client.get("notes", created.id, { ifNoneMatch: etag }), null, "a resource that is unchanged");
  check((await client.get("notes", created.id, { ifNoneMatch: '"x"' }))?.id, created.id, "a resource that is not");
  const { data, meta } = await client.neighbors("notes", created.id, { sort: "-title", fields: "attributes.title", filter: { kind: { ne: "x" } } });
  check([data.previous, data.next?.attributes.title?.slice(0, 2) ?? null, meta], [{ attributes: { title: "t0, \\" } }, null, { position: 6, total: 6 }], "neighbors");
  check((await client.referrers("authors", ada.id)).map(({ field, total }) => [field, total]), [["author", 1]], "referrers");

  for (const per_page of [2, undefined]) {
    const all: string[] = [];
    for await (const note of client.all("notes", { sort: "title", fields: "attributes.title", per_page })) all.push(note.attributes.title ?? "");
    check(all.map((title) => title.slice(0, 2).trim()), ["ä", "t0", "t1", "t2", "t3", "t4"], "a walk");
  }
  const matching: string[] = [];
  for await (const { attributes } of client.all("notes", { q: "t", sort: undefined, fields: "attributes.title" })) matching.push(attributes.title ?? "");
  check(matching.map((title) => title.slice(0, 2)), ["t4", "t3", "t2", "t1", "t0"], "a walk over what a search finds");
  const exported: string[] = [];
  for await (const { id } of client.export("notes", { fields: "id", filter: { kind: "red" } })) exported.push(id);
  check(exported, [created.id], "an export");
  check((await client.search({ search: "ä &" })).meta.total, 1, "a search over all blueprints");
  const ranked = await client.search({ q: "t", per_page: 2 });
  check([ranked.meta.last_page, ranked.meta.facets.blueprint.values[0]?.value], [3, "notes"], "one ranked list");
  check((await client.search({ q: "t", group: true })).data.map(({ blueprint, total }) => [blueprint, total]), [["notes", 5]], "lists apart");
  check((await client.suggest({ q: "t4", blueprints: "notes" })).data.map(({ kind }) => kind), ["word", "title"], "suggestions");
  const tracked = await client.list("notes", { q: "t", track: true });
  check(tracked.meta.search_id, null, "a search for no site is not counted");
  const clicks = [client.click(tracked.meta.search_id, "x", 1), client.click("x", "x", 1)];
  check(await Promise.all(clicks), [false, false], "clicks on searches that were not counted");
  const status = await client.request<{ data: { writable: boolean } }>("GET", "/v2/status", { query: { strict: true } });
  check(status.data.writable, true, "another request");
  const first = await client.list("notes", { filter: { kind: 'gr"een' }, sort: "title", per_page: 2, fields: "attributes.title" });
  const second = await client.request<typeof first>("GET", first.links.next ?? "", { query: { exclude: "id" } });
  check([second.meta.current_page, second.data.length], [2, 2], "a link of an answer");
}

async function writes(): Promise<void> {
  const note = await client.create("notes", { attributes: { title: "one", body: "<p onclick='x'>y</p>" } }, { idempotencyKey: "k1" });
  check(note.sanitized, { body: { removed: { "@onclick": 1 } } }, "what was removed");
  const again = await client.create("notes", { attributes: { title: "one", body: "<p onclick='x'>y</p>" } }, { idempotencyKey: "k1" });
  check([again.id, again.etag], [note.id, note.etag], "the same request again");
  const changed = await client.update("notes", note.id, { attributes: { title: "two" } }, { ifMatch: note.etag ?? "" });
  check([changed.attributes.title, changed.attributes.body, changed.sanitized], ["two", "<p>y</p>", null], "an update");
  const late = await failure(() => client.replace("notes", note.id, { attributes: { title: "three" } }, { ifMatch: note.etag ?? "" }));
  check([late.status, late.code], [412, "PRECONDITION_FAILED"], "a lost update");
  await client.update("notes", note.id, { attributes: { title: "zwei" } }, { variant: "de" });
  const replaced = await client.replace("notes", note.id, { attributes: { title: "three" } }, { ifMatch: "*" });
  check([replaced.attributes.title, replaced.attributes.body], ["three", null], "a replacement");
  check((await client.get("notes", note.id, { variant: "de" })).attributes.title, "zwei", "a variant");
  await client.delete("notes", note.id, { ifMatch: replaced.etag ?? "" });

  const gone = await failure(() => client.get("notes", note.id));
  check([gone.status, gone.code, gone.name, gone.retryAfter], [404, "NOT_FOUND", "BinderyError", null], "an error");
  const invalid = await failure(() => client.create("notes", { attributes: { title: "" } }));
  check([invalid.status, invalid.code, Object.keys(invalid.fields)], [422, "VALIDATION_FAILED", ["title"]], "fields of an error");
  check([typeof invalid.requestId, invalid.message.length > 10], ["string", true], "the rest of an error");

  const bulk = await client.bulkCreate("notes", [{ attributes: { title: "b0" } }, { attributes: { title: "" } }, { attributes: { title: "b2" } }]);
  check([bulk.meta.created, bulk.data.failed[0]?.index, bulk.data.failed[0]?.errors.code], [2, 1, "VALIDATION_FAILED"], "a bulk create");
  const ids = bulk.data.created.map(({ id }) => id);
  const updated = await client.bulkUpdate("notes", ids.map((id) => ({ id, attributes: { kind: "red" as const } })));
  check(updated.data.updated.map(({ id }) => id), ids, "a bulk update");
  check((await client.bulkPublish("notes", ids, { published_at: "2026-02-01" })).meta.published, 2, "a bulk publish");
  check((await client.get("notes", ids[0] ?? "")).published_at, "2026-02-01T00:00:00.000+00:00", "its date");
  check((await client.bulkUnpublish("notes", ids, { idempotencyKey: "k2" })).meta.unpublished, 2, "a bulk unpublish");
  check((await client.bulkDelete("notes", ids)).meta.deleted, 2, "a bulk delete");
}

/** What other servers answer. */
async function strangers(): Promise<void> {
  const answering = (answer: () => Response): Client => new Client("http://localhost", "t", async () => answer());
  const busy = answering(() => new Response('{"errors":{"code":"OVERLOADED","message":"m"}}', { status: 503, headers: { "Retry-After": "7" } }));
  const overloaded = await failure(() => busy.list("notes"));
  check([overloaded.code, overloaded.retryAfter, overloaded.fields], ["OVERLOADED", 7, {}], "Retry-After");
  const proxy = await failure(() => answering(() => new Response("<h1>Bad gateway</h1>", { status: 502 })).list("notes"));
  check([proxy.status, proxy.code, proxy.message.includes("Bad gateway")], [502, "UNKNOWN", true], "an error of a proxy");
  const page = await failure(() => answering(() => new Response("<h1>Hello</h1>")).get("notes", "x"));
  check([page.status, page.code], [200, "UNKNOWN"], "a page of another server");
  const asked: string[] = [];
  const behind = new Client("https://cms.example/api/", "t", async (address) => {
    asked.push(String(address));
    return new Response("{}");
  });
  await behind.request("GET", "/v2/status", { query: { strict: true } });
  await behind.request("GET", "https://cms.example/api/v2/status?page=2", { query: { strict: true } });
  check(asked.splice(0), ["https://cms.example/api/v2/status?strict=true", "https://cms.example/api/v2/status?page=2&strict=true"], "addresses");
  for (const other of ["https://other.example/v2/status", "http://cms.example/v2/status", "@other.example/", ".other.example/", "v2/status"]) {
    const error = await behind.request("GET", other).catch((error: Error) => error);
    check([error instanceof TypeError, asked], [true, []], `the token does not go to ${other}`);
  }
  const aborted = await client.list("notes", { signal: AbortSignal.abort() }).catch((error: Error) => error.name);
  check(aborted, "AbortError", "a call that was aborted");
}

try {
  await reads();
  await writes();
  await strangers();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
