/** The slug of a blueprint. */
export type Slug = keyof Blueprints & string;

type Attributes<S extends Slug> = Blueprints[S]["attributes"];
type Attribute<S extends Slug> = keyof Attributes<S> & string;
type Relation<S extends Slug> = keyof Blueprints[S]["relations"] & string;
type Variant<S extends Slug> = Blueprints[S]["variants"];
type Target<S extends Slug, R> = R extends keyof Blueprints[S]["relations"] ? Blueprints[S]["relations"][R] & Slug : never;

/** A resource with everything that is answered. */
export interface Resource<S extends Slug> {
  id: string;
  type: "resource";
  published_at: string | null;
  created_at: string;
  updated_at: string;
  attributes: Attributes<S>;
  relationships: { blueprint: { data: { id: S; type: "blueprint" } } };
}

/** A resource with keys that only the running program knows. */
export type Some<S extends Slug> = Partial<Omit<Resource<S>, "attributes">> & { attributes?: Partial<Attributes<S>> };

// Names that lists of names accept.

type Key = keyof Resource<Slug>;
type SystemDate = "published_at" | "created_at" | "updated_at";
/** The fields whose values have these parts, and the parts. */
type PartsOf<S extends Slug, V, P extends string> = {
  [A in Attribute<S>]: NonNullable<Attributes<S>[A]> extends V ? `${A}.${P}` : never;
}[Attribute<S>];
type Part<S extends Slug> =
  | PartsOf<S, { amount: number }, "amount" | "currency">
  | PartsOf<S, { postal_code: string | null }, "street" | "postal_code" | "city" | "country">;
type Sortable<S extends Slug> = SystemDate | "id" | Attribute<S> | Part<S>;

export type FieldName<S extends Slug> = Key | `attributes.${Attribute<S>}`;
export type SortName<S extends Slug> = Sortable<S> | `-${Sortable<S>}`;
export type FacetName<S extends Slug> =
  | Attribute<S>
  | Part<S>
  | `${Attribute<S> | Part<S>}:${number}`
  | `${SystemDate | Attribute<S>}:${"day" | "month" | "year"}`;
export type ExpandPath<S extends Slug> = Relation<S> | { [R in Relation<S>]: `${R}.${Relation<Target<S, R>>}` }[Relation<S>];
/** What filters can ask about in the blueprint itself. */
type OwnName<S extends Slug> = Sortable<S> | "published";
/** Fields behind two relations are too many to be listed; `UnknownIn` looks at those that are used. */
type RelatedName<S extends Slug> = { [R in Relation<S>]: `${R}.${OwnName<Target<S, R>>}` | `${R}.${string}.${string}` }[Relation<S>];
export type FilterName<S extends Slug> = OwnName<S> | RelatedName<S>;

/** Several names: an array, or a text with commas as in an address. */
export type Names<N extends string> = N | readonly N[] | (string & {});

// Filters.

export type FilterValue = string | number | boolean | Date;
type List<V> = V | readonly V[];

/** What a `Date` can be compared with. A `date` field has a day, and the day of a `Date` depends on the time zone. */
type Instant<S extends Slug> = SystemDate | Blueprints[S]["instants"];
type ValueOf<S extends Slug, N extends string> = string extends N ? FilterValue
  : N extends Instant<S> ? FilterValue
  : N extends `${infer R}.${infer Rest}` ? ValueOf<Target<S, R>, Rest> : Exclude<FilterValue, Date>;
/** The blueprint of the resources that a name in a filter leads to. */
type TargetAt<S extends Slug, N> = N extends `${infer R}.${infer Rest}` ? TargetAt<Target<S, R>, Rest> : Target<S, N>;

/** The conditions on one field, whose values have the type `V`; all of them must hold. `T` is the blueprint that it relates to. */
export interface Conditions<V extends FilterValue = FilterValue, T extends Slug = never> {
  // The operators.
  /** Of a relation: what one of the related resources must meet. */
  $some?: ([T] extends [never] ? never : Filter<T>) | undefined;
}

/**
 * Which resources to answer, such as `{ kind: "news", price: { gte: 5, lt: 10 }, $or: [{ tags: { has: "a" } }, { author: null }] }`.
 * A value alone means `eq`, null means `{ null: true }`, and undefined leaves the filter out. The value for a `date` field is a day,
 * such as "2026-11-25"; `datetime` fields and the dates of the system accept a `Date` too.
 */
export type Filter<S extends Slug> = {
  readonly [N in FilterName<S>]?: ValueOf<S, N> | null | undefined | Conditions<ValueOf<S, N>, TargetAt<S, N>>;
} & {
  readonly $or?: readonly Filter<S>[] | undefined;
  readonly $and?: readonly Filter<S>[] | undefined;
  readonly $not?: Filter<S> | undefined;
};

// Options of calls. All have the names of the API's parameters.

export interface CallOptions {
  /** Ends the call when it is aborted. */
  signal?: AbortSignal | undefined;
}

/** Which copy of the attributes is meant. */
export interface VariantOptions<S extends Slug> extends CallOptions {
  variant?: Variant<S> | undefined;
}

type FieldsOf = { [T in Slug as `fields[${T}]`]?: Names<FieldName<T>> | undefined };

interface Shape<S extends Slug> extends VariantOptions<S> {
  fields?: Names<FieldName<S>> | undefined;
  exclude?: Names<FieldName<S>> | undefined;
  fallback?: Variant<S> | undefined;
  strict?: boolean | undefined;
}

/** Options of a read of one resource. */
export interface GetOptions<S extends Slug> extends Shape<S>, FieldsOf {
  expand?: Names<ExpandPath<S>> | undefined;
  /** An `etag`; if it is still current, the answer is null. */
  ifNoneMatch?: string | undefined;
}

/** Options that choose and order resources. */
export interface SelectOptions<S extends Slug> extends Shape<S> {
  filter?: Filter<S> | undefined;
  search?: string | undefined;
  q?: string | undefined;
  typos?: boolean | undefined;
  /** `exact`: words as they stand, without parts of names, forms of a word and compounds. */
  q_mode?: "broad" | "exact" | undefined;
  /** `all`: only resources with all words of `q`, however few there are. */
  q_match?: "any" | "all" | undefined;
  sort?: Names<SortName<S>> | undefined;
  fallback_mode?: "all" | undefined;
  explain?: boolean | undefined;
}

export interface AllOptions<S extends Slug> extends SelectOptions<S> {
  highlight?: Names<Attribute<S>> | undefined;
  /** How many resources one request asks for. */
  per_page?: number | undefined;
}

export interface ListOptions<S extends Slug> extends AllOptions<S>, GetOptions<S> {
  page?: number | undefined;
  /** Empty for the first page of a walk; then the `cursor` in the `links.next` of the page before. */
  cursor?: string | undefined;
  facets?: Names<FacetName<S>> | undefined;
  facet_mode?: "disjunctive" | undefined;
  stats?: Names<Attribute<S>> | undefined;
  /** Counts the search of `q`, and answers `meta.search_id` for `click`. */
  track?: boolean | undefined;
}

export interface ExportOptions<S extends Slug> extends SelectOptions<S> {
  highlight?: Names<Attribute<S>> | undefined;
}

export interface ChangeOptions<S extends Slug> extends VariantOptions<S> {
  /** The `etag` that the resource must still have; otherwise the error is 412. */
  ifMatch?: string | undefined;
}

export interface CreateOptions<S extends Slug> extends VariantOptions<S> {
  /** A key under which the request is carried out only once. */
  idempotencyKey?: string | undefined;
}

export interface PublishOptions<S extends Slug> extends CreateOptions<S> {
  published_at?: string | Date | undefined;
}

export interface SearchOptions extends CallOptions {
  search?: string | undefined;
  q?: string | undefined;
  typos?: boolean | undefined;
  /** `exact`: words as they stand, without parts of names, forms of a word and compounds. */
  q_mode?: "broad" | "exact" | undefined;
  /** `all`: only resources with all words of `q`, however few there are. */
  q_match?: "any" | "all" | undefined;
  /** With `true`, `q` has a list for each blueprint, too. */
  group?: boolean | undefined;
  /** The slugs of the blueprints to search, separated by commas. */
  blueprints?: string | undefined;
  /** The slug of the variant to search; blueprints without it are searched in their default. */
  variant?: string | undefined;
  /** The weights of blueprints in one list, such as `articles:2,pages:0.5`. */
  weights?: string | undefined;
  page?: number | undefined;
  per_page?: number | undefined;
  limit?: number | undefined;
  /** Counts a search that has one list, and answers `meta.search_id` for `click`. */
  track?: boolean | undefined;
  strict?: boolean | undefined;
}

export interface SuggestOptions extends CallOptions {
  /** What was typed so far. */
  q: string;
  /** The slugs of the blueprints to search, separated by commas. */
  blueprints?: string | undefined;
  variant?: string | undefined;
  limit?: number | undefined;
  strict?: boolean | undefined;
}

/** The lists of names among the options, and the names that each accepts. */
type Lists<S extends Slug> = {
  fields: FieldName<S>;
  exclude: FieldName<S>;
  sort: SortName<S>;
  facets: FacetName<S>;
  stats: Attribute<S>;
  highlight: Attribute<S>;
  expand: ExpandPath<S>;
} & { [T in Slug as `fields[${T}]`]: FieldName<T> };

/** What each option must be, beside its own type: so that the compiler refuses names that do not exist. */
type Checked<S extends Slug, O, All> = {
  readonly [K in keyof O]: K extends keyof Lists<S>
    ? string extends NamesIn<O[K]> ? unknown
      : NamesIn<O[K]> extends Lists<S>[K] ? unknown
      : { unknown: Exclude<NamesIn<O[K]>, Lists<S>[K]>; known: Lists<S>[K] }
    : K extends "filter" ? ([UnknownIn<S, O[K]>] extends [never] ? unknown : { unknown: UnknownIn<S, O[K]> })
    : K extends keyof All ? unknown : never;
};

/** The names in a filter that the blueprint does not have. */
type UnknownIn<S extends Slug, F> = Filter<S> extends F ? never
  : F extends readonly (infer G)[] ? UnknownIn<S, G>
  : F extends object ? {
      [K in keyof F & string]-?: K extends "$or" | "$and" | "$not" ? UnknownIn<S, F[K]>
        : IsName<S, K> extends true ? UnknownOperator<TargetAt<S, K>, F[K]> : K;
    }[keyof F & string]
  : never;
type IsName<S extends Slug, N> = string extends N ? true
  : N extends OwnName<S> ? true
  : N extends `${infer R}.${infer Rest}` ? (R extends Relation<S> ? IsName<Target<S, R>, Rest> : false) : false;
type UnknownOperator<T extends Slug, C> = C extends Date ? never
  : C extends object ? Exclude<keyof C & string, keyof Conditions> | (C extends { $some: infer F } ? UnknownIn<T, F> : never)
  : never;

// What is left of a resource.

/** The names in a list. `string` if only the running program knows them. */
type NamesIn<L> = L extends readonly (infer N)[] ? (number extends L["length"] ? string : N & string) : PartsAt<L>;
type PartsAt<T, Found = never> = T extends `${infer First},${infer Rest}` ? PartsAt<Rest, Found | First> : Found | (T & string);

type Given<O, K> = K extends keyof O ? Exclude<O[K], undefined> : never;
type AttributesIn<S extends Slug, N> = "attributes" extends N ? Attribute<S> : N extends `attributes.${infer A}` ? A & Attribute<S> : never;
type Flat<T> = { [K in keyof T]: T[K] };

type Chosen<S extends Slug, N, X> = Flat<
  Pick<Resource<S>, Exclude<N & Exclude<Key, "attributes">, X>> &
    ("attributes" extends X ? unknown
      : [AttributesIn<S, N>] extends [never] ? unknown
      : { attributes: Pick<Attributes<S>, Exclude<AttributesIn<S, N>, AttributesIn<S, X>>> })
>;

/** A resource with the keys that `fields` (never: all) has without those of `exclude`. */
export type Shown<S extends Slug, F = never, X = never> =
  [F] extends [never] ? ([X] extends [never] ? Resource<S> : Without<S, Key, X>)
  : F extends unknown ? Without<S, NamesIn<F>, X> : never;
type Without<S extends Slug, N, X> =
  [X] extends [never] ? (string extends N ? Some<S> : Chosen<S, N, never>)
  : X extends unknown ? (string extends N | NamesIn<X> ? Some<S> : Chosen<S, N, NamesIn<X>>) : never;

type Highlighted<O> = [Given<O, "highlight">] extends [never] ? unknown : { highlights: Record<NamesIn<Given<O, "highlight">>, string | null> };

/** A resource as it is answered to these options. */
export type Selected<S extends Slug, O> = Shown<S, Given<O, "fields">, Given<O, "exclude">> & Highlighted<O>;

type Related<S extends Slug, P> = string extends P ? Slug
  : P extends `${infer First}.${infer Rest}` ? Target<S, First> | Related<Target<S, First>, Rest>
  : Target<S, P>;
type ShownOf<T, O> = T extends Slug ? Shown<T, Given<O, `fields[${T}]`>> : never;
/** The resources that `expand` leads to. */
type Expanded<S extends Slug, O> = [Given<O, "expand">] extends [never] ? unknown
  : { included: ShownOf<Related<S, NamesIn<Given<O, "expand">>>, O>[] };

/** Null is answered only if the options have `ifNoneMatch`. */
type Unless304<O, T> = [Given<O, "ifNoneMatch">] extends [never] ? T : T | null;

// Answers.

/** The version of what was answered, for `ifMatch` and `ifNoneMatch`. It is not enumerable, so a copy does not have it. */
export interface Tagged {
  readonly etag: string | null;
}

/** What sanitizing removed from a field, and how often. */
export type Sanitized = Record<string, { removed: Record<string, number> }>;

export type Written<S extends Slug> = Resource<S> & Tagged & {
  /** Null if nothing was removed. Not enumerable, as `etag`. */
  readonly sanitized: Sanitized | null;
};

export interface Facet {
  values: { value: string | number | boolean; count: number }[];
  distinct: number;
  null: number;
}

export interface Figures {
  count: number;
  min: number | null;
  max: number | null;
  sum: number;
  avg: number | null;
}

export type NumberStats = Figures & { null: number };
export type MoneyStats = { null: number; currencies: Record<string, Figures> };
type StatsOf<S extends Slug, N extends string> = N extends Attribute<S>
  ? NonNullable<Attributes<S>[N]> extends { amount: number } ? MoneyStats : NumberStats
  : NumberStats | MoneyStats;

type FacetsIn<O> = [Given<O, "facets">] extends [never] ? unknown : { facets: Record<NamesIn<Given<O, "facets">>, Facet> };
type StatsIn<S extends Slug, O> = [Given<O, "stats">] extends [never] ? unknown
  : { stats: { [N in NamesIn<Given<O, "stats">>]: StatsOf<S, N> } };
type Explained = { explain?: Record<string, unknown>[] };

/** With `cursor` there are no numbers of pages. */
type Position<O> = [Given<O, "cursor">] extends [never]
  ? { links: { first: string; last: string; prev: string | null; next: string | null }; meta: { current_page: number; last_page: number } }
  : { links: { first: string; last: null; prev: null; next: string | null }; meta: unknown };

/** A page of a list. */
export type Page<S extends Slug, O = {}> = Tagged & Expanded<S, O> & {
  data: Selected<S, O>[];
  links: Position<O>["links"];
  meta: { per_page: number; total: number } & Position<O>["meta"] & FacetsIn<O> & StatsIn<S, O> & WordsFound & Explained;
};

/** The words of `q` that were found and ignored, on numbered pages without `q_mode: "exact"`. */
export interface WordsFound {
  /** The number of resources that have all words. */
  matched_all?: number;
  /** The words that some of the resources lack. */
  ignored_words?: string[];
  /** A `q` with similar words that finds more, if few resources have all words. */
  did_you_mean?: string | null;
  /** The id of a search with `track`; null if it is not counted. */
  search_id?: string | null;
}

export type One<S extends Slug, O = {}> = Shown<S, Given<O, "fields">, Given<O, "exclude">> & Expanded<S, O> & Tagged;

export type Neighbors<S extends Slug, O = {}> = {
  data: { previous: Selected<S, O> | null; next: Selected<S, O> | null };
  meta: { position: number; total: number } & Explained;
};

export interface Referrer {
  blueprint: string;
  field: string;
  total: number;
  ids: string[];
}

/** The matches of `q` in all blueprints, in one order. Of the attributes, they have the record title. */
export interface Ranked {
  data: { [S in Slug]: Some<S> }[Slug][];
  links: { first: string; last: string; prev: string | null; next: string | null };
  meta: {
    current_page: number;
    last_page: number;
    per_page: number;
    total: number;
    /** The number of resources that have all words. */
    matched_all: number;
    ignored_words?: string[];
    did_you_mean?: string | null;
    search_id?: string | null;
    /** The number of matches of each blueprint. */
    facets: { blueprint: { values: { value: Slug; count: number }[]; distinct: number; null: number } };
  };
}

/** What a search field offers while somebody types. */
export type Suggestion =
  | { kind: "word"; text: string; count: number }
  /** What other visitors asked and found something for. */
  | { kind: "question"; text: string; count: number }
  | { kind: "title"; text: string; blueprint: Slug; id: string };

/** The matches of a search over all blueprints, for each of them. Of the attributes, they have the record title. */
export interface Found {
  data: { [S in Slug]: { blueprint: S; total: number; resources: Some<S>[] } }[Slug][];
  meta: { total: number };
}

/** An error as it is in an answer. */
export interface Problem {
  code: string;
  message: string;
  fields?: Record<string, string[]>;
  count?: number;
  ids?: string[];
}

/** The answer to a bulk request. Items that fail do not throw: they are in `failed`, by their index in the request. */
export type BulkAnswer<Done extends string> = {
  data: Record<Done, { id: string; index: number }[]> & { failed: { index: number; errors: Problem }[] };
  meta: Record<Done, number> & { total: number; failed: number; sanitized?: Record<string, Sanitized> };
};

// Bodies of writes.

type Attr<S extends Slug> = Blueprints[S]["write"];

export interface Create<S extends Slug> {
  attributes: Attr<S>;
  published_at?: string | Date | null | undefined;
}

export interface Update<S extends Slug> {
  attributes?: Partial<Attr<S>> | undefined;
  published_at?: string | Date | null | undefined;
}

/** An answer with an error. */
export class BinderyError extends Error {
  readonly status: number;
  /** One of the codes of the API, such as `VALIDATION_FAILED`; `UNKNOWN` if the answer is not from a Bindery server. */
  readonly code: string;
  /** Messages by the field that they are about. */
  readonly fields: Record<string, string[]>;
  /** How many resources a conflict is with, and some of their ids. */
  readonly count: number | null;
  readonly ids: string[];
  /** In how many seconds to try again, if the server says so. */
  readonly retryAfter: number | null;
  readonly requestId: string | null;

  constructor(answer: Response, problem: Problem) {
    super(problem.message);
    this.name = "BinderyError";
    this.status = answer.status;
    this.code = problem.code;
    this.fields = problem.fields ?? {};
    this.count = problem.count ?? null;
    this.ids = problem.ids ?? [];
    const after = answer.headers.get("Retry-After");
    this.retryAfter = after === null || Number.isNaN(Number(after)) ? null : Number(after);
    this.requestId = answer.headers.get("X-Request-Id");
  }
}

/** What a request is made of, beside its method and path. */
export interface RequestOptions extends CallOptions {
  query?: object | undefined;
  headers?: Record<string, string | undefined> | undefined;
  body?: unknown;
}

/** How a picture is wanted. */
export interface PictureOptions {
  /** The width in pixels. The server rounds it up to one that it makes. */
  w?: number | undefined;
  /** The height in pixels. */
  h?: number | undefined;
  /** What becomes of other proportions; `inside` if it is left out. */
  fit?: "cover" | "contain" | "inside" | undefined;
  /** `auto` is the smallest format that the browser accepts. */
  format?: "auto" | "avif" | "webp" | "jpeg" | "png" | undefined;
  /** The quality, from 1 to 100. */
  q?: number | undefined;
}

/** The address of a picture in another size or format. `media` is the attribute `url` of a media resource, or its attributes. */
export function url(media: string | { url: string | null }, options: PictureOptions = {}): string {
  const address = (typeof media === "string" ? media : media.url) ?? "";
  const wanted = parametersOf(options).toString();
  if (wanted === "") return address;
  return `${address}${address.includes("?") ? "&" : "?"}${wanted}`;
}

/** A client of the server at `url`, with the abilities of a token. */
export class Client {
  private readonly url: string;
  private readonly token: string;
  private readonly fetcher: typeof fetch;
  /** The newest number that a node of a cluster has answered, which reads of any node then include; 0 before, and on a single server. */
  private newest = 0;

  /** `fetcher` replaces `fetch`, for example to cache or to repeat requests. In a browser `url` may be relative to the page. */
  constructor(url: string, token: string, fetcher: typeof fetch = (input, init) => fetch(input, init)) {
    this.url = new URL(url, Reflect.get(globalThis, "location")?.href).href.replace(/\/+$/, "");
    this.token = token;
    this.fetcher = fetcher;
  }

  /** A page of the resources that match. */
  async list<S extends Slug, const O extends ListOptions<S> = {}>(
    slug: S, options?: O & Checked<S, O, ListOptions<S>>,
  ): Promise<Unless304<O, Page<S, O>>> {
    return this.read(path(slug), options) as Promise<Unless304<O, Page<S, O>>>;
  }

  /**
   * All resources that match, by a walk with cursors: one that is not written to meanwhile comes exactly once. Without `sort` the newest
   * come first, also with `q`: a walk cannot follow how well resources match. `export` can.
   */
  async *all<S extends Slug, const O extends AllOptions<S> = {}>(
    slug: S, options?: O & Checked<S, O, AllOptions<S>>,
  ): AsyncGenerator<Selected<S, O>, void, undefined> {
    const sort = options?.sort ?? "-created_at";
    let cursor: string | null = "";
    while (cursor !== null) {
      const page: { data: Selected<S, O>[]; links: { next: string | null } } =
        await this.read(path(slug), { per_page: 100, ...options, sort, cursor }) as never;
      yield* page.data;
      cursor = page.links.next === null ? null : new URL(page.links.next).searchParams.get("cursor");
    }
  }

  async get<S extends Slug, const O extends GetOptions<S> = {}>(
    slug: S, id: string, options?: O & Checked<S, O, GetOptions<S>>,
  ): Promise<Unless304<O, One<S, O>>> {
    const answer = await this.read(path(slug, id), options) as { data: object; included?: unknown[] } & Tagged | null;
    if (answer === null) return null as Unless304<O, One<S, O>>;
    if (answer.included !== undefined) Object.assign(answer.data, { included: answer.included });
    return hidden(answer.data, { etag: answer.etag }) as Unless304<O, One<S, O>>;
  }

  /** The resources before and after one in a list. */
  async neighbors<S extends Slug, const O extends SelectOptions<S> = {}>(
    slug: S, id: string, options?: O & Checked<S, O, SelectOptions<S>>,
  ): Promise<Neighbors<S, O>> {
    return this.read(path(slug, id, "neighbors"), options) as Promise<Neighbors<S, O>>;
  }

  /** Where a resource is used. */
  async referrers(slug: Slug, id: string, options: CallOptions = {}): Promise<Referrer[]> {
    return (await this.read(path(slug, id, "referrers"), options) as { data: Referrer[] }).data;
  }

  /** All resources that match as they were at one moment, in one answer that is read as it arrives. */
  async *export<S extends Slug, const O extends ExportOptions<S> = {}>(
    slug: S, options?: O & Checked<S, O, ExportOptions<S>>,
  ): AsyncGenerator<Selected<S, O>, void, undefined> {
    const { signal, ...query } = options ?? ({} as ExportOptions<S>);
    const answer = await this.fetched("GET", path(slug, "export"), { query: { ...query, format: "ndjson" }, signal });
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    try {
      for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
        const lines = (rest + part.value).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line);
      }
    } finally {
      await reader?.cancel();
    }
  }

  /** One search over all blueprints. Words have one list, unless `group` is set. */
  search(options: SearchOptions & { q: string; group?: false | undefined }): Promise<Ranked>;
  search(options: SearchOptions): Promise<Found>;
  async search(options: SearchOptions): Promise<Ranked | Found> {
    return this.read("/v2/search", options) as Promise<Ranked | Found>;
  }

  /** What a search field offers while somebody types. */
  async suggest(options: SuggestOptions): Promise<{ data: Suggestion[] }> {
    return this.read("/v2/search/suggest", options) as Promise<{ data: Suggestion[] }>;
  }

  /**
   * Reports a click on a result of a search with `track`, without the token; returns whether the server accepted it. `position` is that in
   * the whole list, from 1. Without an id nothing is sent.
   */
  async click(searchId: string | null | undefined, id: string, position: number): Promise<boolean> {
    if (searchId === null || searchId === undefined) return false;
    const fetcher = this.fetcher;
    const address = this.addressOf(`/v2/analytics/searches/${encodeURIComponent(searchId)}/click`, {});
    // Text needs no preflight, and the request outlives a page that the click leaves.
    const headers = { "Content-Type": "text/plain" };
    const answer = await fetcher(address, { method: "POST", headers, body: JSON.stringify({ id, position }), keepalive: true });
    return answer.ok;
  }

  async create<S extends Slug>(slug: S, body: Create<S>, options: CreateOptions<S> = {}): Promise<Written<S>> {
    return this.written("POST", path(slug), body, options);
  }

  /** Replaces all attributes: those that are left out become null. */
  async replace<S extends Slug>(slug: S, id: string, body: Create<S>, options: ChangeOptions<S> = {}): Promise<Written<S>> {
    return this.written("PUT", path(slug, id), body, options);
  }

  /** Changes some attributes, or the publication. */
  async update<S extends Slug>(slug: S, id: string, body: Update<S>, options: ChangeOptions<S> = {}): Promise<Written<S>> {
    return this.written("PATCH", path(slug, id), body, options);
  }

  async delete<S extends Slug>(slug: S, id: string, options: ChangeOptions<S> = {}): Promise<void> {
    await this.write("DELETE", path(slug, id), undefined, options);
  }

  async bulkCreate<S extends Slug>(slug: S, resources: readonly Create<S>[], options: CreateOptions<S> = {}): Promise<BulkAnswer<"created">> {
    return this.write("POST", path(slug, "bulk"), { resources }, options);
  }

  async bulkUpdate<S extends Slug>(
    slug: S, updates: readonly (Update<S> & { id: string })[], options: VariantOptions<S> = {},
  ): Promise<BulkAnswer<"updated">> {
    return this.write("PATCH", path(slug, "bulk"), { updates }, options);
  }

  async bulkDelete<S extends Slug>(slug: S, ids: readonly string[], options: VariantOptions<S> = {}): Promise<BulkAnswer<"deleted">> {
    return this.write("DELETE", path(slug, "bulk"), { ids }, options);
  }

  async bulkPublish<S extends Slug>(slug: S, ids: readonly string[], options: PublishOptions<S> = {}): Promise<BulkAnswer<"published">> {
    const { published_at, ...others } = options;
    return this.write("POST", path(slug, "bulk-publish"), { ids, published_at }, others);
  }

  async bulkUnpublish<S extends Slug>(slug: S, ids: readonly string[], options: CreateOptions<S> = {}): Promise<BulkAnswer<"unpublished">> {
    return this.write("POST", path(slug, "bulk-unpublish"), { ids }, options);
  }

  /**
   * Any other request of the API, such as `request<Summary>("GET", "/v2/analytics/summary", { query: { start: "2026-11-01" } })`, or a
   * link of an answer, such as `request<typeof page>("GET", page.links.next)`.
   */
  async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return (await this.fetchedJson(method, path, options)).json as T;
  }

  private async read(path: string, options: object = {}): Promise<unknown> {
    const { signal, ifNoneMatch, ...query }: ListOptions<Slug> = options;
    const { answer, json } = await this.fetchedJson("GET", path, { query, signal, headers: { "If-None-Match": ifNoneMatch } });
    return answer.status === 304 ? null : hidden(json as object, { etag: answer.headers.get("ETag") });
  }

  private async written<S extends Slug>(method: string, path: string, body: unknown, options: object): Promise<Written<S>> {
    const answer = await this.write<{ data: Resource<S>; meta?: { sanitized?: Sanitized } } & Tagged>(method, path, body, options);
    return hidden(answer.data, { etag: answer.etag, sanitized: answer.meta?.sanitized ?? null });
  }

  private async write<T>(method: string, path: string, body: unknown, options: object): Promise<T> {
    const { signal, ifMatch, idempotencyKey, ...query }: ChangeOptions<Slug> & CreateOptions<Slug> = options;
    const headers = { "If-Match": ifMatch, "Idempotency-Key": idempotencyKey };
    const { answer, json } = await this.fetchedJson(method, path, { query, signal, headers, body });
    return hidden((json ?? {}) as object, { etag: answer.headers.get("ETag") }) as T;
  }

  private async fetchedJson(method: string, path: string, options: RequestOptions): Promise<{ answer: Response; json: unknown }> {
    const answer = await this.fetched(method, path, options);
    const text = await answer.text();
    try {
      return { answer, json: text === "" ? undefined : JSON.parse(text) };
    } catch {
      throw strange(answer, text);
    }
  }

  private async fetched(method: string, path: string, { query, headers = {}, body, signal }: RequestOptions): Promise<Response> {
    const sent: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) sent[name] = value;
    const init: RequestInit = { method, headers: sent };
    if (signal !== undefined) init.signal = signal;
    if (body !== undefined) {
      sent["Content-Type"] ??= "application/json";
      init.body = typeof body === "string" ? body : JSON.stringify(body);
    }
    const isRead = method === "GET" && this.newest > 0;
    if (isRead) sent["Bindery-After"] = String(this.newest);
    // Called without `this`, which browsers require of `fetch`.
    const fetcher = this.fetcher;
    const answer = await fetcher(this.addressOf(path, query ?? {}), init);
    this.newest = Math.max(this.newest, Number(answer.headers.get("Bindery-Number")));
    if (answer.ok || answer.status === 304) return answer;
    if (isRead && answer.status === 422) {
      // The cluster may have been set back to before this number. Other reasons are answered again.
      this.newest = 0;
      return this.fetched(method, path, { query, headers, body, signal });
    }
    const text = await answer.text();
    let problem: Problem | undefined;
    try {
      problem = (JSON.parse(text) as { errors?: Problem }).errors;
    } catch {
      // A proxy answers errors as HTML.
    }
    throw problem?.code === undefined ? strange(answer, text) : new BinderyError(answer, problem);
  }

  /** The address of a path that begins with `/`, or of a link. The token must not reach another server. */
  private addressOf(path: string, query: object): string {
    const address = new URL(path.startsWith("/") ? `${this.url}${path}` : path);
    const { origin } = new URL(this.url);
    if (address.origin !== origin) throw new TypeError(`${path} is not at ${origin}, where this client sends its token`);
    parametersOf(query).forEach((value, name) => address.searchParams.append(name, value));
    return address.href;
  }
}

function strange(answer: Response, text: string): BinderyError {
  const message = `${answer.url} answered ${answer.status} and something that is not from a Bindery server: ${text.slice(0, 200)}`;
  return new BinderyError(answer, { code: "UNKNOWN", message });
}

/** The same object with properties that neither JSON nor copies have. */
function hidden<T extends object, P extends object>(object: T, properties: P): T & P {
  for (const [name, value] of Object.entries(properties)) Object.defineProperty(object, name, { value, enumerable: false });
  return object as T & P;
}

function path(slug: string, ...rest: string[]): string {
  return ["/v2/resources", slug, ...rest.map(encodeURIComponent)].join("/");
}

function parametersOf(options: object): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    if (name === "filter") pushFilter(parameters, name, value);
    else if (value !== undefined) parameters.append(name, Array.isArray(value) ? value.join(",") : textOf(value));
  }
  return parameters;
}

function pushFilter(parameters: URLSearchParams, name: string, value: unknown): void {
  if (value === undefined) return;
  if (value === null) {
    parameters.append(`${name}[null]`, "true");
  } else if (Array.isArray(value)) {
    // An empty list has no form in an address: the filter would be ignored, and everything would match.
    if (value.length === 0) throw new RangeError(`${name} is an empty list`);
    const isGroup = name.endsWith("[$or]") || name.endsWith("[$and]");
    if (isGroup) value.forEach((filter, number) => pushFilter(parameters, `${name}[${number}]`, filter));
    else parameters.append(name, value.map((item) => textOf(item).replace(/[\\,]/g, "\\$&")).join(","));
  } else if (typeof value === "object" && !(value instanceof Date)) {
    for (const [key, part] of Object.entries(value)) pushFilter(parameters, `${name}[${key}]`, part);
  } else {
    parameters.append(name, textOf(value));
  }
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}
