// A login at an MCP server: the answer of the server to a request without a token says where its
// authorization server is. There this service is registered if it has no client id, and what the
// browser brings is exchanged for tokens.
import {
  auth,
  Client,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import { given } from '../../core/json.ts';
import { OAuthFlow, readLackedScope, type LoginPlace } from './oauth.ts';

/**
 * `browse` has a person log in at an address; resolves with the parameters that the browser came
 * back with. Rejects when the login was refused.
 */
export async function completeLogin(
  place: LoginPlace,
  redirectUrl: string,
  browse: (address: URL) => Promise<URLSearchParams>,
): Promise<void> {
  const serverUrl = place.url;
  const { resourceMetadataUrl, scope: named } = await readChallenge(serverUrl);
  const scope = place.oauth.scope ?? computeScopeUnion(named, await readLackedScope(place));
  const flow = new OAuthFlow(place, null, redirectUrl);
  await auth(flow, { serverUrl, ...given({ resourceMetadataUrl, scope }) });
  const { authorizationUrl } = flow;
  if (authorizationUrl === undefined) throw new Error('the authorization server names no address for a login');
  const answer = await browse(authorizationUrl);
  if (answer.get('state') !== flow.state()) throw new Error('the browser came back from another login');
  const authorizationCode = answer.get('code');
  if (authorizationCode === null)
    throw new Error(answer.get('error_description') ?? answer.get('error') ?? 'it brought no code');
  const iss = answer.get('iss') ?? undefined;
  await auth(flow, { serverUrl, authorizationCode, ...given({ iss, resourceMetadataUrl }) });
}

type Challenge = ReturnType<typeof extractWWWAuthenticateParams>;

/** How the server asks for a login. */
async function readChallenge(url: string): Promise<Challenge> {
  let challenge: Challenge | undefined;
  const authProvider = {
    token: () => Promise.resolve(undefined),
    onUnauthorized({ response }: { response: Response }) {
      challenge = extractWWWAuthenticateParams(response);
      return Promise.reject(new UnauthorizedError());
    },
  };
  const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider });
  const client = new Client({ name: 'holdfast', version: holdfastVersion() });
  try {
    await client.connect(transport);
    // Some servers connect with any client, and ask for the login at the next request.
    await client.listTools();
  } catch (error) {
    if (challenge === undefined) throw error;
  } finally {
    await client.close().catch(() => undefined);
  }
  if (challenge === undefined) throw new Error('the server does not ask for a login');
  return challenge;
}
