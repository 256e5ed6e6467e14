// Who asks: the key of the Authorization header, or else the cookie of a browser that has signed in. A page of another origin can make a
// browser send its cookie, so with a cookie every request that may change something has to show that a page of this service sent it.
import type { FastifyRequest } from 'fastify';
import type { KeyRing, Principal } from './key-ring.ts';
import { Problem } from './problem.ts';

/** The caller, and its sign-in; null: a key was sent. */
export interface Identity {
  principal: Principal;
  session: { id: string; expiresAt: string } | null;
}

/** True for a request of a browser that has signed in. */
export function isOfPage({ identity }: FastifyRequest): boolean {
  return identity !== null && identity.session !== null;
}

/** The header that a page of another origin cannot send without being allowed to. */
export const REQUEST_HEADER = 'x-holdfast-request';

const BEARER = /^bearer +([^\s]+) *$/i;
const READING = new Set(['GET', 'HEAD']);

/** The name of the cookie. It has the port that the browser sees in it, because browsers send a cookie to every port of its host. */
export function cookieName({ headers, socket }: FastifyRequest): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1] ?? socket.localPort ?? 0;
  return `holdfast_${port}`;
}

/** The caller; null: a request without a valid key. Throws `Problem` 403 for a request that another site made a browser send. */
export function identify(request: FastifyRequest, keys: KeyRing): Identity | null | Promise<Identity | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const key = BEARER.exec(authorization)?.[1];
    const found = key === undefined ? null : keys.find(key);
    return found instanceof Promise ? found.then(withKey) : withKey(found);
  }
  const cookie = readCookie(request);
  return cookie === undefined ? null : identifySession(request, keys, cookie);
}

function withKey(principal: Principal | null): Identity | null {
  return principal === null ? null : { principal, session: null };
}

async function identifySession(request: FastifyRequest, keys: KeyRing, cookie: string): Promise<Identity | null> {
  const found = await keys.findSession(cookie);
  if (found === null) return null;
  if (!READING.has(request.method)) refuseOtherSites(request);
  const { principal, sessionId, expiresAt } = found;
  return { principal, session: { id: sessionId, expiresAt } };
}

function readCookie(request: FastifyRequest): string | undefined {
  const name = `${cookieName(request)}=`;
  const cookies = request.headers.cookie?.split(';').map((each) => each.trim()) ?? [];
  return cookies.find((each) => each.startsWith(name))?.slice(name.length);
}

/** True for a request of a page of another origin: browsers say so in a header that no page can change. */
export function isOfOtherOrigin({ origin, host }: FastifyRequest['headers']): boolean {
  return origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host);
}

/** Throws unless a page of this service has sent the request. */
function refuseOtherSites({ headers }: FastifyRequest): void {
  const site = headers['sec-fetch-site'];
  if (headers[REQUEST_HEADER] !== '1') {
    throw refusal(`A request with a cookie, other than GET, needs the header ${REQUEST_HEADER}: 1.`);
  }
  if (isOfOtherOrigin(headers) || (site !== undefined && site !== 'same-origin')) {
    throw refusal('A request with a cookie, other than GET, must come from a page of this service.');
  }
}

function refusal(detail: string): Problem {
  return new Problem('forbidden', `${detail} Send an API key as Authorization: Bearer <key> instead.`);
}
