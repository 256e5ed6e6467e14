// An MCP server over HTTP that asks for a login by OAuth, with the authorization server of the
// earlier line of the protocol's library. Refresh tokens are used once: a second use counts as
// theft, and ends the login.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import type { AuthorizationParams, OAuthServerProvider } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import { getOAuthProtectedResourceMetadataUrl, mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { OAuthClientInformationFull } from '@modelcontextprotocol/sdk/shared/auth.js';
import { onTestFinished } from 'vitest';

export interface OAuthRules {
  /** The lifetime of access tokens. */
  expiresInSeconds: number;
  /** Whether the person allows the access. */
  isAllowed: boolean;
  /** The scopes that the MCP server names to a client without a token. */
  scopes: string[];
}

type Login = { client: string; isEnded: boolean };

class Provider implements OAuthServerProvider {
  readonly rules: OAuthRules;
  renewals = 0;
  readonly #clients = new Map<string, OAuthClientInformationFull>();
  readonly #codes = new Map<string, AuthorizationParams>();
  readonly #access = new Map<string, { login: Login; expiresAt: number }>();
  readonly #refresh = new Map<string, { login: Login; isUsed: boolean }>();

  constructor(rules: OAuthRules) {
    this.rules = rules;
  }

  readonly clientsStore = {
    getClient: (id: string) => this.#clients.get(id),
    // The router has given it an id.
    registerClient: (client: Omit<OAuthClientInformationFull, 'client_id' | 'client_id_issued_at'>) => {
      const full = client as OAuthClientInformationFull;
      this.#clients.set(full.client_id, full);
      return full;
    },
  };

  async authorize(_client: OAuthClientInformationFull, params: AuthorizationParams, response: ServerResponse) {
    const back = new URL(params.redirectUri);
    if (params.state !== undefined) back.searchParams.set('state', params.state);
    const code = randomUUID();
    this.#codes.set(code, params);
    if (this.rules.isAllowed) back.searchParams.set('code', code);
    else back.searchParams.set('error', 'access_denied');
    response.writeHead(302, { location: back.href }).end();
  }

  async challengeForAuthorizationCode(_client: OAuthClientInformationFull, code: string) {
    const params = this.#codes.get(code);
    if (params === undefined) throw new InvalidGrantError('the code is not known');
    return params.codeChallenge;
  }

  async exchangeAuthorizationCode(client: OAuthClientInformationFull, code: string) {
    if (!this.#codes.delete(code)) throw new InvalidGrantError('the code is not known');
    return this.#issue({ client: client.client_id, isEnded: false });
  }

  async exchangeRefreshToken(_client: OAuthClientInformationFull, token: string) {
    const found = this.#refresh.get(token);
    if (found === undefined) throw new InvalidGrantError('the token is not known');
    if (found.isUsed) found.login.isEnded = true;
    if (found.login.isEnded) throw new InvalidGrantError('the login has ended');
    found.isUsed = true;
    this.renewals += 1;
    return this.#issue(found.login);
  }

  async verifyAccessToken(token: string) {
    const found = this.#access.get(token);
    if (found === undefined || found.login.isEnded || found.expiresAt * 1000 < Date.now())
      throw new InvalidTokenError('the token is not valid');
    return { token, clientId: found.login.client, scopes: [], expiresAt: found.expiresAt };
  }

  /** From now on no token counts. */
  endAll(): void {
    for (const { login } of this.#access.values()) login.isEnded = true;
  }

  /** From now on no access token counts, but those that are made later. */
  expireAll(): void {
    this.#access.clear();
  }

  #issue(login: Login) {
    const [access, refresh] = [randomUUID(), randomUUID()];
    const { expiresInSeconds } = this.rules;
    this.#access.set(access, { login, expiresAt: Math.ceil(Date.now() / 1000) + expiresInSeconds });
    this.#refresh.set(refresh, { login, isUsed: false });
    return { access_token: access, token_type: 'bearer', expires_in: expiresInSeconds, refresh_token: refresh };
  }
}

/** Starts it, until the end of the test. */
export async function startOAuthServer(rules: Partial<OAuthRules> = {}) {
  const provider = new Provider({ expiresInSeconds: 3600, isAllowed: true, scopes: [], ...rules });
  const app = createMcpExpressApp();
  const http: Server = app.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const url = new URL('/mcp', origin);
  const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
  app.use(mcpAuthRouter({ provider, issuerUrl: new URL(origin), resourceServerUrl: url }));
  app.post(
    '/mcp',
    requireBearerAuth({ verifier: provider, resourceMetadataUrl, requiredScopes: provider.rules.scopes }),
    async (request: IncomingMessage & { body: unknown }, response: ServerResponse) => {
      const server = new McpServer({ name: 'private', version: '1.0.0' });
      server.registerTool('whoami', { description: 'says who' }, () => ({
        content: [{ type: 'text', text: 'you are known' }],
      }));
      // Without sessions.
      const transport = new StreamableHTTPServerTransport();
      await server.connect(transport as Parameters<typeof server.connect>[0]);
      await transport.handleRequest(request, response, request.body);
    },
  );
  return { url: url.href, provider };
}
