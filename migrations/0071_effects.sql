-- What the end of a turn leaves to be done beside its own session: a row that is carried out once, and deleted by the transaction that does so.

create table holdfast.effects (
  -- made by the process, so ids are in the order of the ends
  id uuid primary key,
  session_id uuid not null references holdfast.sessions (id) on delete cascade,
  kind text not null,
  payload json not null,
  -- there is one effect for each
  cause text not null unique,
  created_at timestamptz not null default clock_timestamp()
);

create index effects_of_sessions on holdfast.effects (session_id);
