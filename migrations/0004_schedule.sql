-- The schedule: crons whose slots are fired once across any number of schedulers, and heartbeats with the reason of every poll that was
-- left out. Everything that happens by the clock is a row before it happens.

alter table holdfast.crons
  drop constraint crons_origin_agent_id_name_key,
  drop constraint crons_origin_check,
  -- config: from the configuration file; api: made by a call; agent: made by an agent's tool, so its words are not trusted
  add constraint crons_origin_check check (origin in ('config', 'api', 'agent')),
  -- counts the changes of everything that a plan is made from; a plan of an older revision fires nothing
  add column revision bigint not null default 0,
  -- the next slot with its stagger: when somebody has to look
  add column due_at timestamptz,
  -- made by the maker, so that making it twice makes one
  add column cause_key text unique,
  -- the id of the notice that it was switched off, as long as it has not been given
  add column notice_id uuid;

drop index holdfast.crons_due;
create index crons_due on holdfast.crons (due_at) where is_enabled and due_at is not null;
create unique index crons_of_config on holdfast.crons (agent_id, name) where origin = 'config';
create index crons_noticed on holdfast.crons (id) where notice_id is not null;

alter table holdfast.cron_fires
  -- of so many slots from this one on, that were passed over for the same reason
  add column slots integer not null default 1,
  add column is_manual boolean not null default false,
  add column created_at timestamptz not null default clock_timestamp();

-- Fires whose run has not been seen to end.
create index cron_fires_running on holdfast.cron_fires (message_id) where status = 'claimed';
create index cron_fires_by_age on holdfast.cron_fires (created_at);

-- One row per agent that is polled: when next, and what earlier looks have found.
create table holdfast.heartbeat_states (
  agent_id text primary key,
  -- the agent's main session
  session_id uuid not null,
  -- the interval that `next_at` was computed with; when the configuration says another, it is computed anew
  every_ms bigint not null,
  next_at timestamptz,
  -- what the gate showed when it was looked at last: only another picture asks the model
  gate_sha256 text,
  gate_checked_at timestamptz,
  -- when each task of HEARTBEAT.md was last part of a poll, epoch milliseconds by name
  tasks json not null default '{}',
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);

create index heartbeat_states_due on holdfast.heartbeat_states (next_at) where next_at is not null;

-- Every poll that was due, with what became of it. The row is there before anything is looked at (`claimed`), so that a poll is made
-- once however many schedulers there are.
create table holdfast.heartbeats (
  id uuid primary key,
  agent_id text not null,
  session_id uuid not null,
  scheduled_for timestamptz not null,
  -- interval, manual
  trigger text not null check (trigger in ('interval', 'manual')),
  status text not null check (status in ('claimed', 'fired', 'skipped')),
  -- why it was left out
  reason text,
  detail text,
  -- what came of a poll that was made: acknowledged, alert, duplicate, failed; null while it runs
  result text check (result in ('acknowledged', 'alert', 'duplicate', 'failed')),
  message_id uuid unique,
  -- who looks, and until when nobody else does
  owner text,
  lease_expires_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  unique (agent_id, scheduled_for)
) with (fillfactor = 80);

create index heartbeats_by_agent on holdfast.heartbeats (agent_id, id desc);
create index heartbeats_claimed on holdfast.heartbeats (lease_expires_at) where status = 'claimed';
