// What the API of a Bindery server takes and answers. Made by `bindery types typescript --api`; do not edit.

export interface Error {
  /** One of the codes of API.md 7. */
  code: string;
  message: string;
  fields?: Record<string, string[]>;
  count?: number;
  ids?: string[];
}

export interface ErrorBody {
  errors: Error;
}

/** A document of OpenAPI 3.1. */
export type Description = Record<string, unknown>;

/** Only in answers to requests with `copy=working`. */
export interface WorkingCopy {
  created_at: string;
  updated_at: string;
  publish_at: string | null;
  conflicts: string[];
  publish_failed?: {
    at: string;
    errors: Error;
  };
}

/** Field slug to value; a blueprint has its own schema. */
export type Attributes = Record<string, unknown>;

export interface Relationships {
  blueprint: {
    data: {
      id: string;
      type: "blueprint";
    };
  };
}

export interface Resource {
  id?: string;
  type?: "resource";
  published_at?: string | null;
  created_at?: string;
  updated_at?: string;
  attributes?: Attributes;
  relationships?: Relationships;
  highlights?: Record<string, string | null>;
  working_copy?: WorkingCopy | null;
  meta?: ResourceMeta;
}

/** The resources that `expand` leads to. */
export type Included = Resource[];

export interface ListLinks {
  first: string;
  last: string | null;
  prev: string | null;
  next: string | null;
}

export interface ListMeta {
  per_page: number;
  total: number;
  current_page?: number;
  last_page?: number;
  facets?: Record<string, Facet>;
  stats?: Record<string, Stats>;
  matched_all?: number;
  ignored_words?: string[];
  did_you_mean?: string | null;
  search_id?: string | null;
  explain?: Record<string, unknown>[];
  ranking?: Ranking[];
}

/** Only in answers to sessions. */
export interface ResourceMeta {
  created_by: Author | null;
  updated_by: Author | null;
  outdated_variants: string[];
}

export interface Author {
  member?: {
    id: number;
    name: string | null;
  };
  token?: {
    id: string;
    name: string | null;
  };
}

export interface ResourceList {
  data: Resource[];
  links: ListLinks;
  meta: ListMeta;
  included?: Included;
}

export interface ResourceAnswer {
  data: Resource;
  included?: Included;
}

export interface Neighbors {
  data: {
    previous: Resource | null;
    next: Resource | null;
  };
  meta: {
    position: number;
    total: number;
  };
}

export interface Referrers {
  blueprint: string;
  field: string;
  total: number;
  ids: string[];
}

export interface Export {
  data: Record<string, unknown>[];
  included?: Included;
  meta?: {
    facets?: Record<string, Facet>;
    stats?: Record<string, Stats>;
  };
}

export interface Facet {
  values: {
    value: string | number | boolean;
    count: number;
  }[];
  distinct: number;
  null: number;
}

export interface Stats {
  null: number;
  count?: number;
  min?: number | null;
  max?: number | null;
  sum?: number | null;
  avg?: number | null;
  currencies?: Record<string, {
    count: number;
    min: number | null;
    max: number | null;
    sum: number | null;
    avg: number | null;
  }>;
}

export interface ResourceCreate {
  attributes: Attributes;
  published_at?: string | null;
}

export interface ResourceChange {
  attributes?: Attributes;
  published_at?: string | null;
}

export interface ResourceWritten {
  data: Resource;
  meta?: {
    sanitized?: Sanitized;
    not_ready?: Record<string, string>;
  };
}

export type Sanitized = Record<string, {
  removed: Record<string, number>;
}>;

export interface WorkingPublication {
  variants?: string[] | null;
  published_at?: string;
  at?: string | null;
  force?: boolean;
}

export interface MediaFetch {
  url: string;
  key?: string | null;
  attributes?: Attributes;
  published_at?: string | null;
}

export interface Revision {
  number: number;
  at: string;
  by: Actor | null;
  op: "created" | "updated" | "edited" | "published" | "unpublished" | "restored" | "deleted";
  variant: string | null;
  fields: string[];
}

export interface History {
  data: Revision[];
  links: {
    first: string;
    next: string | null;
  };
}

export interface RevisionAnswer {
  data: Resource;
  changes?: Record<string, {
    from: unknown;
    to: unknown;
  }>;
}

export interface RevisionRestoration {
  fields?: string[] | null;
}

export interface Actor {
  type: "member" | "token";
  /** Of a member an integer. */
  id: number | string;
  name: string | null;
}

export interface TrashEntry {
  id: string;
  blueprint: string;
  title: string | null;
  deleted_at: string;
  by: Actor | null;
  referrers: {
    blueprint: string;
    field: string;
    total: number;
  }[];
}

export interface Trash {
  data: TrashEntry[];
  links: ListLinks;
  meta: ListMeta;
}

export interface Restoration {
  as_draft?: boolean;
}

export interface BulkCreate {
  resources: ResourceCreate[];
}

export interface BulkChange {
  updates: {
    id: string;
    attributes?: Attributes;
    published_at?: string | null;
  }[];
}

export interface BulkIds {
  ids: string[];
}

export interface BulkPublish {
  ids: string[];
  variants?: string[] | null;
  published_at?: string;
  at?: string | null;
  force?: boolean;
}

export interface BulkAnswer {
  data: {
    failed: {
      index: number;
      errors: Error;
    }[];
    created?: {
      id: string;
      index: number;
    }[];
    updated?: {
      id: string;
      index: number;
    }[];
    deleted?: {
      id: string;
      index: number;
    }[];
    published?: {
      id: string;
      index: number;
    }[];
    unpublished?: {
      id: string;
      index: number;
    }[];
  };
  meta: {
    total: number;
    failed: number;
    created?: number;
    updated?: number;
    deleted?: number;
    published?: number;
    unpublished?: number;
    sanitized?: Record<string, Sanitized>;
    not_ready?: Record<string, Record<string, string>>;
  };
}

export type FieldType = "text" | "rich-text" | "html-page" | "slug" | "email" | "link" | "image" | "file" | "enum" | "multi-enum" | "boolean" | "color" | "number" | "money" | "date" | "datetime" | "duration" | "reference" | "references" | "user" | "address";

export interface FieldSettings {
  /** `enum` and `multi-enum`. */
  values?: string[] | null;
  /** `money`. */
  default_currency?: string | null;
  /** `money`. */
  currencies?: string[];
  /** `duration`. */
  unit?: "minutes" | "hours" | "days";
  /** `duration` and relations. */
  display?: string | string[] | null;
  /** `duration`. */
  min?: number | null;
  /** `duration`. */
  max?: number | null;
  /** Relations. */
  blueprint?: string;
  /** Relations. */
  on_delete?: "keep" | "nullify" | "restrict";
  /** `user`. */
  role?: string | null;
  /** `html-page`. */
  blocks?: string[] | null;
  /** `html-page`. */
  template?: string | null;
}

export interface Field {
  name: string;
  slug: string;
  type: FieldType;
  description: string | null;
  required: boolean;
  unique: boolean;
  settings: FieldSettings;
  system?: true;
}

export interface Variant {
  name: string;
  slug: string;
  default: boolean;
}

export interface Seo {
  content: string | null;
  focus_keyword: string | null;
  title: string | null;
  description: string | null;
  slug: string | null;
}

export interface BlueprintDefinition {
  name: string;
  fields: {
    name: string;
    slug?: string;
    type: FieldType;
    description?: string | null;
    required?: boolean;
    unique?: boolean;
    settings?: Record<string, unknown> | null;
    system?: boolean;
  }[];
  slug?: string;
  kind?: "resource" | "singular_resource" | "readonly_resource" | "media";
  scheduled?: boolean;
  working_copy?: boolean;
  icon?: string | null;
  record_title?: string | null;
  variants?: {
    name?: string;
    slug: string;
    default?: boolean;
  }[];
  seo?: {
    content?: string | null;
    focus_keyword?: string | null;
    title?: string | null;
    description?: string | null;
    slug?: string | null;
  } | null;
  search?: {
    fields?: Record<string, number>;
    language?: "ar" | "ca" | "cs" | "da" | "de" | "el" | "en" | "es" | "et" | "eu" | "fi" | "fr" | "ga" | "hu" | "hy" | "id" | "it" | "lt" | "nb" | "nl" | "nn" | "no" | "pl" | "pt" | "ro" | "ru" | "sv" | "tr" | null;
    stop_words?: string[];
    synonyms?: boolean;
    boost?: {
      field: string;
      weight: number;
      half_life_days?: number;
      from?: number;
      to?: number;
    }[];
  } | null;
  trash?: {
    days: number;
  } | null;
  history?: {
    keep: number;
    days: number;
  } | null;
}

export interface Blueprint {
  id: string;
  type: "blueprint";
  name: string;
  slug: string;
  kind: "resource" | "singular_resource" | "readonly_resource" | "media";
  icon: string | null;
  record_title: string | null;
  is_singular: boolean;
  is_readonly: boolean;
  variants: Variant[];
  seo: Seo | null;
  fields: Field[];
  created_at: string;
  updated_at: string;
  scheduled?: true;
  working_copy?: true;
  search?: {
    fields?: Record<string, number>;
    language?: "ar" | "ca" | "cs" | "da" | "de" | "el" | "en" | "es" | "et" | "eu" | "fi" | "fr" | "ga" | "hu" | "hy" | "id" | "it" | "lt" | "nb" | "nl" | "nn" | "no" | "pl" | "pt" | "ro" | "ru" | "sv" | "tr" | null;
    stop_words?: string[];
    synonyms?: boolean;
    boost?: {
      field: string;
      weight: number;
      half_life_days?: number;
      from?: number;
      to?: number;
    }[];
  } | null;
  trash?: {
    days: number;
  };
  history?: {
    keep: number;
    days: number;
  };
}

export interface BlueprintPlan {
  changes: {
    op: string;
    field: string;
  }[];
  loses: Record<string, number>;
  conflicts: {
    count: number;
    ids: string[];
  };
}

export interface BlueprintAnswer {
  data: Blueprint | BlueprintPlan;
}

export type Ability = "view" | "preview" | "create" | "update" | "delete" | "publish" | "analytics:view" | "manage";

export interface Token {
  id: string;
  type: "token";
  name: string;
  abilities: Ability[];
  blueprints: string[] | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

export interface IssuedToken {
  id: string;
  type: "token";
  name: string;
  abilities: Ability[];
  blueprints: string[] | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  secret?: string;
}

export interface NewToken {
  name: string;
  abilities: Ability[];
  blueprints?: string[] | null;
  expires_at?: string | null;
}

export interface Member {
  id: number;
  type: "member";
  name: string;
  role: string | null;
  /** Left out for sessions that may not manage. */
  email?: string;
  /** Left out for sessions that may not manage. */
  blueprints?: string[] | null;
  /** Left out for sessions that may not manage. */
  last_seen_at?: string | null;
  /** Left out for sessions that may not manage. */
  invited_until?: string | null;
}

export interface MemberWritten {
  data: Member;
  meta?: {
    warnings?: string[];
  };
}

export interface NewMember {
  name: string;
  email: string;
  role?: string | null;
  blueprints?: string[] | null;
}

export interface MemberChange {
  name?: string;
  email?: string;
  role?: string | null;
  blueprints?: string[] | null;
}

export type Role = "owner" | "editor" | "author" | "viewer";

export interface SignIn {
  email: string;
  password: string;
}

export interface ChangedPassword {
  current_password: string;
  password: string;
}

export interface Session {
  member: {
    id: number;
    name: string;
    email: string;
    role: string;
  };
  role: Role;
  abilities: Ability[];
  blueprints: string[] | null;
  csrf: string;
  expires_at: string;
}

export interface OpenSession {
  id: string;
  type: "session";
  created_at: string;
  last_used_at: string;
  address: string | null;
  agent: string;
  current: boolean;
}

export interface View {
  id: string;
  type: "view";
  blueprint: string;
  name: string;
  query: string;
  shared: boolean;
  owner: {
    id: number;
    name: string | null;
  };
  created_at: string;
  updated_at: string;
}

export interface NewView {
  blueprint: string;
  name: string;
  query: string;
  shared?: boolean;
}

export interface ViewChange {
  name?: string;
  query?: string;
  shared?: boolean;
}

export interface IssuedInvitation {
  type: string;
  url: string;
  expires_at: string;
}

export interface Invitation {
  email: string | null;
  name: string | null;
  role: string | null;
}

export interface AcceptedInvitation {
  token: string;
  password: string;
  name?: string;
  email?: string;
}

export interface Webhook {
  id: string;
  type: "webhook";
  name: string;
  url: string;
  events: ("created" | "updated" | "published" | "unpublished" | "deleted" | "edited" | "publish_failed")[];
  blueprints: string[] | null;
  active: boolean;
  created_at: string;
  updated_at: string;
  error: string | null;
}

export interface CreatedWebhook {
  id: string;
  type: "webhook";
  name: string;
  url: string;
  events: ("created" | "updated" | "published" | "unpublished" | "deleted" | "edited" | "publish_failed")[];
  blueprints: string[] | null;
  active: boolean;
  created_at: string;
  updated_at: string;
  error: string | null;
  secret?: string;
}

export interface NewWebhook {
  name: string;
  url: string;
  events: ("created" | "updated" | "published" | "unpublished" | "deleted" | "edited" | "publish_failed")[];
  blueprints?: string[] | null;
  active?: boolean;
}

export interface WebhookChange {
  name?: string;
  url?: string;
  events?: ("created" | "updated" | "published" | "unpublished" | "deleted" | "edited" | "publish_failed")[];
  blueprints?: string[] | null;
  active?: boolean;
}

export interface Delivery {
  id: string;
  state: "delivered" | "retrying" | "given_up";
  status: number | null;
  error: string | null;
  duration_ms: number;
  type: "delivery";
  number: number;
  op: "created" | "updated" | "published" | "unpublished" | "deleted" | "edited" | "publish_failed";
  blueprint: string;
  resource: string;
  at: string;
  attempt: number;
  next_attempt_at: string | null;
}

export interface TestDelivery {
  id: string;
  state: "delivered" | "retrying" | "given_up";
  status: number | null;
  error: string | null;
  duration_ms: number;
}

export interface Ranking {
  id: string;
  pinned: RankingPin | null;
  words: RankingWord[];
  lacks: number;
  typos: number;
  ways: number;
  score: number;
  nearness: number;
  boost: number;
}

export interface RankingWord {
  asked: string;
  found: WordWay | null;
  typos?: number;
  as?: string[];
  fields?: string[];
  missed?: boolean;
}

export interface RankingPin {
  rule: string;
  position: number;
}

export type WordWay = "whole" | "part" | "parts" | "form" | "compound" | "beginning" | "synonym";

export interface Synonym {
  variant: string | null;
  words: string[];
  one_way: boolean;
  id: string;
  type: "synonym";
  created_at: string;
  updated_at: string;
}

export interface NewSynonym {
  words: string[];
  variant?: string | null;
  one_way?: boolean;
}

export interface SynonymChange {
  variant?: string | null;
  words?: string[];
  one_way?: boolean;
}

export interface SearchRule {
  query: string | null;
  match: "is" | "contains";
  blueprint: string | null;
  variant: string | null;
  filter: string | null;
  from: string | null;
  until: string | null;
  pin: {
    id: string;
    position: number;
  }[];
  hide: string[];
  filter_add: string | null;
  id: string;
  type: "search_rule";
  created_at: string;
  updated_at: string;
}

export interface SearchRuleChange {
  query?: string | null;
  match?: "is" | "contains";
  blueprint?: string | null;
  variant?: string | null;
  filter?: string | null;
  from?: string | null;
  until?: string | null;
  pin?: {
    id: string;
    position: number;
  }[];
  hide?: string[];
  filter_add?: string | null;
}

export interface RulePreview {
  blueprint: string;
  list: string;
  rule: SearchRuleChange;
  id?: string | null;
}

export interface Suggestion {
  kind: "word" | "question" | "title";
  text: string;
  count?: number;
  blueprint?: string;
  id?: string;
}

export interface Status {
  type: "status";
  version: string;
  started_at: string;
  writable: boolean;
  number: number;
  bytes: Record<string, number>;
  index_runs: number;
  blueprints: {
    id: string;
    resources: number;
  }[];
  tokens: number;
  members: number;
  analytics: {
    open: boolean;
    dropped: number;
  };
  process: {
    resident_bytes: number;
    open_files: number;
    threads: number;
  };
}

export interface Cluster {
  id: string;
  history: string;
  position: number;
  leader: string | null;
  warnings: string[];
  nodes: {
    node: string;
    address: string;
    version: string;
    position: number;
    lag: number;
    ready: boolean;
    warnings: string[];
  }[];
}

export interface Hint {
  node: string;
  address: string;
  term: number;
  seq: number;
}

export interface Batch {
  sender: string;
  number: number;
  now: number;
  items: unknown[][];
}

export interface Counted {
  counted: number;
  confirmed: number;
}

export type Questions = {
  questions?: {
    text: string;
    blueprints: unknown[][];
  }[];
} | null;

export interface Found {
  data: ({
    blueprint: string;
    total: number;
    resources: Record<string, unknown>[];
  } | Resource)[];
  meta: {
    total: number;
    current_page?: number;
    last_page?: number;
    per_page?: number;
    matched_all?: number;
    ignored_words?: string[];
    did_you_mean?: string | null;
    search_id?: string | null;
    facets?: Record<string, unknown>;
  };
  links?: Record<string, unknown>;
}

export type Figures = Record<string, number>;

export interface Duration {
  average_session_duration: string;
}

export interface Summary {
  period: {
    start: string;
    end: string;
  };
  live_users: number;
  visitors: number;
  sessions: number;
  pageviews: number;
  average_session_duration: string;
  bounce_rate: number;
  visitors_change: number;
  sessions_change: number;
  pageviews_change: number;
}

export interface Trend {
  current: number;
  previous: number;
  change: number;
  trend: "up" | "down" | "stable";
  referrer?: string;
}

export interface PageFigures {
  path: string;
  views: number;
  visitors: number;
}

export interface ReferrerFigures {
  referrer: string;
  visitors: number;
  percentage: number;
}

export interface UtmFigures {
  visitors: number;
  percentage: number;
  source?: string;
  medium?: string;
  campaign?: string;
  content?: string;
  term?: string;
}

export interface SessionPage {
  path: string;
  sessions: number;
  percentage: number;
}

export interface SearchFigures {
  question: string;
  searches: number;
  visitors: number;
  without_results: number;
  without_clicks: number;
  click_rate: number;
  mean_position: number | null;
}

export interface Click {
  id: string;
  position: number;
}

export interface CustomEvent {
  name: string;
  count: number;
  visitors: number;
  conversion_rate: number;
  properties?: {
    name: string;
    count: number;
    values: {
      value: string;
      count: number;
      visitors: number;
      percentage: number;
    }[];
  }[];
}

export interface Share {
  count: number;
  percentage: number;
  device?: string;
  browser?: string;
  country?: string;
}

export interface Point {
  date: string;
  value: number;
}

export interface LogImport {
  lines: number;
  pageviews: number;
  added: number;
  robots: number;
  others: number;
  bad: number;
  first_bad: unknown[];
}

export interface Event {
  name: string;
  url: string;
  referrer?: string | null;
  screen_width?: number | null;
  /** Only of an event that is not a `pageview`, and needed there. */
  properties?: Record<string, string | number | boolean> | null;
}

export interface Deleted {
  deleted: number;
}
