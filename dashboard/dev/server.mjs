// A stand-in for the server's own sign-in, for development and tests: it serves the built dashboard under /admin with the
// content security policy of the server, implements the session API in memory, and passes everything else under /v2 on to a
// running server, with a token that has the rights of the member's role. It is not part of the binary.
//
//   node dev/server.mjs --upstream http://127.0.0.1:7700 --token bnd_… --port 7780 [--owner EMAIL:PASSWORD] [--pass yes]
//
// --owner gives a member a password, --first chooses the secret of the link for the first owner, and --pass serves the files only,
// for a server that signs members in itself.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const options = Object.fromEntries(
  process.argv.slice(2).reduce((pairs, word, index, all) => (word.startsWith('--') ? [...pairs, [word.slice(2), all[index + 1]]] : pairs), []),
);
const upstream = new URL(options.upstream ?? 'http://127.0.0.1:7700');
const adminToken = options.token ?? process.env.TOKEN;
const port = Number(options.port ?? 7780);
const dist = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../src/dashboard/dist');

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob: http: https:; media-src http: https:; " +
  "font-src 'self'; connect-src 'self'; frame-src 'self' blob: data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const ABILITIES = {
  owner: ['view', 'preview', 'create', 'update', 'delete', 'publish', 'analytics:view', 'manage'],
  editor: ['view', 'preview', 'create', 'update', 'delete', 'publish', 'analytics:view'],
  author: ['view', 'preview', 'create', 'update'],
  viewer: ['view', 'preview', 'analytics:view'],
};
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html; charset=utf-8', '.svg': 'image/svg+xml', '.json': 'application/json' };
const SESSION_MS = 30 * 24 * 3600e3;

const passwords = new Map(); // member id -> hash
const sessions = new Map(); // secret -> {id, memberId, csrf, created, used, agent, address}
const invitations = new Map(); // secret -> {memberId | null, expires}
const failures = new Map(); // email -> [times]
const roleTokens = new Map(); // role -> secret

const hash = (text) => createHash('sha256').update(`bindery-dev:${text}`).digest('hex');
const secret = () => randomBytes(24).toString('base64url');
const failure = (code, message, fields) => ({ errors: { code, message, ...(fields ? { fields } : {}) } });

async function api(method, target, body, token = adminToken) {
  const answer = await fetch(new URL(target, upstream), {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const text = await answer.text();
  return { status: answer.status, body: text ? JSON.parse(text) : null };
}

const members = async () => (await api('GET', '/v2/members')).body.data;
const memberOf = async (id) => (await members()).find((member) => member.id === id);

async function tokenOf(role) {
  if (!roleTokens.has(role)) {
    const created = await api('POST', '/v2/tokens', { name: `session of ${role}`, abilities: ABILITIES[role] });
    roleTokens.set(role, created.body.data.secret);
  }
  return roleTokens.get(role);
}

const view = (member, session) => ({
  data: {
    member: { id: member.id, name: member.name, email: member.email, role: member.role },
    role: member.role,
    abilities: ABILITIES[member.role] ?? [],
    csrf: session.csrf,
    expires_at: new Date(session.used + SESSION_MS).toISOString(),
  },
});

function openSession(member, request) {
  const key = secret();
  const now = Date.now();
  const session = { id: secret().slice(0, 10), memberId: member.id, csrf: secret(), created: now, used: now, agent: request.headers['user-agent'] ?? '', address: request.socket.remoteAddress };
  sessions.set(key, session);
  return { session, cookie: `bindery_session=${key}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${SESSION_MS / 1000}` };
}

const cookieOf = (request) => /(?:^|;\s*)bindery_session=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1];

function slowed(email) {
  const recent = (failures.get(email) ?? []).filter((time) => time > Date.now() - 60e3);
  failures.set(email, recent);
  return recent.length >= 5;
}

async function bodyOf(request) {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
}

function send(response, status, body, headers = {}) {
  const text = body === null ? '' : JSON.stringify(body);
  response.writeHead(status, { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', ...(text ? { 'content-type': 'application/json' } : {}), ...headers });
  response.end(text);
}

function invite(memberId, request) {
  const invitation = secret();
  const expires = Date.now() + 72 * 3600e3;
  for (const [other, one] of invitations) if (one.memberId === memberId) invitations.delete(other);
  invitations.set(invitation, { memberId, expires });
  return { url: `http://${request.headers.host}/admin/invitation#${invitation}`, expires_at: new Date(expires).toISOString() };
}

async function signIn(request, response) {
  const { email, password } = JSON.parse(await bodyOf(request));
  if (slowed(email)) return send(response, 429, failure('RATE_LIMITED', 'too many failed attempts; try again in a minute'), { 'retry-after': '60' });
  const member = (await members()).find((candidate) => candidate.email === email);
  if (!member || passwords.get(member.id) !== hash(password)) {
    failures.get(email).push(Date.now());
    return send(response, 401, failure('UNAUTHENTICATED', 'the email or the password is wrong'));
  }
  const { session, cookie } = openSession(member, request);
  send(response, 200, view(member, session), { 'set-cookie': cookie });
}

async function acceptInvitation(request, response) {
  const { token, name, email, password } = JSON.parse(await bodyOf(request));
  const invitation = invitations.get(token);
  if (!invitation || invitation.expires < Date.now()) return send(response, 404, failure('NOT_FOUND', 'this link was used already, or is older than 72 hours'));
  if (typeof password !== 'string' || password.length < 10) {
    return send(response, 422, failure('VALIDATION_FAILED', '`password` is not valid', { password: ['must have at least 10 characters'] }));
  }
  let member = invitation.memberId === null ? null : await memberOf(invitation.memberId);
  if (!member) {
    const created = await api('POST', '/v2/members', { name, email, role: 'owner' });
    if (created.status !== 201) return send(response, created.status, created.body);
    member = created.body.data;
  } else if (name && name !== member.name) {
    member = (await api('PATCH', `/v2/members/${member.id}`, { name })).body.data;
  }
  passwords.set(member.id, hash(password));
  invitations.delete(token);
  const { session, cookie } = openSession(member, request);
  send(response, 200, view(member, session), { 'set-cookie': cookie });
}

async function sessionApi(request, response, url, current) {
  const route = `${request.method} ${url.pathname}`;
  if (route === 'POST /v2/session') return signIn(request, response);
  if (route === 'POST /v2/invitation') return acceptInvitation(request, response);
  if (route === 'GET /v2/invitation') {
    const invitation = invitations.get(request.headers['x-invitation']);
    if (!invitation || invitation.expires < Date.now()) return send(response, 404, failure('NOT_FOUND', 'this link was used already, or is older than 72 hours'));
    const member = invitation.memberId === null ? { email: null, name: null, role: 'owner' } : await memberOf(invitation.memberId);
    return send(response, 200, { data: { email: member.email, name: member.name, role: member.role } });
  }
  if (!current) return send(response, 401, failure('UNAUTHENTICATED', 'sign in first'));
  const { member, session, key } = current;
  if (route === 'GET /v2/session') return send(response, 200, view(member, session));
  if (route === 'DELETE /v2/session') {
    sessions.delete(key);
    return send(response, 204, null, { 'set-cookie': 'bindery_session=; Path=/; Max-Age=0' });
  }
  if (route === 'PUT /v2/session/password') {
    const { current_password: present, password } = JSON.parse(await bodyOf(request));
    if (passwords.get(member.id) !== hash(present)) return send(response, 422, failure('VALIDATION_FAILED', 'the password is wrong', { current_password: ['is not the password of this member'] }));
    if (typeof password !== 'string' || password.length < 10) return send(response, 422, failure('VALIDATION_FAILED', 'the password is too short', { password: ['is required: a string of 10 to 1000 characters'] }));
    passwords.set(member.id, hash(password));
    for (const [other, one] of sessions) if (one.memberId === member.id) sessions.delete(other);
    const { session: begun, cookie } = openSession(member, request);
    return send(response, 200, view(member, begun), { 'set-cookie': cookie });
  }
  if (route === 'GET /v2/sessions') {
    const wanted = member.role === 'owner' && url.searchParams.get('member') ? Number(url.searchParams.get('member')) : member.id;
    const mine = [...sessions.values()].filter((one) => one.memberId === wanted);
    return send(response, 200, { data: mine.map((one) => ({ id: one.id, created_at: new Date(one.created).toISOString(), last_used_at: new Date(one.used).toISOString(), address: one.address, agent: one.agent, current: one === session })) });
  }
  const revoked = /^DELETE \/v2\/sessions\/([\w-]+)$/.exec(route);
  if (revoked) {
    for (const [other, one] of sessions) if (one.id === revoked[1]) sessions.delete(other);
    return send(response, 204, null);
  }
  const invited = /^POST \/v2\/members\/(\d+)\/invitations$/.exec(route);
  if (invited) {
    if (member.role !== 'owner') return send(response, 403, failure('FORBIDDEN', 'this needs the role owner'));
    return send(response, 201, { data: invite(Number(invited[1]), request) });
  }
  return null;
}

async function forward(request, response, url, current) {
  const headers = { ...request.headers, host: upstream.host };
  if (options.pass) headers.host = request.headers.host;
  else delete headers.cookie;
  if (!headers.authorization && current) headers.authorization = `Bearer ${await tokenOf(current.member.role)}`;
  // Every role may read the members: `user` fields need their names.
  if (current && url.pathname === '/v2/members' && request.method === 'GET') headers.authorization = `Bearer ${adminToken}`;
  const passed = http.request({ host: upstream.hostname, port: upstream.port, method: request.method, path: request.url, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => (response.headersSent ? response.destroy() : send(response, 502, failure('OVERLOADED', 'the server does not answer'))));
  response.on('close', () => passed.destroy());
  request.pipe(passed);
}

function serveFile(request, response, url) {
  const relative = decodeURIComponent(url.pathname.replace(/^\/admin\/?/, ''));
  // As the server does it: what has a dot in its last part is a file, everything else a screen.
  const isFile = url.pathname.split('/').at(-1).includes('.');
  const file = path.join(dist, isFile ? relative : 'index.html');
  if (!file.startsWith(dist)) return send(response, 404, failure('NOT_FOUND', 'no such file'));
  if (!existsSync(file) || !statSync(file).isFile()) return send(response, 404, failure('NOT_FOUND', 'no such file'));
  const cache = relative.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache';
  response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'content-security-policy': CSP, 'cache-control': cache, 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
  createReadStream(file).pipe(response);
}

async function answer(request, response) {
  const url = new URL(request.url, `http://${request.headers.host}`);
  if (url.pathname === '/') return response.writeHead(302, { location: '/admin/' }).end();
  if (url.pathname.startsWith('/admin')) return serveFile(request, response, url);
  // With --pass, the server behind signs members in itself.
  if (options.pass) return forward(request, response, url, null);
  if (request.headers.authorization) {
    // A token with `manage` may invite members, too.
    const invited = /^\/v2\/members\/(\d+)\/invitations$/.exec(url.pathname);
    if (invited && request.method === 'POST' && request.headers.authorization === `Bearer ${adminToken}`) return send(response, 201, { data: invite(Number(invited[1]), request) });
    return forward(request, response, url, null);
  }
  const key = cookieOf(request);
  const session = key ? sessions.get(key) : undefined;
  const member = session ? await memberOf(session.memberId) : undefined;
  const current = session && member ? { member, session, key } : null;
  if (current) session.used = Date.now();
  const open = /^(POST \/v2\/session|(GET|POST) \/v2\/invitation)$/.test(`${request.method} ${url.pathname}`);
  if (current && !open && !['GET', 'HEAD', 'OPTIONS'].includes(request.method) && request.headers['x-csrf-token'] !== session.csrf) {
    return send(response, 403, failure('FORBIDDEN', 'the header x-csrf-token is missing or wrong'));
  }
  const isSessionApi = /^\/v2\/(session|sessions|invitation)(\/|$)/.test(url.pathname) || /^\/v2\/members\/\d+\/invitations$/.test(url.pathname);
  if (isSessionApi) return (await sessionApi(request, response, url, current)) ?? undefined;
  return forward(request, response, url, current);
}

async function prepare() {
  const [email, password] = (options.owner ?? '').split(':');
  if (options.pass) return;
  if (email) {
    const known = (await members()).find((member) => member.email === email);
    const member = known ?? (await api('POST', '/v2/members', { name: email.split('@')[0], email, role: 'owner' })).body.data;
    passwords.set(member.id, hash(password));
  } else {
    const first = options.first ?? secret();
    invitations.set(first, { memberId: null, expires: Date.now() + 72 * 3600e3 });
    console.log(`Make the owner: http://127.0.0.1:${port}/admin/invitation#${first}`);
  }
}

const server = http.createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error);
    if (!response.headersSent) send(response, 500, failure('INTERNAL', 'the development server failed'));
  });
});
await prepare();
server.listen(port, '127.0.0.1', () => console.log(`The dashboard is at http://127.0.0.1:${port}/admin/`));
