// A login at an MCP server: the library finds the authorization server by the answer of the MCP server to a request without a token, registers this
// service there if it has no client id, and exchanges what the browser brings for tokens.
import { StreamableHTTPClientTransport, Client, UnauthorizedError } from '@modelcontextprotocol/client';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import { OAuthFlow, type LoginPlace } from './oauth.ts';

/** `browse` has a person log in at an address; resolves with the parameters that the browser came back with. Rejects when the login was refused. */
export async function completeLogin(
  place: LoginPlace,
  redirectUrl: string,
  browse: (address: URL) => Promise<URLSearchParams>,
): Promise<void> {
  const flow = new OAuthFlow(place, null, redirectUrl);
  const transport = new StreamableHTTPClientTransport(new URL(place.url), { authProvider: flow });
  const client = new Client({ name: 'holdfast', version: holdfastVersion() });
  try {
    await client.connect(transport);
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
  } finally {
    await client.close().catch(() => undefined);
  }
  const { authorizationUrl } = flow;
  if (authorizationUrl === undefined) throw new Error('the server does not ask for a login');
  const answer = await browse(authorizationUrl);
  if (answer.get('state') !== flow.state()) throw new Error('the browser came back from another login');
  if (answer.get('code') === null)
    throw new Error(answer.get('error_description') ?? answer.get('error') ?? 'it brought no code');
  await transport.finishAuth(answer);
}
