/** The slug of a blueprint. */
export type Slug = keyof Blueprints & string;

/** A resource as it is answered. */
export interface Resource<S extends Slug> {
  id: string;
  type: "resource";
  published_at: string | null;
  created_at: string;
  updated_at: string;
  attributes: Blueprints[S]["attributes"];
  relationships: { blueprint: { data: { id: S; type: "blueprint" } } };
}

/** A page of a list. */
export interface Page<S extends Slug> {
  data: Resource<S>[];
  links: { first: string | null; last: string | null; prev: string | null; next: string | null };
  meta: { current_page: number; last_page: number; per_page: number; total: number };
}

/** The body of a write. */
export interface Write<A> {
  attributes: A;
  published_at?: string | null;
}

/** Parameters of a read. Filters are named as in addresses, such as `{"title][contains": "x"}` or `{title: "x"}`. */
export interface ReadOptions<S extends Slug> {
  variant?: Blueprints[S]["variants"];
  fallback?: Blueprints[S]["variants"];
}

export interface ListOptions<S extends Slug> extends ReadOptions<S> {
  page?: number;
  per_page?: number;
  sort?: string;
  search?: string;
  filter?: Record<string, string | number | boolean>;
}

/** An answer with an error. */
export class BinderyError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: Record<string, string[]>,
  ) {
    super(message);
    this.name = "BinderyError";
  }
}

/** A client of the server at `url`, with the abilities of a token. */
export class Client {
  constructor(
    private readonly url: string,
    private readonly token: string,
    private readonly fetcher: typeof fetch = fetch,
  ) {}

  list<S extends Slug>(slug: S, options: ListOptions<S> = {}): Promise<Page<S>> {
    return this.send("GET", `/v2/resources/${slug}${query(options)}`);
  }

  /** All resources that match, page by page. */
  async *all<S extends Slug>(slug: S, options: ListOptions<S> = {}): AsyncGenerator<Resource<S>> {
    for (let page = options.page ?? 1; ; page += 1) {
      const { data, meta } = await this.list(slug, { ...options, page });
      yield* data;
      if (page >= meta.last_page) return;
    }
  }

  async get<S extends Slug>(slug: S, id: string, options: ReadOptions<S> = {}): Promise<Resource<S>> {
    return (await this.send<{ data: Resource<S> }>("GET", `/v2/resources/${slug}/${id}${query(options)}`)).data;
  }

  async create<S extends Slug>(slug: S, body: Write<Blueprints[S]["write"]>, options: ReadOptions<S> = {}): Promise<Resource<S>> {
    return (await this.send<{ data: Resource<S> }>("POST", `/v2/resources/${slug}${query(options)}`, body)).data;
  }

  /** Replaces all attributes. */
  async replace<S extends Slug>(slug: S, id: string, body: Write<Blueprints[S]["write"]>, options: ReadOptions<S> = {}): Promise<Resource<S>> {
    return (await this.send<{ data: Resource<S> }>("PUT", `/v2/resources/${slug}/${id}${query(options)}`, body)).data;
  }

  /** Changes some attributes, or the publication. */
  async update<S extends Slug>(slug: S, id: string, body: Partial<Write<Partial<Blueprints[S]["write"]>>>, options: ReadOptions<S> = {}): Promise<Resource<S>> {
    return (await this.send<{ data: Resource<S> }>("PATCH", `/v2/resources/${slug}/${id}${query(options)}`, body)).data;
  }

  async delete(slug: Slug, id: string): Promise<void> {
    await this.send("DELETE", `/v2/resources/${slug}/${id}`);
  }

  private async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = { Authorization: `Bearer ${this.token}` };
    const init: RequestInit = { method, headers };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const answer = await this.fetcher(this.url.replace(/\/+$/, "") + path, init);
    const text = await answer.text();
    const json: unknown = text === "" ? undefined : JSON.parse(text);
    if (!answer.ok) {
      const { errors } = json as { errors: { code: string; message: string; fields?: Record<string, string[]> } };
      throw new BinderyError(answer.status, errors.code, errors.message, errors.fields ?? {});
    }
    return json as T;
  }
}

function query(options: object): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(options)) {
    if (name === "filter") {
      for (const [field, wanted] of Object.entries(value as object)) parameters.append(`filter[${field}]`, String(wanted));
    } else if (value !== undefined) {
      parameters.append(name, String(value));
    }
  }
  const text = parameters.toString();
  return text === "" ? "" : `?${text}`;
}
