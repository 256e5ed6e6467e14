-- Requests of agents to run a tool call that a rule holds back. What was shown is what may run: `what_sha256` is of the tool, its input and where it
-- runs. The row of the call in the ledger says whether it still waits.
create table holdfast.approvals (
  id uuid primary key,
  session_id uuid not null,
  turn_id uuid not null,
  step integer not null,
  ordinal integer not null,
  call_id text not null,
  tool text not null,
  input json not null,
  folder text not null,
  what_sha256 text not null,
  reasons json not null,
  status text not null default 'open',
  requested_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  note text,
  is_sent boolean not null default false,
  unique (turn_id, step, ordinal)
);
create index approvals_open on holdfast.approvals (id) where status = 'open';
create index approvals_given on holdfast.approvals (session_id, what_sha256) where status = 'approved';
