-- API keys that people make while the service runs, sign-ins of browsers, and the log of changes. No secret is stored, only its SHA-256 in
-- hexadecimal: keys, cookies and codes are random and long, so nothing more is needed.

create table holdfast.api_keys (
  id uuid primary key,
  name text not null,
  role text not null check (role in ('viewer', 'operator', 'admin')),
  sha256 text not null unique,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- null: it never ends
  expires_at timestamptz,
  -- exact to a minute; null: it was never used
  last_used_at timestamptz,
  -- null: it is valid
  revoked_at timestamptz
);

-- A name says whose key it is, in budgets and in the log.
create unique index api_keys_live on holdfast.api_keys (name) where revoked_at is null;

-- A browser that has signed in. It has the role of its key, as long as that is valid.
create table holdfast.web_sessions (
  id uuid primary key,
  secret_sha256 text not null,
  key_sha256 text not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
);

create index web_sessions_of_keys on holdfast.web_sessions (key_sha256);
create index web_sessions_expiry on holdfast.web_sessions (expires_at);

-- For one sign-in each; the row is deleted with its use.
create table holdfast.sign_in_codes (
  sha256 text primary key,
  key_sha256 text not null,
  expires_at timestamptz not null
);

-- Who has changed what. The row is written before the change, and its outcome after it.
create table holdfast.audit (
  id uuid primary key,
  at timestamptz not null default clock_timestamp(),
  -- admin, or key:<name>
  principal text not null,
  role text not null,
  -- the name of the operation in the OpenAPI document
  action text not null,
  -- the path, with the id of what was made
  target text not null,
  reason text,
  request_id text not null,
  -- ok, or the code of the problem; null: the process ended before it could be written
  outcome text
);

create index audit_by_principal on holdfast.audit (principal, id desc);
create index audit_by_action on holdfast.audit (action, id desc);
