// Sends requests to the API with the session's cookie and CSRF token, and turns every failure into an ApiError. It must not
// know any endpoint's meaning, nor any component.
import { faultTexts } from './faults';
import type { ErrorBody } from './types';

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fields: Record<string, string[]>;
  /** The same as the server wrote them. */
  readonly messages: Record<string, string[]>;
  readonly count: number | undefined;
  readonly ids: string[];
  readonly retryAfter: number | undefined;

  constructor(status: number, body: ErrorBody, retryAfter?: number) {
    super(body.message);
    this.status = status;
    this.code = body.code;
    this.messages = body.fields ?? {};
    this.fields = faultTexts(this.messages);
    this.count = body.count;
    this.ids = body.ids ?? [];
    this.retryAfter = retryAfter;
  }

  /** The request did not reach the server, or its answer did not arrive. */
  get offline(): boolean {
    return this.status === 0;
  }

  /** The server does not accept this at present: it starts, stops, or has too much to do. */
  get busy(): boolean {
    return this.status === 503;
  }
}

export interface Answer<T> {
  status: number;
  body: T;
  etag: string | null;
}

export interface RequestOptions {
  body?: unknown;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
}

let csrf = '';
/** The newest number that a node of a cluster has answered, which later reads must include; 0 before, and on a single server. */
let newest = 0;
let onUnauthenticated: () => Promise<boolean> = () => Promise.resolve(false);
let onForbidden: () => Promise<unknown> = () => Promise.resolve();

/** Whether the server has said that it is a node of a cluster. */
export const isNode = (): boolean => newest > 0;

export function useCsrf(token: string): void {
  csrf = token;
}

/** Called when a request is answered 401: the session has ended. True when the member has signed in again: it is sent again then. */
export function whenUnauthenticated(callback: () => Promise<boolean>): void {
  onUnauthenticated = callback;
}

/** Called when a write is answered 403: another tab may have begun a new session. It is sent again if there is another token then. */
export function whenForbidden(callback: () => Promise<unknown>): void {
  onForbidden = callback;
}

/** `sent` is the token that the request was sent with. */
async function mayRepeat(method: string, path: string, status: number, sent: string): Promise<boolean> {
  if (status === 401) return path !== '/v2/session' && onUnauthenticated();
  const signsIn = method === 'POST' && path === '/v2/session';
  if (status !== 403 || method === 'GET' || signsIn || !sent) return false;
  if (csrf === sent) await onForbidden();
  return csrf !== sent;
}

const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

export async function send<T>(method: string, path: string, options: RequestOptions = {}): Promise<Answer<T>> {
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
  const sent = csrf;
  if (method !== 'GET' && sent) headers['x-csrf-token'] = sent;
  const isAfter = method === 'GET' && newest > 0;
  if (isAfter) headers['bindery-after'] = String(newest);
  const init: RequestInit = { method, headers, credentials: 'same-origin' };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  let text: string;
  try {
    response = await fetch(path, init);
    text = await response.text();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError(0, { code: 'OFFLINE', message: '' });
  }
  newest = Math.max(newest, Number(response.headers.get('bindery-number')));
  if (response.ok) {
    const body = text === '' ? null : parsed(text);
    return { status: response.status, body: body as T, etag: response.headers.get('etag') };
  }
  if (isAfter && response.status === 422) {
    // The cluster may have been set back to before this number. Other reasons are answered again.
    newest = 0;
    return send(method, path, options);
  }
  if (await mayRepeat(method, path, response.status, sent)) return send(method, path, options);
  throw failureOf(response, text);
}

interface FormOptions {
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Is told how much was sent, from 0 to 1. */
  progress?: (part: number) => void;
}

/** Sends a form with a file. It goes by XMLHttpRequest, because `fetch` reports no progress. */
export async function sendForm<T>(method: string, path: string, form: FormData, options: FormOptions = {}): Promise<Answer<T>> {
  const sent = csrf;
  const response = await formAnswer(method, path, form, options);
  const text = await response.text();
  newest = Math.max(newest, Number(response.headers.get('bindery-number')));
  if (response.ok) return { status: response.status, body: parsed(text) as T, etag: response.headers.get('etag') };
  if (await mayRepeat(method, path, response.status, sent)) return sendForm(method, path, form, options);
  throw failureOf(response, text);
}

function formAnswer(method: string, path: string, form: FormData, { headers = {}, signal, progress }: FormOptions): Promise<Response> {
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.open(method, path);
    for (const [name, value] of Object.entries({ accept: 'application/json', ...(csrf ? { 'x-csrf-token': csrf } : {}), ...headers })) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => progress?.(total > 0 ? loaded / total : 0);
    request.onload = () => {
      const kept = ['bindery-number', 'etag', 'retry-after'].map((name) => [name, request.getResponseHeader(name)]).filter((one): one is [string, string] => one[1] !== null);
      resolve(new Response(request.responseText, { status: request.status, statusText: request.statusText, headers: kept }));
    };
    request.onerror = () => reject(new ApiError(0, { code: 'OFFLINE', message: '' }));
    request.onabort = () => reject(new DOMException('stopped', 'AbortError'));
    if (signal?.aborted) return reject(new DOMException('stopped', 'AbortError'));
    signal?.addEventListener('abort', () => request.abort());
    request.send(form);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(0, { code: 'OFFLINE', message: '' });
  }
}

function failureOf(response: Response, text: string): ApiError {
  const retry = Number(response.headers.get('retry-after')) || undefined;
  // A proxy in between answers 502 to 504 with a page of its own.
  const unreachable = response.status >= 502 && response.status <= 504;
  try {
    const { errors } = JSON.parse(text) as { errors: ErrorBody };
    if (typeof errors?.message === 'string') return new ApiError(response.status === 502 ? 0 : response.status, errors, retry);
  } catch {
    // Not the server's own error object.
  }
  return new ApiError(unreachable ? 0 : response.status, { code: `HTTP_${response.status}`, message: response.statusText }, retry);
}

export const get = async <T>(path: string, signal?: AbortSignal): Promise<T> => (await send<T>('GET', path, { signal })).body;
export const post = async <T>(path: string, body: unknown, headers?: Record<string, string>): Promise<T> =>
  (await send<T>('POST', path, { body, headers })).body;
export const put = async <T>(path: string, body: unknown): Promise<T> => (await send<T>('PUT', path, { body })).body;
export const patch = async <T>(path: string, body: unknown): Promise<T> => (await send<T>('PATCH', path, { body })).body;
export const remove = async (path: string, body?: unknown): Promise<void> => void (await send<unknown>('DELETE', path, { body }));

/** True for the error of a request that was cancelled because its answer is no longer wanted. */
export const aborted = isAbort;
