-- MCP servers as they were reached last, and the tools that they have. A turn is opened with these rows, so that a server that is away changes no
-- prompt. One process at a time asks a server for its tools.

create table holdfast.mcp_servers (
  name text primary key,
  state text not null default 'new' check (state in ('new', 'connected', 'lost')),
  -- since when the state is so
  changed_at timestamptz not null default clock_timestamp(),
  -- why it was not reached; null: it was
  error text,
  -- what it says of itself: name, version, protocol; null: it was never reached
  info json,
  -- of its tools; null: they were never listed
  tools_sha256 text,
  listed_at timestamptz,
  -- when it was asked last, with whatever result
  checked_at timestamptz,
  due_at timestamptz not null default clock_timestamp(),
  -- a process asks it until then at the latest
  claimed_until timestamptz
);

create table holdfast.mcp_tools (
  server text not null references holdfast.mcp_servers (name) on delete cascade,
  name text not null,
  -- what the server says of it: description, input schema, hints
  definition json not null,
  sha256 text not null,
  seen_at timestamptz not null default clock_timestamp(),
  -- what it was before it changed last; null: it has not changed
  previous json,
  changed_at timestamptz,
  primary key (server, name)
);
