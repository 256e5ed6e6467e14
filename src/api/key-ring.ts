// The API keys that open this API: those of its configuration, and those that were made while it
// ran; and tokens of the latter. A key is known by its SHA-256, which is enough because keys are random and long (G32).
// Stored keys are read together, at most once a second, and only for a request that has one: a
// revoked key opens nothing a second later.
import { hash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isUuid } from '../core/ids.ts';
import type { ApiKeyView } from '../contract/keys.ts';
import { TOKEN_PREFIX, type TokenClaims } from '../core/browser-token.ts';
import { callerOfKey, type KeyRole } from '../core/key-role.ts';
import { EVERYTHING, rootOfKey, rootsOf, type Scope } from '../core/scope.ts';
import type { FastifyRequest } from 'fastify';
import { Problem } from './problem.ts';

/** The caller. */
export interface Principal {
  /**
   * `admin`, or `key:<name>`: what people see, and what budgets count. Keys that have ended may
   * have had the same name.
   */
  name: string;
  /**
   * Whose stored answers and sessions the caller has. A created key shares it with the key that it
   * replaces, and with no other.
   */
  owner: string;
  role: KeyRole;
  /** What it sees, and what belongs to it; null: everything. */
  scope: Scope;
  keySha256: string;
  /** Of a key that was made while the service ran. */
  stored?: Pick<ValidApiKey, 'id' | 'expiresAt' | 'limits'>;
  /** The token that was sent in place of the key. */
  token?: TokenClaims;
}

/** A browser that has signed in. */
export interface SignedIn {
  principal: Principal;
  sessionId: string;
  expiresAt: string;
}

interface FixedKey {
  name: string;
  role: KeyRole;
  key: string;
}

/** A stored key that is valid. */
interface ValidApiKey extends Pick<
  ApiKeyView,
  'id' | 'name' | 'role' | 'expiresAt' | 'agents' | 'sessions' | 'limits'
> {
  sha256: string;
  /** Null: the name of its caller. */
  owner: string | null;
  isUseNoted: boolean;
}

/** A sign-in, found by its cookie. */
export interface WebSession {
  id: string;
  secretSha256: string;
  keySha256: string;
  expiresAt: string;
}

/** Keys and sign-ins that are stored. */
export interface StoredKeys {
  readKeys: () => Promise<ValidApiKey[]>;
  /** Reads the listed sign-ins that exist. */
  readSessions: (ids: readonly string[]) => Promise<WebSession[]>;
  /** Called when a stored key is used, and its use of this minute is not noted yet. */
  onUse: (id: string) => void;
  /** What stored keys begin with. */
  prefix: string;
}

/** Reads a token for browsers, of a stored key; null: this service has not made it. */
export type ReadToken = (token: string) => Promise<TokenClaims | null>;

const NOTHING_STORED: StoredKeys = {
  readKeys: () => Promise.resolve([]),
  readSessions: () => Promise.resolve([]),
  onUse: () => undefined,
  prefix: '',
};

export interface KeyRingOptions {
  fixed: readonly FixedKey[];
  /** Absent: only the fixed keys open the API. */
  stored?: StoredKeys | undefined;
  readToken?: ReadToken | undefined;
  nowMs?: () => number;
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

const GENERATION_CHARS = 16;

/** The mark of a key's text in its tokens, which says nothing about the text. */
export function generationOf(keySha256: string): string {
  return hashSecret(keySha256).slice(0, GENERATION_CHARS);
}

/** For this long, a key or a sign-in that was read is assumed to be unchanged. */
const FRESH_MS = 1_000;
/**
 * For this long, a key that was not found is assumed to be wrong: it may have been created since.
 */
const UNKNOWN_MS = 100;
/** The maximum of cached sign-ins, and of those that are read together with a requested one. */
const SESSIONS_MAX = 1_000;
const SESSIONS_READ_MAX = 100;
/** A sign-in is read together with others for this long after its last request. */
const IN_USE_MS = 60_000;
const COOKIE = /^([0-9a-f-]{36})\.([\w-]{43})$/;

export class KeyRing {
  readonly #store: StoredKeys;
  readonly #readToken: ReadToken | undefined;
  #fixed: Map<string, Principal>;
  #stored: { keys: Map<string, ValidApiKey>; readAtMs: number } | null = null;
  #reading: Promise<Map<string, ValidApiKey>> | null = null;
  readonly #sessions: LRUCache<string, WebSession>;
  /**
   * The sign-ins of open pages: when one of them is read again, all are, so that any number of
   * pages cost one read a second.
   */
  readonly #inUse: LRUCache<string, true>;
  #sessionsReading: { ids: readonly string[]; found: Promise<WebSession[]> } | null = null;
  #changes = 0;
  readonly #nowMs: () => number;

  constructor({ fixed, stored = NOTHING_STORED, readToken, nowMs = Date.now }: KeyRingOptions) {
    this.#store = stored;
    this.#readToken = readToken;
    this.#nowMs = nowMs;
    this.#fixed = indexPrincipals(fixed);
    this.#sessions = new LRUCache({ max: SESSIONS_MAX, ttl: FRESH_MS });
    this.#inUse = new LRUCache({ max: SESSIONS_READ_MAX, ttl: IN_USE_MS });
  }

  /** Whose key it is, or null. A promise only where the database has to be asked. */
  find(key: string): Principal | null | Promise<Principal | null> {
    const keySha256 = hashSecret(key);
    const fixed = this.#fixed.get(keySha256);
    if (fixed !== undefined) return fixed;
    return key.startsWith(this.#store.prefix) ? this.findStored(keySha256) : null;
  }

  /**
   * Who sends it as a bearer: as `find`, or the key of a token with what the token leaves of it. A
   * token opens the API only here: no browser signs in with it.
   */
  findBearer(text: string): Principal | null | Promise<Principal | null> {
    return this.find(text) ?? (text.startsWith(TOKEN_PREFIX) ? this.#findToken(text) : null);
  }

  async #findToken(text: string): Promise<Principal | null> {
    const token = (await this.#readToken?.(text)) ?? null;
    if (token === null || token.expiresAtMs <= this.#nowMs()) return null;
    const stored = await this.#findKey((keys) => keys.values().find(({ id }) => id === token.key));
    if (stored === undefined || generationOf(stored.sha256) !== token.generation) return null;
    const principal = await this.findStored(stored.sha256);
    if (principal === null) return null;
    // Its stored answers are not those of the key, nor of tokens for other sessions.
    const owner = `${principal.owner} token ${token.sessions}`;
    return { ...principal, owner, role: token.may.includes('send') ? 'operator' : 'viewer', token };
  }

  /** Whether a token and its key are still valid; true for a key. */
  async isValid({ token, keySha256 }: Principal): Promise<boolean> {
    if (token === undefined) return true;
    return token.expiresAtMs > this.#nowMs() && (await this.findStored(keySha256)) !== null;
  }

  /** The principal of the key with this SHA-256, while it is valid. */
  async findStored(keySha256: string): Promise<Principal | null> {
    const fixed = this.#fixed.get(keySha256);
    if (fixed !== undefined) return fixed;
    const stored = await this.#findKey((keys) => keys.get(keySha256));
    if (stored === undefined || (stored.expiresAt !== null && Date.parse(stored.expiresAt) <= this.#nowMs()))
      return null;
    if (!stored.isUseNoted) {
      stored.isUseNoted = true;
      this.#store.onUse(stored.id);
    }
    const name = callerOfKey(stored.name);
    const owner = stored.owner ?? name;
    const roots = rootsOf(stored);
    return { name, owner, role: stored.role, scope: roots && [...roots, rootOfKey(owner)], keySha256, stored };
  }

  /** Looks for a stored key, and again if it may have been made since the keys were read. */
  async #findKey(pick: (keys: Map<string, ValidApiKey>) => ValidApiKey | undefined): Promise<ValidApiKey | undefined> {
    return pick(await this.#storedKeys(FRESH_MS)) ?? pick(await this.#storedKeys(UNKNOWN_MS));
  }

  /**
   * Whose cookie it is; null: it is none of ours, its session has ended, or its key is not valid
   * any more.
   */
  async findSession(cookie: string): Promise<SignedIn | null> {
    const [, id = '', secret = ''] = COOKIE.exec(cookie) ?? [];
    if (!isUuid(id)) return null;
    const session = this.#sessions.get(id) ?? (await this.#readSession(id));
    if (session === undefined || Date.parse(session.expiresAt) <= this.#nowMs()) return null;
    if (!isSame(hashSecret(secret), session.secretSha256)) return null;
    this.#inUse.set(id, true);
    const principal = await this.findStored(session.keySha256);
    return principal === null ? null : { principal, sessionId: id, expiresAt: session.expiresAt };
  }

  /**
   * The configuration has other keys now: a removed key opens nothing any more, nor do the cookies
   * that were issued for it.
   */
  replaceFixed(keys: readonly FixedKey[]): void {
    this.#fixed = indexPrincipals(keys);
  }

  /** Discards the cache: a key or a sign-in was changed here. */
  forget(): void {
    this.#stored = null;
    // A read that is in flight is discarded, too.
    this.#reading = null;
    this.#sessionsReading = null;
    this.#changes += 1;
    this.#sessions.clear();
  }

  async #readSession(id: string): Promise<WebSession | undefined> {
    if (this.#sessionsReading?.ids.includes(id) !== true) this.#sessionsReading = this.#readWith(id);
    return (await this.#sessionsReading.found).find((session) => session.id === id);
  }

  /** Reads a sign-in, and with it those that are in use. */
  #readWith(id: string): { ids: readonly string[]; found: Promise<WebSession[]> } {
    const ids = [...new Set([id, ...this.#inUse.keys()])];
    const changes = this.#changes;
    const read = async (): Promise<WebSession[]> => {
      try {
        const found = await this.#store.readSessions(ids);
        if (changes === this.#changes) for (const session of found) this.#sessions.set(session.id, session);
        return found;
      } finally {
        if (this.#sessionsReading === reading) this.#sessionsReading = null;
      }
    };
    const reading = { ids, found: read() };
    return reading;
  }

  /** The stored keys as they were at most `ageMsMax` ago. */
  async #storedKeys(ageMsMax: number): Promise<Map<string, ValidApiKey>> {
    const stored = this.#stored;
    if (stored !== null && this.#nowMs() - stored.readAtMs < ageMsMax) return stored.keys;
    const readAtMs = this.#nowMs();
    const reading = (this.#reading ??= this.#store
      .readKeys()
      .then((keys) => new Map(keys.map((key) => [key.sha256, key]))));
    try {
      const keys = await reading;
      if (this.#reading === reading) this.#stored = { keys, readAtMs };
      return keys;
    } finally {
      if (this.#reading === reading) this.#reading = null;
    }
  }
}

function indexPrincipals(keys: readonly FixedKey[]): Map<string, Principal> {
  return new Map(
    keys.map(({ name, role, key }) => {
      const keySha256 = hashSecret(key);
      return [keySha256, { name, owner: name, role, scope: EVERYTHING, keySha256 }];
    }),
  );
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

// Who asks: the key of the Authorization header, or else the cookie of a browser that has signed
// in. A page of another origin can make a browser send its cookie, so with a cookie every request
// that may change something has to show that a page of this service sent it.

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

/**
 * The name of the cookie. It has the port that the browser sees in it, because browsers send a
 * cookie to every port of its host.
 */
export function cookieName({ headers, socket }: FastifyRequest): string {
  const port = /:(\d+)$/.exec(headers.host ?? '')?.[1] ?? socket.localPort ?? 0;
  return `holdfast_${port}`;
}

/**
 * The caller; null: a request without a valid key. Throws `Problem` 403 for a request that another
 * site made a browser send.
 */
export function identify(request: FastifyRequest, keys: KeyRing): Identity | null | Promise<Identity | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const key = BEARER.exec(authorization)?.[1];
    const found = key === undefined ? null : keys.findBearer(key);
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

/**
 * True for a request of a page of another origin: browsers say so in a header that no page can
 * change.
 */
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
