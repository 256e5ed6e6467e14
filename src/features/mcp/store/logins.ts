// Logins at MCP servers. One process at a time renews the tokens of one: a server that takes a
// renewal twice for theft ends the login.
import { literalQuery } from '../../../database/literal-query.ts';

/** The longest that a process may take to renew tokens. */
const CLAIM = '60 seconds';

/** What the protocol's library stores of the registration, and what the next login asks for. */
export interface StoredClient {
  /** The scope of the tokens with what the server has asked for since. */
  lackedScope?: string;
}

export interface StoredLogin {
  client: StoredClient;
  tokens: { access_token: string; refresh_token?: string | undefined; scope?: string | undefined };
  /** Null: not known. */
  expiresAt: Date | null;
  version: number;
}

const COLUMNS = `client, tokens, expires_at as "expiresAt", version`;

export const readMcpLogin = literalQuery({
  name: 'read-mcp-login',
  purpose: 'Read the login at a server.',
  text: `select ${COLUMNS} from holdfast.mcp_logins where server = $server and url = $url`,
  values: (of: { server: string; url: string }) => of,
  answer: ([login]: StoredLogin[]) => login ?? null,
});

export const claimMcpLogin = literalQuery({
  name: 'claim-mcp-login',
  purpose:
    'Claim a login to renew its tokens. Answers whether it was claimed: not if another process has renewed them or does so now.',
  locking: 'The login.',
  text: `update holdfast.mcp_logins set claimed_until = clock_timestamp() + interval '${CLAIM}'
where server = $server and version = $version and (claimed_until is null or claimed_until < clock_timestamp())
returning true as "isClaimed"`,
  values: (of: { server: string; version: number }) => of,
  answer: (rows: { isClaimed: true }[]) => rows.length > 0,
});

export const storeMcpLogin = literalQuery({
  name: 'store-mcp-login',
  purpose: 'Store a login, or the renewed tokens of one.',
  locking: 'The login.',
  text: `insert into holdfast.mcp_logins as l (server, url, client, tokens, expires_at)
values ($server, $url, $client::json, $tokens::json, clock_timestamp() + $expiresInSeconds::float8 * interval '1 second')
on conflict (server) do update set url = excluded.url, client = excluded.client, tokens = excluded.tokens,
  expires_at = excluded.expires_at, version = l.version + 1, claimed_until = null`,
  values: ({
    client,
    tokens,
    ...login
  }: Pick<StoredLogin, 'client' | 'tokens'> & { server: string; url: string; expiresInSeconds: number | null }) => ({
    ...login,
    client: JSON.stringify(client),
    tokens: JSON.stringify(tokens),
  }),
});

export const releaseMcpLogin = literalQuery({
  name: 'release-mcp-login',
  purpose: 'Leave a login that was claimed to another process.',
  locking: 'The login.',
  text: `update holdfast.mcp_logins set claimed_until = null where server = $server and version = $version`,
  values: (of: { server: string; version: number }) => of,
});

export const noteLackedScope = literalQuery({
  name: 'note-mcp-lacked-scope',
  purpose: 'Note the scope that the next login at a server asks for.',
  locking: 'The login.',
  text: `update holdfast.mcp_logins set client = (client::jsonb || jsonb_build_object('lackedScope', $scope::text))::json
where server = $server and version = $version`,
  values: (of: { server: string; version: number; scope: string }) => of,
});

export const deleteMcpLogin = literalQuery({
  name: 'delete-mcp-login',
  purpose: 'Delete a login whose tokens the server no longer accepts.',
  locking: 'The login.',
  text: `delete from holdfast.mcp_logins where server = $server and version = $version`,
  values: (of: { server: string; version: number }) => of,
});
