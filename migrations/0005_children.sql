-- Subagents: sessions that a session has spawned to do something for it, and how their ends come back to it.

alter table holdfast.sessions
  -- everybody above it in its family, the top first; empty for sessions that nobody spawned. Never changes.
  add column ancestors uuid[] not null default '{}',
  -- the run that it is working on for somebody above it; null: none. It is set as long as the run's row says `running`, so whoever
  -- holds this row knows it without looking there.
  add column run_id uuid,
  -- of the runs that it has spawned, those that have not ended
  add column live_children integer not null default 0,
  -- at the top of a family: of all runs below it, those that have not ended
  add column live_descendants integer not null default 0,
  -- set: it takes no part any more. Nothing is announced to it; its rows stay.
  add column archived_at timestamptz;

alter table holdfast.subagent_runs
  -- run: one task; session: it may be given another when it is done
  add column mode text not null default 'run' check (mode in ('run', 'session')),
  -- why it did not end well
  add column error text,
  -- what its parent was answering when it was spawned: the answer to its announcement goes the same way
  add column route text not null default '',
  add column deliver json,
  add column input_tokens bigint not null default 0,
  add column output_tokens bigint not null default 0,
  -- the inbox row that its end became, and whose inbox that is; null: nobody was left to hear of it
  add column announcement_id uuid,
  add column announced_to uuid;

create index subagent_runs_due on holdfast.subagent_runs (deadline_at) where status = 'running' and deadline_at is not null;

-- Sessions that have ended their turn to wait for something, with the time at which they stop waiting. A row counts as long as
-- nobody has claimed the session since (`epoch`).
create table holdfast.yields (
  session_id uuid primary key,
  turn_id uuid not null,
  epoch bigint not null,
  seconds integer not null,
  due_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);

create index yields_due on holdfast.yields (due_at);
