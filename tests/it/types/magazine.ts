// A magazine of four pages on the demonstration content: home, section, article, search. Run it with
// `node magazine.ts URL TOKEN`, beside what `bindery types typescript` wrote to `bindery.ts`. It prints the pages as JSON.
import { BinderyError, Client, type Filter } from "./bindery.ts";

declare const process: { argv: string[]; exitCode: number };
const [, , url = "", token = ""] = process.argv;
const client = new Client(url, token);

/** Every page shows only what is published by now. */
const published: Filter<"articles"> = { published: true };

const escaped = (text: string | null): string => (text ?? "").replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

interface Teaser {
  attributes: { title: string | null; slug: string | null };
}

const teaser = ({ attributes }: Teaser): string => `<a href="/${escaped(attributes.slug)}">${escaped(attributes.title)}</a>`;

/** The newest articles with their authors, and the sections with how many articles each has. */
async function home(): Promise<string> {
  const settings = await client.list("site-settings", { fields: ["attributes.site_name"] });
  const page = await client.list("articles", {
    filter: published,
    sort: ["-published_at", "title"],
    per_page: 3,
    fields: ["published_at", "attributes.title", "attributes.slug", "attributes.author"],
    expand: "author",
    "fields[authors]": ["id", "attributes.name"],
    facets: ["kind:20"],
    stats: "reading_minutes",
  });
  const names = new Map(page.included.map((author) => [author.id, author.attributes.name]));
  const articles = page.data.map((article) => {
    const author = names.get(article.attributes.author ?? "") ?? null;
    return `<li>${teaser(article)} by ${escaped(author)}, ${article.published_at?.slice(0, 10)}</li>`;
  });
  const sections = page.meta.facets["kind:20"].values.map(({ value, count }) => `<li>${value} (${count})</li>`);
  const { sum } = page.meta.stats.reading_minutes;
  return `<h1>${escaped(settings.data[0]?.attributes.site_name ?? null)}</h1>
<ul>${articles.join("")}</ul><ul>${sections.join("")}</ul><p>${page.meta.total} articles, ${Math.round(sum)} minutes</p>`;
}

/** All articles of a section, however many there are. */
async function section(kind: string): Promise<string> {
  const items: string[] = [];
  const all = client.all("articles", { filter: { ...published, kind }, sort: "title", fields: "attributes.title,attributes.slug", per_page: 3 });
  for await (const article of all) items.push(`<li>${teaser(article)}</li>`);
  return `<h1>${escaped(kind)}</h1><ul>${items.join("")}</ul>`;
}

/** One article in a language, English where it is not translated, with links to its neighbors. */
async function article(slug: string, variant: "en" | "de"): Promise<string> {
  const found = await client.list("articles", { filter: { ...published, slug }, fields: "id", per_page: 1 });
  const id = found.data[0]?.id;
  if (id === undefined) return "404";
  const { attributes, included } = await client.get("articles", id, { variant, fallback: "en", expand: ["author"], exclude: ["relationships"] });
  const beside = await client.neighbors("articles", id, {
    filter: published,
    sort: ["-published_at", "title"],
    fields: ["attributes.title", "attributes.slug"],
  });
  const links = [beside.data.previous, beside.data.next].map((other) => (other === null ? "" : teaser(other)));
  return `<h1>${escaped(attributes.title)}</h1><address>${escaped(included[0]?.attributes.name ?? null)}</address>
${attributes.body}
<nav>${links.join(" | ")} (${beside.meta.position} of ${beside.meta.total})</nav>`;
}

/** What was found, best first, with the words marked. */
async function search(q: string): Promise<string> {
  const page = await client.list("articles", {
    filter: published, q, per_page: 5, highlight: ["title", "body"], fields: ["attributes.title", "attributes.slug"],
  });
  // Highlights are escaped by the server.
  const items = page.data.map(({ attributes, highlights }) => `<li><a href="/${escaped(attributes.slug)}">${highlights.title}</a> ${highlights.body}</li>`);
  return `<h1>${escaped(q)}: ${page.meta.total}</h1><ul>${items.join("")}</ul>`;
}

try {
  const pages = {
    home: await home(),
    section: await section("how-to"),
    article: await article("allocator", "de"),
    missing: await article("there-is-none", "en"),
    search: await search("complier warnings"),
  };
  console.log(JSON.stringify(pages));
} catch (error) {
  console.error(error instanceof BinderyError ? `${error.status} ${error.code}: ${error.message}` : error);
  process.exitCode = 1;
}
