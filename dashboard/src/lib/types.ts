// The shapes that the dashboard works with: those of the API (`apiTypes.ts`), narrowed to what its own requests are answered with.
// It must not know how they are fetched.
import type * as api from './apiTypes';

export type {
  Ability, Author as Actor, Delivery, Error as ErrorBody, Field, FieldSettings, FieldType, History, Invitation, Member, OpenSession as SessionEntry, Point, Ranking, RankingWord,
  Referrers, Revision, Role, Sanitized, SearchRule, Seo, Session, Share, Status as ServerStatus, Summary, Synonym, Trash, TrashEntry, Variant, View, WorkingCopy,
} from './apiTypes';

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Attributes = Record<string, Json>;

export const FIELD_TYPES: api.FieldType[] = [
  'text', 'rich-text', 'html-page', 'slug', 'email', 'link', 'image', 'file', 'enum', 'multi-enum', 'boolean',
  'color', 'number', 'money', 'date', 'datetime', 'duration', 'reference', 'references', 'user', 'address',
];

export type Blueprint = Omit<api.Blueprint, 'type'>;
export type Kind = Blueprint['kind'];

/** The dashboard selects whole resources, or leaves out attributes only. */
export type Resource = Omit<Required<api.Resource>, 'attributes' | 'relationships' | 'highlights' | 'meta'> &
  Pick<api.Resource, 'relationships' | 'highlights' | 'meta'> & { attributes: Attributes };

export type ResourceAnswer = Omit<api.ResourceWritten, 'data'> & { data: Resource };

/** With the numbers of pages: the dashboard does not walk by cursors. */
export type ListAnswer = {
  data: Resource[];
  included?: Resource[];
  meta: api.ResourceList['meta'] & { current_page: number; last_page: number };
};

export const ROLES: api.Role[] = ['owner', 'editor', 'author', 'viewer'];
export const ABILITIES: api.Ability[] = ['view', 'preview', 'create', 'update', 'delete', 'publish', 'analytics:view', 'manage'];

/** The secret is in the answer that creates it. */
export type Token = api.Token & { secret?: string };
export type Webhook = api.Webhook & { secret?: string };

export const CURRENCIES = (
  'AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR JPY KRW MXN MYR NOK NZD PHP PLN RON SEK SGD ' +
  'THB TRY USD ZAR'
).split(' ');
