// The shapes of the API that the dashboard uses. It must not know how they are fetched.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

export type FieldType =
  | 'text' | 'rich-text' | 'html-page' | 'slug' | 'email' | 'link' | 'image' | 'file' | 'enum' | 'multi-enum' | 'boolean'
  | 'color' | 'number' | 'money' | 'date' | 'datetime' | 'duration' | 'reference' | 'references' | 'user' | 'address';

export const FIELD_TYPES: FieldType[] = [
  'text', 'rich-text', 'html-page', 'slug', 'email', 'link', 'image', 'file', 'enum', 'multi-enum', 'boolean',
  'color', 'number', 'money', 'date', 'datetime', 'duration', 'reference', 'references', 'user', 'address',
];

export interface FieldSettings {
  values?: string[] | null;
  default_currency?: string | null;
  currencies?: string[];
  unit?: 'minutes' | 'hours' | 'days';
  display?: string | string[] | null;
  min?: number | null;
  max?: number | null;
  blueprint?: string;
  on_delete?: 'keep' | 'nullify' | 'restrict';
  role?: string | null;
  blocks?: string[] | null;
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
}

export interface Variant {
  name: string;
  slug: string;
  default: boolean;
}

export type Kind = 'resource' | 'singular_resource' | 'readonly_resource';

export interface Seo {
  content: string | null;
  focus_keyword: string | null;
  title: string | null;
  description: string | null;
  slug: string | null;
}

export interface Blueprint {
  id: string;
  name: string;
  slug: string;
  kind: Kind;
  icon: string | null;
  record_title: string | null;
  is_singular: boolean;
  is_readonly: boolean;
  scheduled?: boolean;
  variants: Variant[];
  seo: Seo | null;
  fields: Field[];
  created_at: string;
  updated_at: string;
}

export type Attributes = Record<string, Json>;

export interface Resource {
  id: string;
  type: 'resource';
  published_at: string | null;
  created_at: string;
  updated_at: string;
  attributes: Attributes;
  relationships?: { blueprint: { data: { id: string } } };
  /** Only in lists with `highlight`. */
  highlights?: Record<string, string | null>;
  /** Only in answers to sessions. */
  meta?: { created_by: Actor | null; updated_by: Actor | null };
}

export interface Actor {
  member?: { id: number; name: string | null };
  token?: { id: string; name: string | null };
}

export interface Sanitized {
  [field: string]: { removed: Record<string, number> };
}

export interface ResourceAnswer {
  data: Resource;
  meta?: { sanitized?: Sanitized };
}

export interface FacetValue {
  value: Json;
  count: number;
}

export interface ListAnswer {
  data: Resource[];
  /** Only in lists with `expand`. */
  included?: Resource[];
  meta: {
    current_page: number;
    last_page: number;
    per_page: number;
    total: number;
    facets?: Record<string, { values: FacetValue[]; distinct: number; null: number }>;
  };
}

export type Role = 'owner' | 'editor' | 'author' | 'viewer';
export const ROLES: Role[] = ['owner', 'editor', 'author', 'viewer'];

export type Ability = 'view' | 'preview' | 'create' | 'update' | 'delete' | 'publish' | 'analytics:view' | 'manage';
export const ABILITIES: Ability[] = ['view', 'preview', 'create', 'update', 'delete', 'publish', 'analytics:view', 'manage'];

export interface Member {
  id: number;
  name: string;
  /** Left out for roles that may not manage members. */
  email?: string;
  role: string | null;
}

export interface Session {
  member: Member;
  role: Role;
  abilities: Ability[];
  csrf: string;
  expires_at: string;
}

export interface SessionEntry {
  id: string;
  created_at: string;
  last_used_at: string;
  address?: string;
  agent: string;
  current: boolean;
}

export interface Token {
  id: string;
  name: string;
  abilities: Ability[];
  blueprints: string[] | null;
  created_at: string;
  expires_at: string | null;
  secret?: string;
}

export interface Webhook {
  id: string | number;
  name: string;
  url: string;
  events: string[];
  blueprints: string[] | null;
  active: boolean;
  secret?: string;
}

export interface Delivery {
  id: string;
  op: string | null;
  blueprint: string | null;
  resource: string | null;
  at: string;
  attempt: number;
  state: 'delivered' | 'retrying' | 'given_up';
  status: number | null;
  error: string | null;
  duration_ms: number;
  next_attempt_at: string | null;
}

/** `GET /v2/status`. */
export interface ServerStatus {
  version: string;
  started_at: string;
  writable: boolean;
  number: number;
  bytes: Record<string, number>;
  index_runs: number;
  blueprints: { id: string; resources: number }[];
  tokens: number;
  members: number;
  analytics: { open: boolean; dropped: number };
  process: { resident_bytes?: number; open_files?: number; threads?: number };
}

export const CURRENCIES = (
  'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD ' +
  'THB TRY USD ZAR'
).split(' ');

export interface ErrorBody {
  code: string;
  message: string;
  fields?: Record<string, string[]>;
  count?: number;
  ids?: string[];
}
