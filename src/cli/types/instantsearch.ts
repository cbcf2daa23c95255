
// A search client for InstantSearch. https://www.algolia.com/doc/guides/building-search-ui describes its widgets.

/** The type of each field, and the blueprint that a relation leads to: requests of InstantSearch have names and texts only. */
const FIELDS: Record<string, Record<string, readonly [type: string, related?: string]>> = {
  // The fields.
};

/** The search parameters of InstantSearch that change an answer. Those that only ask for statistics or ranking details are ignored. */
export interface InstantSearchParameters {
  query?: string | undefined;
  page?: number | undefined;
  hitsPerPage?: number | undefined;
  facets?: string | readonly string[] | undefined;
  maxValuesPerFacet?: number | undefined;
  /** Such as `["kind:faq", ["tags:a", "tags:-b"]]`: all must hold, of an inner list one. */
  facetFilters?: unknown;
  /** Such as `["reading_minutes>=2", "published_at:1451606400000 TO 1483228799999"]`. Dates are milliseconds since 1970. */
  numericFilters?: unknown;
  /** Such as `kind:faq AND (reading_minutes < 2 OR NOT tags:"a b")`. */
  filters?: string | undefined;
  attributesToRetrieve?: string | readonly string[] | undefined;
  attributesToHighlight?: string | readonly string[] | undefined;
  attributesToSnippet?: string | readonly string[] | undefined;
  highlightPreTag?: string | undefined;
  highlightPostTag?: string | undefined;
  facetName?: string | undefined;
  facetQuery?: string | undefined;
  maxFacetHits?: number | undefined;
}

/** `indexName` is a blueprint, then perhaps a variant and a `sort`: `articles`, `articles:de`, `articles/title`, `articles:de/-published_at`. */
export interface InstantSearchRequest {
  indexName: string;
  params?: InstantSearchParameters | undefined;
}

/** An attribute with what was found in it, as text between the tags that the request names. */
export interface HighlightedText {
  value: string;
  matchLevel: "none" | "partial" | "full";
  matchedWords: string[];
  fullyHighlighted?: boolean;
}

export interface InstantSearchHit {
  objectID: string;
  /** The position in the whole list, from 1. */
  __position?: number;
  /** The id of the search, with the option `track`. */
  __queryID?: string;
  _highlightResult: Record<string, HighlightedText | HighlightedText[]>;
  _snippetResult: Record<string, HighlightedText>;
}

export interface InstantSearchResult<T = Record<string, any>> extends WordsFound {
  index: string;
  hits: (T & InstantSearchHit)[];
  nbHits: number;
  page: number;
  nbPages: number;
  hitsPerPage: number;
  facets: Record<string, Record<string, number>>;
  facets_stats: Record<string, { min: number; max: number; avg: number; sum: number }>;
  exhaustiveFacetsCount: true;
  exhaustiveNbHits: true;
  query: string;
  params: string;
  processingTimeMS: number;
  /** The id of the search, with the option `track`. */
  queryID?: string;
}

export interface FacetValuesResult {
  facetHits: { value: string; highlighted: string; count: number }[];
  exhaustiveFacetsCount: boolean;
  processingTimeMS: number;
}

/** The client that `instantsearch()` accepts as `searchClient`. */
export interface InstantSearchClient {
  search<T = Record<string, any>>(requests: readonly InstantSearchRequest[]): Promise<{ results: InstantSearchResult<T>[] }>;
  /** Accepts `InstantSearchRequest[]`, as InstantSearch sends it, and returns `FacetValuesResult[]`. Its published type is that of another method. */
  searchForFacetValues(requests: any): Promise<any>;
}

/** Options of every request. `filter` is added to the filters of the widgets, and `track` counts what visitors search for. */
export type InstantSearchOptions<S extends Slug> = Pick<
  ListOptions<S>, "filter" | "variant" | "fallback" | "fallback_mode" | "typos" | "q_mode" | "q_match" | "track"
>;

/** The conditions on one field, by operator. */
type ByOperator = Record<string, unknown>;
/** A filter as the API knows it. */
type ByName = Record<string, ByOperator>;

/** A request of InstantSearch in terms of the API. */
interface Plan {
  request: InstantSearchRequest;
  parameters: InstantSearchParameters;
  slug: string;
  /** Everything but the filter, the facets and the part of the list. */
  base: Record<string, unknown>;
  /** All must hold. */
  filters: ByName[];
  facets: string[];
  hasHits: boolean;
  isTracked: boolean;
}

/** The parts of a list's answer that are used here. */
interface ListAnswer {
  data: { id: string; attributes?: Record<string, unknown>; highlights?: Record<string, string | null> }[];
  meta: {
    total: number;
    last_page: number;
    facets?: Record<string, Facet>;
    stats?: Record<string, NumberStats | MoneyStats>;
  } & WordsFound;
}

type ReadList = (slug: string, query: object) => Promise<ListAnswer>;

const DEFAULT_HITS = 20;
const DEFAULT_VALUES = 100;
const MOST_VALUES = 1000;
/** The most facets, statistics or highlighted fields that a request of the API may name. */
const MOST_NAMES = 10;
const DATES = ["date", "datetime"];
const NUMBERS = ["number", "duration", "money"];
const TEXTS = ["text", "rich-text"];
/** Types whose values `facets: ["*"]` counts. */
const COUNTED = ["enum", "multi-enum", "boolean", "reference", "references", "user", "number", "duration", "color"];
/** Parameters that would change which hits are found, and have no equivalent. */
const UNSUPPORTED = [
  "aroundLatLng", "aroundLatLngViaIP", "insideBoundingBox", "insidePolygon", "tagFilters", "optionalFilters", "optionalWords",
  "restrictSearchableAttributes", "similarQuery", "offset", "length",
];

/**
 * A search client for InstantSearch, whose index names are slugs of blueprints:
 * `instantsearch({ indexName: "articles", searchClient: searchClient(client) })`.
 * An error of the server, or a parameter without an equivalent, rejects the promise, which InstantSearch reports as its event `error`.
 */
export function searchClient<S extends Slug = Slug>(client: Client, options: InstantSearchOptions<S> = {}): InstantSearchClient {
  const list: ReadList = (slug, query) => client.request("GET", path(slug), { query });
  return {
    async search(requests) {
      const plans = requests.map((request) => planOf(request, options));
      const mains = plans.map((plan) => mainOf(plan, plans));
      const answers = new Map<string, Promise<ListAnswer>>();
      const start = Date.now();
      const asked = plans.map((plan, at) => {
        const query = queryOf(mains[at] ?? plan, mains.includes(mains[at] ?? plan));
        const key = `${plan.slug} ${JSON.stringify(query)}`;
        const answer = answers.get(key) ?? ask(list, plan.slug, query);
        answers.set(key, answer);
        return answer;
      });
      const received = await Promise.all(asked);
      return { results: plans.map((plan, at) => resultOf(plan, received[at]!, Date.now() - start)) as never };
    },
    searchForFacetValues: (requests: readonly InstantSearchRequest[]): Promise<FacetValuesResult[]> =>
      Promise.all(requests.map((request) => facetValues(list, planOf(request, options)))),
  };
}

/** Reports a click on a hit, with the option `track`; returns whether the server accepted it. */
export function sendClick(client: Client, hit: Pick<InstantSearchHit, "objectID" | "__position" | "__queryID">): Promise<boolean> {
  return client.click(hit.__queryID, hit.objectID, hit.__position ?? 1);
}

function planOf(
  request: InstantSearchRequest, { filter = {}, track = false, ...options }: { filter?: object | undefined; track?: boolean | undefined },
): Plan {
  const parameters = request.params ?? {};
  const unsupported = UNSUPPORTED.find((name) => !isNothing((parameters as Record<string, unknown>)[name]));
  if (unsupported !== undefined) throw new RangeError(`the search client of Bindery does not support the parameter ${unsupported}`);
  const [, slug = "", variant, sort] = /^([^:/]*)(?::([^/]*))?(?:\/(.*))?$/.exec(request.indexName) ?? [];
  if (!Object.keys(FIELDS).includes(slug)) {
    const known = Object.keys(FIELDS).join(", ");
    throw new RangeError(`there is no blueprint ${slug}, which the index name ${request.indexName} begins with; blueprints: ${known}`);
  }
  const q = (parameters.query ?? "").trim() === "" ? undefined : parameters.query;
  return {
    request, parameters, slug,
    base: { ...options, ...(variant === undefined ? {} : { variant }), sort, q },
    filters: [
      ...Object.entries(filter).filter(([, value]) => value !== undefined).map(([name, value]) => ({ [name]: spelledOut(value) })),
      ...conjunction(slug, parameters.facetFilters, facetCondition),
      ...conjunction(slug, parameters.numericFilters, numericCondition),
      ...(isNothing(parameters.filters) ? [] : filtersOf(slug, parameters.filters!)),
    ],
    facets: facetsOf(slug, parameters.facets),
    hasHits: parameters.hitsPerPage !== 0,
    isTracked: track && q !== undefined,
  };
}

const isNothing = (value: unknown): boolean => value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

/** A value in a filter as conditions by operator. Groups have none. */
function spelledOut(value: unknown): ByOperator {
  if (value === null) return { null: true };
  return typeof value === "object" && !(value instanceof Date) ? value as ByOperator : { eq: value };
}

function facetsOf(slug: string, facets: string | readonly string[] = []): string[] {
  const named = typeof facets === "string" ? facets.split(",") : facets;
  if (!named.includes("*")) return named.filter((name) => name !== "");
  return Object.entries(FIELDS[slug]!).filter(([, [type]]) => COUNTED.includes(type)).map(([name]) => name);
}

// Several requests as one.

/**
 * For each facet with chosen values, InstantSearch sends a request that lacks the facet's own filter. The request for the hits can
 * answer it: with `facet_mode=disjunctive`, a facet is counted without its own filter. Returns that request.
 */
function mainOf(plan: Plan, plans: Plan[]): Plan | undefined {
  const main = plans.find((other) => other.hasHits && isOwnOf(other, plan));
  if (main === undefined || isNumber(main.slug, plan.facets[0]!)) return undefined;
  // Its other facets must not change: those with a filter also need a request of their own, which is counted in the same way.
  const isChanged = (facet: string): boolean => main.filters.some((filter) => nameOf(facet) in filter)
    && !plans.some((other) => other.facets[0] === facet && isOwnOf(main, other));
  return main.facets.some(isChanged) ? undefined : main;
}

/**
 * True for the request that counts a facet of `main` without the facet's own filters. InstantSearch marks such requests. Filters that
 * cannot stand side by side go into a group, and the server leaves out no groups.
 */
function isOwnOf(main: Plan, plan: Plan): boolean {
  const { analytics, clickAnalytics } = plan.parameters as Record<string, unknown>;
  if (plan.hasHits || analytics !== false || clickAnalytics !== false || plan.facets.length !== 1) return false;
  const name = nameOf(plan.facets[0]!);
  const others = main.filters.filter((filter) => !(name in filter));
  return main.slug === plan.slug && main.facets.includes(plan.facets[0]!) && !("$and" in allOf(main.filters.filter((filter) => name in filter)))
    && JSON.stringify([main.base, others]) === JSON.stringify([plan.base, plan.filters])
    && main.parameters.maxValuesPerFacet === plan.parameters.maxValuesPerFacet;
}

// Requests of the API.

function queryOf(plan: Plan, isDisjunctive: boolean): Record<string, unknown> {
  const { parameters, slug, facets, hasHits } = plan;
  const query: Record<string, unknown> = { ...plan.base };
  if (plan.filters.length > 0) query["filter"] = allOf(plan.filters);
  const counted = facets.filter((facet) => hasFacet(slug, facet)).map((facet) => facetKey(facet, parameters));
  if (counted.length > 0) query["facets"] = counted;
  if (counted.length > 0 && isDisjunctive) query["facet_mode"] = "disjunctive";
  const stats = facets.filter((facet) => isNumber(slug, facet)).map((facet) => facet.split(".")[0]!);
  if (stats.length > 0) query["stats"] = [...new Set(stats)];
  if (!hasHits) return { ...query, per_page: 1, fields: "id" };
  const highlight = highlightedOf(slug, parameters);
  if (highlight.length > 0) query["highlight"] = highlight;
  if (plan.isTracked) query["track"] = true;
  return { ...query, ...shapeOf(parameters), per_page: parameters.hitsPerPage ?? DEFAULT_HITS, page: (parameters.page ?? 0) + 1 };
}

/** Sends a request; with more facets or statistics than one request may have, several. */
async function ask(list: ReadList, slug: string, query: Record<string, unknown>): Promise<ListAnswer> {
  const parts: Record<string, unknown>[] = [];
  const firstOf: Record<string, unknown> = {};
  const rest: Record<string, unknown> = { ...query, per_page: 1, page: 1, fields: "id", highlight: undefined, exclude: undefined, track: undefined };
  for (const name of ["facets", "stats"]) {
    const names = (query[name] ?? []) as string[];
    rest[name] = undefined;
    if (names.length > MOST_NAMES) firstOf[name] = names.slice(0, MOST_NAMES);
    for (let at = MOST_NAMES; at < names.length; at += MOST_NAMES) parts.push({ [name]: names.slice(at, at + MOST_NAMES) });
  }
  const [first, ...others] = await Promise.all([
    list(slug, { ...query, ...firstOf }), ...parts.map((part) => list(slug, { ...rest, ...part })),
  ]);
  for (const { meta } of others) {
    Object.assign(first!.meta.facets ?? {}, meta.facets);
    Object.assign(first!.meta.stats ?? {}, meta.stats);
  }
  return first!;
}

const facetKey = (facet: string, { maxValuesPerFacet = DEFAULT_VALUES }: InstantSearchParameters): string => {
  const [, date, step] = /^(.*)\.(year|month|day)$/.exec(facet) ?? [];
  return date === undefined ? `${facet}:${Math.min(Math.max(maxValuesPerFacet, 1), MOST_VALUES)}` : `${date}:${step}`;
};

/** The name that filters on a facet have. */
const nameOf = (facet: string): string => facet.replace(/\.(year|month|day)$/, "");

const namesOf = (names: string | readonly string[]): readonly string[] => (typeof names === "string" ? names.split(",") : names);

function highlightedOf(slug: string, { attributesToHighlight = "*", attributesToSnippet = [] }: InstantSearchParameters): string[] {
  const snippets = namesOf(attributesToSnippet).map((name) => name.replace(/:\d+$/, ""));
  const named = [...new Set([...namesOf(attributesToHighlight ?? []), ...snippets])];
  const texts = Object.entries(FIELDS[slug]!).filter(([, [type]]) => TEXTS.includes(type)).map(([name]) => name);
  return named.includes("*") ? texts.slice(0, MOST_NAMES) : texts.filter((name) => named.includes(name));
}

/** Returns the parameters that choose the answered attributes. */
function shapeOf({ attributesToRetrieve = "*" }: InstantSearchParameters): { fields: string[]; exclude?: string[] } {
  const names = namesOf(attributesToRetrieve ?? "*").filter((name) => name !== "objectID" && name !== "");
  const keyOf = (name: string): string => (DATES_OF_SYSTEM.includes(name) ? name : `attributes.${name}`);
  const without = names.filter((name) => name.startsWith("-")).map((name) => keyOf(name.slice(1)));
  const fields = names.includes("*")
    ? [...DATES_OF_SYSTEM, "attributes"]
    : names.filter((name) => !name.startsWith("-")).map(keyOf);
  return { fields: ["id", ...fields], ...(without.length === 0 ? {} : { exclude: without }) };
}

const DATES_OF_SYSTEM = ["published_at", "created_at", "updated_at"];

/** One filter for several that must all hold. Conditions on a field stand at its name: groups have no disjunctive facets. */
function allOf(filters: ByName[]): Record<string, unknown> {
  const all: ByName = {};
  const others: ByName[] = [];
  for (const filter of filters) {
    const [[name, conditions] = ["", {}]] = Object.entries(filter);
    const before = all[name];
    if (before === undefined) all[name] = conditions;
    else if (name.startsWith("$") || Object.keys(conditions).some((operator) => operator in before)) others.push(filter);
    else all[name] = { ...before, ...conditions };
  }
  return others.length === 0 ? all : { ...all, $and: [...(Array.isArray(all["$and"]) ? all["$and"] : []), ...others] };
}

// Conditions.

/** Returns the type of a field, also behind relations. */
function typeOf(slug: string, name: string): string {
  if (DATES_OF_SYSTEM.includes(name)) return "datetime";
  const [type = "", related] = FIELDS[slug]?.[name.split(".")[0]!] ?? [];
  const rest = name.slice(name.indexOf(".") + 1);
  if (!name.includes(".")) return type;
  return related === undefined ? (type === "money" && rest === "amount" ? type : "text") : typeOf(related, rest);
}

const isNumber = (slug: string, facet: string): boolean => NUMBERS.includes(typeOf(slug, facet));
const hasFacet = (slug: string, facet: string): boolean => facet !== nameOf(facet) || ![...DATES, "money"].includes(typeOf(slug, facet));
const isArray = (slug: string, name: string): boolean => ["multi-enum", "references"].includes(typeOf(slug, name));

type Parse = (slug: string, text: string) => ByName;

/** The filters of a list in which inner lists are alternatives. */
function conjunction(slug: string, filters: unknown, parse: Parse): ByName[] {
  if (isNothing(filters)) return [];
  const list: unknown[] = Array.isArray(filters) ? filters : [filters];
  return list.map((one) => anyOf(slug, (Array.isArray(one) ? one : [one]).map((text) => parse(slug, String(text)))));
}

/** One filter for alternatives; values of one field are a list, so that disjunctive facets work. */
function anyOf(slug: string, filters: ByName[]): ByName {
  if (filters.length === 1) return filters[0]!;
  const [name = ""] = Object.keys(filters[0] ?? {});
  const operator = isArray(slug, name) ? "has" : "eq";
  const values = filters.map((filter) => filter[name]?.[operator]);
  if (values.includes(undefined)) return { $or: filters } as unknown as ByName;
  return { [name]: { [isArray(slug, name) ? "has_any" : "in"]: values } };
}

/** Such as `kind:faq`, `kind:-faq` (not this value) and `number:\-5` (the value -5). */
function facetCondition(slug: string, text: string): ByName {
  const colon = text.indexOf(":");
  if (colon < 1) throw new RangeError(`${text} is not a facet filter; write attribute:value`);
  const value = text.slice(colon + 1);
  return equality(slug, text.slice(0, colon), value.replace(/^\\?-/, (sign) => (sign === "-" ? "" : "-")), value.startsWith("-"));
}

function equality(slug: string, attribute: string, value: string, isNegated: boolean): ByName {
  const name = attribute === "objectID" ? "id" : nameOf(attribute);
  const [from, to] = name === attribute ? [] : spanOf(value, typeOf(slug, name));
  if (from !== undefined) return isNegated ? not({ [name]: { between: [from, to] } }) : { [name]: { between: [from, to] } };
  if (isArray(slug, name)) return { [name]: isNegated ? { has_none: [value] } : { has: value } };
  return { [name]: { [isNegated ? "ne" : "eq"]: value } };
}

const not = (filter: ByName): ByName => ({ $not: filter as ByOperator });

/** The first and the last moment of a year, month or day; of a `date` field, the first and the last day. */
function spanOf(value: string, type: string): string[] {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d)(?:-(\d\d))?)?$/.exec(value) ?? [];
  if (year === undefined) throw new RangeError(`${value} is not a year, month or day; write 2026, 2026-11 or 2026-11-26`);
  const last = new Date(Date.UTC(Number(year), month === undefined ? 12 : Number(month), 0)).toISOString().slice(8, 10);
  const from = `${year}-${month ?? "01"}-${day ?? "01"}`;
  const to = `${year}-${month ?? "12"}-${day ?? last}`;
  return type === "date" ? [from, to] : [from, `${to}T23:59:59.999999Z`];
}

/** Such as `price.amount>=5` and `reading_minutes:1 TO 2`. */
function numericCondition(slug: string, text: string): ByName {
  const [, attribute, operator, value] = /^\s*(.+?)\s*(<=|>=|!=|=|<|>)\s*(\S+)\s*$/.exec(text) ?? [];
  if (attribute !== undefined) return comparison(slug, attribute, operator!, numberOf(value!, text));
  const [, ranged, from, to] = /^\s*([^:]+?)\s*:\s*(\S+)\s+TO\s+(\S+)\s*$/.exec(text) ?? [];
  if (ranged === undefined) throw new RangeError(`${text} is not a numeric filter; write attribute>=1 or attribute:1 TO 2`);
  return range(slug, ranged, numberOf(from!, text), numberOf(to!, text));
}

function numberOf(text: string, all: string): number {
  const number = Number(text);
  if (!Number.isFinite(number)) throw new RangeError(`${text} in ${all} is not a number`);
  return number;
}

const OPERATOR_NAMES: Record<string, string> = { "=": "eq", "!=": "ne", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte" };
const FIRST_MOMENT = "0001-01-01";
const LAST_MOMENT = "9999-12-31T23:59:59.999999Z";

/** Lists compare dates by day, except with `between`. */
function comparison(slug: string, name: string, operator: string, value: number): ByName {
  const type = typeOf(slug, name);
  const written = OPERATOR_NAMES[operator]!;
  if (!DATES.includes(type)) return { [name]: { [written]: value } };
  if (type === "date") return { [name]: { [written]: moment(value).slice(0, 10) } };
  const spans: Record<string, string[]> = {
    eq: [moment(value), moment(value)],
    ne: [moment(value), moment(value)],
    lt: [FIRST_MOMENT, moment(value - 1)],
    lte: [FIRST_MOMENT, moment(value)],
    gt: [moment(value + 1), LAST_MOMENT],
    gte: [moment(value), LAST_MOMENT],
  };
  const filter = { [name]: { between: spans[written] } };
  return written === "ne" ? not(filter) : filter;
}

function range(slug: string, name: string, from: number, to: number): ByName {
  const type = typeOf(slug, name);
  if (!DATES.includes(type)) return { [name]: { between: [from, to] } };
  const written = [moment(from), moment(to)].map((one) => (type === "date" ? one.slice(0, 10) : one));
  return { [name]: { between: written } };
}

function moment(milliseconds: number): string {
  const date = new Date(milliseconds);
  const year = date.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) throw new RangeError(`${milliseconds} is not a moment in the years 1 to 9999, in milliseconds since 1970`);
  return date.toISOString();
}

// The language of `filters`. As in its definition, OR binds more closely than AND.

function filtersOf(slug: string, text: string): ByName[] {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<=|>=|!=|[()<>=:]|[^\s()"'<>=:!]+|\S/g) ?? [];
  let at = 0;
  const fail = (wanted: string): never => {
    throw new RangeError(`${text} is not understood: ${wanted} expected ${at < tokens.length ? `at ${tokens.slice(at).join(" ")}` : "at its end"}`);
  };
  const accept = (token: string): boolean => tokens[at] === token && (at += 1) > 0;
  const word = (wanted: string): string => {
    const token = tokens[at];
    if (token === undefined || /^([()<>=:!"']|<=|>=|!=)$/.test(token)) return fail(wanted);
    at += 1;
    return /^["']/.test(token) ? token.slice(1, -1).replace(/\\(.)/g, "$1") : token;
  };
  const all = (): ByName[] => {
    const filters = [any()];
    while (accept("AND")) filters.push(any());
    return filters;
  };
  const any = (): ByName => {
    const filters = [one()];
    while (accept("OR")) filters.push(one());
    return anyOf(slug, filters);
  };
  const one = (): ByName => {
    const isNegated = accept("NOT");
    if (accept("(")) {
      const inner = all();
      if (!accept(")")) fail("a closing parenthesis");
      const filter = inner.length === 1 ? inner[0]! : { $and: inner } as unknown as ByName;
      return isNegated ? not(filter) : filter;
    }
    const attribute = word("the name of an attribute");
    const filter = condition(attribute);
    return isNegated ? opposite(slug, attribute, filter) : filter;
  };
  const condition = (attribute: string): ByName => {
    const operator = tokens[at];
    if (operator !== undefined && operator in OPERATOR_NAMES) {
      at += 1;
      return comparison(slug, attribute, operator, numberOf(word("a number"), text));
    }
    if (!accept(":")) fail("an operator (: = != < <= > >=)");
    const value = word("a value");
    if (tokens[at] !== "TO") return equality(slug, attribute, value, false);
    at += 1;
    return range(slug, attribute, numberOf(value, text), numberOf(word("a number"), text));
  };
  const filters = all();
  return at === tokens.length ? filters : fail("AND or OR");
}

/** The complement of a filter on one attribute. A plain one is kept as such, so that disjunctive facets work. */
function opposite(slug: string, attribute: string, filter: ByName): ByName {
  const conditions = filter[attribute] ?? {};
  if ("eq" in conditions) return { [attribute]: { ne: conditions["eq"] } };
  return "has" in conditions ? equality(slug, attribute, String(conditions["has"]), true) : not(filter);
}

// Answers.

function resultOf(plan: Plan, { data, meta }: ListAnswer, processingTimeMS: number): InstantSearchResult {
  const { request, parameters, slug, facets, hasHits } = plan;
  const { page = 0, hitsPerPage = DEFAULT_HITS, query = "" } = parameters;
  const { matched_all, ignored_words, did_you_mean, search_id } = meta;
  const ofSearch = (at: number): object =>
    typeof search_id === "string" ? { __queryID: search_id, __position: page * hitsPerPage + at + 1 } : {};
  return {
    index: request.indexName,
    hits: hasHits ? data.map((resource, at) => ({ ...hitOf(plan, resource), ...ofSearch(at) })) : [],
    nbHits: meta.total,
    page,
    nbPages: hasHits && meta.total > 0 ? meta.last_page : 0,
    hitsPerPage,
    facets: record(facets, (facet) => countsOf(meta.facets?.[facetKey(facet, parameters)])),
    facets_stats: record(facets.filter((facet) => isNumber(slug, facet)), (facet) => figuresOf(meta.stats?.[facet.split(".")[0]!])),
    exhaustiveFacetsCount: true,
    exhaustiveNbHits: true,
    query,
    params: parametersOf(parameters).toString(),
    processingTimeMS,
    ...(matched_all === undefined ? {} : { matched_all }),
    ...(ignored_words === undefined ? {} : { ignored_words }),
    ...(did_you_mean === undefined ? {} : { did_you_mean }),
    ...(typeof search_id === "string" ? { queryID: search_id } : {}),
  };
}

/** An object with a value for each name, without those that are undefined. */
function record<T>(names: readonly string[], valueOf: (name: string, at: number) => T | undefined): Record<string, T> {
  const all: Record<string, T> = {};
  names.forEach((name, at) => {
    const value = valueOf(name, at);
    // A name may be `__proto__`, which an assignment would not add.
    if (value !== undefined) Object.defineProperty(all, name, { value, enumerable: true, configurable: true, writable: true });
  });
  return all;
}

const countsOf = ({ values }: Pick<Facet, "values"> = { values: [] }): Record<string, number> =>
  record(values.map(({ value }) => String(value)), (_, at) => values[at]?.count);

/** Filters compare amounts whatever their currency is, so the bounds are those of all currencies. */
function figuresOf(stats: NumberStats | MoneyStats | undefined): { min: number; max: number; avg: number; sum: number } | undefined {
  if (stats === undefined) return undefined;
  const all = "currencies" in stats ? Object.values(stats.currencies) : [stats];
  const some = all.filter(({ count }) => count > 0);
  if (some.length === 0) return undefined;
  const sum = some.reduce((before, one) => before + one.sum, 0);
  const count = some.reduce((before, one) => before + one.count, 0);
  return { min: Math.min(...some.map(({ min }) => min ?? 0)), max: Math.max(...some.map(({ max }) => max ?? 0)), avg: sum / count, sum };
}

function hitOf(plan: Plan, { id, attributes = {}, highlights = {}, ...dates }: ListAnswer["data"][number]): InstantSearchHit {
  const { parameters } = plan;
  const highlighted: InstantSearchHit["_highlightResult"] = {};
  for (const [name, value] of Object.entries(attributes)) {
    const plain = (one: unknown): HighlightedText => ({ value: String(one), matchLevel: "none", matchedWords: [] });
    if (Array.isArray(value)) highlighted[name] = value.map(plain);
    else if (value !== null && typeof value !== "object") highlighted[name] = plain(value);
  }
  const snippets: InstantSearchHit["_snippetResult"] = {};
  for (const [name, html] of Object.entries(highlights)) {
    if (html === null) continue;
    const shown = highlightOf(html, parameters);
    highlighted[name] = shown;
    snippets[name] = shown;
  }
  return { objectID: id, ...attributes, ...dates, _highlightResult: highlighted, _snippetResult: snippets };
}

const ENTITIES: Record<string, string> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
/** The tags with which InstantSearch asks for text that it escapes itself. */
const PLACEHOLDER = "__ais-highlight__";

/** An excerpt as InstantSearch expects it. With other tags than those of InstantSearch the text stays escaped, because nobody would escape it. */
function highlightOf(html: string, { query = "", highlightPreTag = "<em>", highlightPostTag = "</em>" }: InstantSearchParameters): HighlightedText {
  const textOfHtml = (escaped: string): string =>
    highlightPreTag === PLACEHOLDER ? escaped.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity) : escaped;
  const parts = html.split(/<mark>(.*?)<\/mark>/s);
  const value = parts.map((part, at) => (at % 2 === 0 ? textOfHtml(part) : `${highlightPreTag}${textOfHtml(part)}${highlightPostTag}`)).join("");
  const matchedWords = [...new Set(parts.filter((_, at) => at % 2 === 1).map((part) => textOfHtml(part).toLowerCase()))];
  const wanted = query.trim().split(/\s+/).length;
  const isWhole = parts.filter((_, at) => at % 2 === 0).every((part) => part.trim() === "");
  const matchLevel = matchedWords.length === 0 ? "none" : matchedWords.length >= wanted ? "full" : "partial";
  return { value, matchLevel, matchedWords, fullyHighlighted: matchedWords.length > 0 && isWhole };
}

/** The values of a facet that contain a text. Resources without it are filtered out first, so that rare values are found among many. */
async function facetValues(list: ReadList, plan: Plan): Promise<FacetValuesResult> {
  const { facetName = "", facetQuery = "", maxFacetHits = 10, highlightPreTag = "<em>", highlightPostTag = "</em>" } = plan.parameters;
  const start = Date.now();
  const key = facetKey(facetName, { maxValuesPerFacet: MOST_VALUES });
  const isNarrowed = facetQuery !== "" && facetName === nameOf(facetName);
  const filters = isNarrowed ? [...plan.filters, { [facetName]: { contains: facetQuery } }] : plan.filters;
  const query = { ...plan.base, facets: key, per_page: 1, fields: "id", ...(filters.length === 0 ? {} : { filter: allOf(filters) }) };
  const { meta } = await list(plan.slug, query);
  const { values = [], distinct = 0 } = meta.facets?.[key] ?? {};
  const folded = (text: string): string => text.normalize().toLowerCase();
  const wanted = folded(facetQuery);
  const found = values.map(({ value, count }) => ({ value: String(value), count })).filter(({ value }) => folded(value).includes(wanted));
  const facetHits = found.slice(0, maxFacetHits).map(({ value, count }) => {
    const at = folded(value).indexOf(wanted);
    const end = at + wanted.length;
    // Folding may change the length of a text; then nothing is marked.
    const isMarked = wanted !== "" && folded(value).length === value.length;
    const escaped = highlightPreTag === PLACEHOLDER ? (text: string): string => text : escapeHtml;
    const highlighted = isMarked
      ? `${escaped(value.slice(0, at))}${highlightPreTag}${escaped(value.slice(at, end))}${highlightPostTag}${escaped(value.slice(end))}`
      : escaped(value);
    return { value, highlighted, count };
  });
  return { facetHits, exhaustiveFacetsCount: distinct <= MOST_VALUES, processingTimeMS: Date.now() - start };
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => Object.keys(ENTITIES).find((entity) => ENTITIES[entity] === character) ?? character);
}
