-- What a person has paused: the sessions that all given columns fit. No session of it is claimed.
create table holdfast.pauses (
  id uuid primary key,
  lane text,
  agent_id text,
  session_key text,
  reason text,
  paused_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  constraint pauses_scope unique nulls not distinct (lane, agent_id, session_key)
);
