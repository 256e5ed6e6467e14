// Logging in at MCP servers by OAuth: the flow is that of the protocol's library. Tokens are rows,
// which any worker uses and one at a time renews.
import {
  auth,
  computeScopeUnion,
  type AuthProvider,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { pause } from '../../clock.ts';
import type { McpServerSettings } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { NotSentError } from './stdio-transport.ts';
import {
  claimMcpLogin,
  deleteMcpLogin,
  noteLackedScope,
  readMcpLogin,
  releaseMcpLogin,
  storeMcpLogin,
  type StoredClient,
  type StoredLogin,
} from './store/logins.ts';

/** Tokens are renewed so long before they end. */
const EARLY_MS = 30_000;
/**
 * The longest that a process waits for another one that renews tokens, and the time between two
 * checks.
 */
const WAIT_MS = 60_000;
const CHECK_MS = 100;

/** Only a person can log in. */
function loginNeeded(server: string): NotSentError {
  return new NotSentError(`login needed: run "holdfast mcp login ${server}"`);
}

/** The server that is logged in at. */
export interface LoginPlace {
  database: Database;
  server: string;
  /** Its address. */
  url: string;
  oauth: OAuthSettings;
}

export type OAuthSettings = Pick<NonNullable<McpServerSettings['auth']>, 'clientId' | 'clientSecret' | 'scope'>;

/** The tokens allow less than the server asks for; only a person can allow more. */
export class LackedScopeError extends Error {}

export interface LoginProvider extends AuthProvider {
  /**
   * After a request whose tokens lack a scope. Resolves if there are other tokens by now; else
   * rejects, and the next login asks for the scope.
   */
  replaceScope(scope: string | undefined): Promise<void>;
}

/**
 * Gives the requests of a connection their token. Rejects with `NotSentError`: what has no token is
 * not sent.
 */
export function createAuthProvider(place: LoginPlace): LoginProvider {
  const { database, server, oauth } = place;
  let login: StoredLogin | null = null;
  return {
    async token() {
      login ??= await readMcpLogin(database, place);
      if (login === null) throw loginNeeded(server);
      if (login.expiresAt !== null && login.expiresAt.getTime() - Date.now() < EARLY_MS)
        login = await renew(place, login);
      return login.tokens.access_token;
    },
    async onUnauthorized() {
      if (login !== null) login = await renew(place, login);
    },
    async replaceScope(scope) {
      const used = login;
      login = await readMcpLogin(database, place);
      if (used === null || login?.version !== used.version) return;
      const { client, tokens, version } = used;
      const all = computeScopeUnion(client.lackedScope, tokens.scope, scope);
      if (all !== undefined) await noteLackedScope(database, { server, version, scope: all });
      // The next request reads the login that a person has made in the meantime.
      login = null;
      const asked = `the server asks for ${scope === undefined ? 'a wider scope' : `the scope "${scope}"`}`;
      const first = oauth.scope === undefined ? 'run' : `add it to mcp.servers.${server}.auth.scope and run`;
      throw new LackedScopeError(`login needed: ${asked}; ${first} "holdfast mcp login ${server}"`);
    },
  };
}

/** What the tokens of the login lack, with what they have; undefined: nothing. */
export async function readLackedScope(place: LoginPlace): Promise<string | undefined> {
  return (await readMcpLogin(place.database, place))?.client.lackedScope;
}

/** The login with tokens that are newer than those. */
async function renew(place: LoginPlace, old: StoredLogin): Promise<StoredLogin> {
  for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += CHECK_MS) {
    if (await claimMcpLogin(place.database, { server: place.server, version: old.version })) {
      await renewClaimed(place, old);
    } else await pause(CHECK_MS);
    const login = await readMcpLogin(place.database, place);
    if (login === null) throw loginNeeded(place.server);
    if (login.version !== old.version) return login;
  }
  throw new NotSentError(`another worker has not renewed the login at ${place.server} within ${WAIT_MS / 1000} s`);
}

async function renewClaimed(place: LoginPlace, old: StoredLogin): Promise<void> {
  const { database, server, url } = place;
  const of = { server, version: old.version };
  const provider = new OAuthFlow(place, old);
  try {
    const end = await auth(provider, { serverUrl: url });
    if (end === 'AUTHORIZED') return;
  } catch (error) {
    await releaseMcpLogin(database, of);
    throw new NotSentError(`the login cannot be renewed: ${(error as Error).message}`);
  }
  await deleteMcpLogin(database, of);
  throw loginNeeded(server);
}

/** What the library keeps of a registration. */
interface KnownClient extends StoredClient {
  information?: OAuthClientInformationMixed;
  discovery?: OAuthDiscoveryState;
}

/** One flow: from an address for a person to the tokens, or the renewal of tokens. */
export class OAuthFlow implements OAuthClientProvider {
  readonly redirectUrl: string | undefined;
  /** Where the person logs in, once the flow has come so far. */
  authorizationUrl: URL | undefined;
  readonly #place: LoginPlace;
  readonly #state = crypto.randomUUID();
  readonly #client: KnownClient;
  #tokens: StoredOAuthTokens | undefined;
  #verifier = '';

  constructor(place: LoginPlace, old: Pick<StoredLogin, 'client' | 'tokens'> | null, redirectUrl?: string) {
    this.#place = place;
    this.#client = { ...old?.client };
    this.#tokens = old?.tokens as StoredOAuthTokens | undefined;
    this.redirectUrl = redirectUrl ?? 'http://127.0.0.1/';
  }

  get clientMetadata() {
    const { scope, clientSecret } = this.#place.oauth;
    return {
      client_name: 'Holdfast',
      redirect_uris: [this.redirectUrl ?? ''],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: clientSecret === undefined ? 'none' : 'client_secret_post',
      ...(scope === undefined ? {} : { scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  clientInformation(): OAuthClientInformationMixed | undefined {
    const { clientId, clientSecret } = this.#place.oauth;
    if (clientId === undefined) return this.#client.information;
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  }

  saveClientInformation(information: OAuthClientInformationMixed): void {
    this.#client.information = information;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#client.discovery;
  }

  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#client.discovery = discovery;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#tokens;
  }

  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    const { database, server, url } = this.#place;
    this.#tokens = tokens;
    const expiresInSeconds = tokens.expires_in ?? null;
    await storeMcpLogin(database, { server, url, client: this.#client, tokens, expiresInSeconds });
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): void {
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined;
    if (scope === 'all' || scope === 'client') delete this.#client.information;
    if (scope === 'all' || scope === 'discovery') delete this.#client.discovery;
  }
}
