-- Logins at MCP servers by OAuth. Tokens are secrets: nothing that the API answers reads this table.

create table holdfast.mcp_logins (
  server text primary key,
  -- the address that the tokens are for: with another one, the login does not count
  url text not null,
  -- how this service is registered there, and what was found out about the authorization server
  client json not null,
  tokens json not null,
  -- when the access token ends; null: the server does not say
  expires_at timestamptz,
  -- raised with each write, so that tokens are renewed once
  version integer not null default 1,
  -- a process renews the tokens until then at the latest
  claimed_until timestamptz
);
