-- What an agent shows beside a session: one HTML page, replaced by the next one.

create table holdfast.canvases (
  session_id uuid primary key,
  title text,
  -- null: it was cleared
  html text,
  -- the turn that changed it last, and the keys of that turn's calls that did: a call that is made again after a crash changes nothing
  turn_id uuid not null,
  call_keys text[] not null,
  updated_at timestamptz not null default clock_timestamp()
);
