-- The memory of Holdfast. Forward only; every name is schema-qualified because BullMQ may live in the same database.
--
-- Four rules hold the layout together:
--   1. `sessions` is the hot row: every write of a turn locks it and checks its epoch, every accept takes its next number
--      from it. It has no index beyond its keys, so each update is heap-only. What waits is counted in it, because a
--      statement that waited for its lock sees the row anew, but the other tables as they were when it began.
--   2. `doorbells` holds one row per session that has work, and only then: the queue position. Reconciling reads nothing else.
--   3. Rows of a turn have no foreign keys: the statement that writes them holds the session row that they belong to, and a key
--      would look it up again for each of them.
--   4. What the model said or will hear is `json`, not `jsonb`: bytes, key order and escaped NULs survive.

create table holdfast.sessions (
  id uuid primary key,
  key text not null unique,
  agent_id text not null,
  -- main, direct, group, subagent, cron, heartbeat: decides prompt mode and history limit
  kind text not null,
  lane text not null,
  parent_id uuid,
  label text,
  channel text,
  -- overrides of the configuration; null: not overridden
  queue_mode text,
  queue_debounce_ms integer,
  queue_cap integer,
  queue_drop text,
  model text,
  thinking text,
  -- the lock: who may run the session, its fencing number, until when (database time)
  owner text,
  epoch bigint not null default 0,
  lease_expires_at timestamptz,
  -- the open turn, if there is one; it stays here when its worker dies
  turn_id uuid,
  -- the inbox: last number given, and how many wait
  inbox_seq bigint not null default 0,
  waiting integer not null default 0,
  -- the transcript: which one (a reset begins the next), last entry number, leaf of the active path, and a counter that
  -- changes whenever entries already written change their state, so that a worker knows what it may keep in memory
  transcript_no integer not null default 1,
  entry_seq bigint not null default 0,
  leaf_seq bigint,
  transcript_version bigint not null default 0,
  -- control: stop the open turn for this reason; the next prompt carries the abort hint
  stop_reason text,
  was_aborted boolean not null default false,
  last_event_text text,
  delivery_seq bigint not null default 0,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  context_tokens bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 60, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02);

-- One row per session that has work: messages that wait, or an open turn. The reconciler rings again for rows whose ring
-- has faded and that nobody holds.
create table holdfast.doorbells (
  session_id uuid primary key,
  lane text not null,
  -- not before: debounce, or a retry that the provider asked to wait for
  due_at timestamptz not null default now(),
  rung_at timestamptz not null default now(),
  -- the number of the last ring; makes the ids of jobs deterministic, and is never used twice in a session
  rings bigint not null
) with (fillfactor = 60, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02);

create table holdfast.inbox (
  id uuid primary key,
  session_id uuid not null,
  seq bigint not null,
  -- message, announcement, cron, heartbeat, followup, batch
  kind text not null,
  status text not null default 'waiting'
    check (status in ('waiting', 'claimed', 'answered', 'silent', 'failed', 'cancelled', 'dropped')),
  -- the whole body as it was accepted, validated
  body json not null,
  -- where it came from and with whose authority; never changes (rows are batched only when it is equal)
  route text not null,
  mode text,
  turn_id uuid,
  error json,
  -- the session as it was when the message was accepted, kept only for requests with an Idempotency-Key
  answer json,
  -- uniqueness for ever: platform message id per channel, account and chat
  platform_key text unique,
  -- for announcements, ticks and other inputs that have exactly one cause
  cause_key text unique,
  received_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  unique (session_id, seq)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index inbox_waiting on holdfast.inbox (session_id, seq) where status = 'waiting';
create index inbox_turn on holdfast.inbox (turn_id) where turn_id is not null;

-- Every Idempotency-Key, kept for ever, with what its request made. The first answer is stored here, or for a message
-- follows from its row.
create table holdfast.idempotency_keys (
  scope text not null,
  key text not null,
  request_sha256 text not null,
  resource_id uuid,
  status integer,
  response json,
  created_at timestamptz not null default clock_timestamp(),
  primary key (scope, key)
);

create table holdfast.entries (
  session_id uuid not null,
  seq bigint not null,
  id uuid not null,
  transcript_no integer not null,
  parent_seq bigint,
  kind text not null check (kind in ('prompt', 'answer', 'results', 'steer', 'summary')),
  role text not null check (role in ('user', 'assistant')),
  content json not null,
  turn_id uuid not null,
  state text not null default 'active' check (state in ('active', 'pruned', 'compacted', 'hidden')),
  created_at timestamptz not null default clock_timestamp(),
  primary key (session_id, seq)
);

create table holdfast.turns (
  id uuid primary key,
  session_id uuid not null,
  kind text not null,
  lane text not null,
  status text not null
    check (status in ('running', 'completed', 'silent', 'failed', 'aborted', 'timedOut', 'interrupted', 'resuming')),
  -- how often it was claimed, and how many of its workers died: both counted before the work, so that a kill counts
  attempt integer not null default 1,
  deaths integer not null default 0,
  epoch bigint not null,
  worker text not null,
  model text not null,
  thinking text,
  -- the entry that its prompt became, and the last entry before it
  prompt_seq bigint not null,
  system_sha256 text not null,
  tools_sha256 text not null,
  -- model calls begun, charged before each; the retry budget
  calls integer not null default 1,
  retries integer not null default 0,
  steps integer not null default 0,
  reply text,
  error json,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  queued_at timestamptz not null,
  claimed_at timestamptz not null,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

create index turns_by_session on holdfast.turns (session_id, id desc);
create index turns_open on holdfast.turns (status, id) where ended_at is null;
create index turns_bad on holdfast.turns (status, id) where status in ('failed', 'aborted', 'timedOut');

-- Every call of a model, with what it cost. Written with the answer that it gave, or with the failure that it was.
create table holdfast.model_calls (
  turn_id uuid not null,
  call_no integer not null,
  step integer not null,
  epoch bigint not null,
  -- the request is derived from: system and tools of the turn, and the entries up to this one
  until_seq bigint not null,
  status text not null check (status in ('ok', 'failed', 'aborted')),
  stop_reason text,
  response_id text,
  error json,
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  started_at timestamptz not null,
  first_chunk_at timestamptz,
  ended_at timestamptz not null,
  primary key (turn_id, call_no)
);

-- The effect ledger: a row before a tool runs, its outcome after. `result` holds what finished before its batch did; the
-- results of a whole batch are one entry of the transcript.
create table holdfast.tool_calls (
  turn_id uuid not null,
  step integer not null,
  ordinal integer not null,
  call_id text not null,
  name text not null,
  is_idempotent boolean not null,
  status text not null check (status in ('intent', 'done', 'failed', 'unknown', 'skipped')),
  epoch bigint not null,
  runs integer not null default 1,
  result json,
  intent_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  primary key (turn_id, step, ordinal)
) with (fillfactor = 80);

-- System prompts and tool lists by the hash of their bytes: what makes an old request derivable.
create table holdfast.snapshots (
  sha256 text primary key,
  content json not null,
  created_at timestamptz not null default clock_timestamp()
);

create table holdfast.system_events (
  id uuid primary key,
  session_id uuid not null,
  text text not null,
  context_key text,
  is_trusted boolean not null default true,
  state text not null default 'queued' check (state in ('queued', 'consumed', 'dropped')),
  turn_id uuid,
  drop_reason text,
  cause_key text unique,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz
);

create index system_events_queued on holdfast.system_events (session_id, id) where state = 'queued';
create index system_events_by_session on holdfast.system_events (session_id, id);

-- The outbox: replies on their way out, in order per session.
create table holdfast.deliveries (
  id uuid primary key,
  session_id uuid not null,
  turn_id uuid,
  seq bigint not null,
  -- webhook, or the name of a channel
  channel text not null,
  target json not null,
  payload json not null,
  status text not null default 'pending'
    check (status in ('pending', 'sending', 'sent', 'unknown', 'failed', 'expired', 'discarded')),
  attempts integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  owner text,
  lease_expires_at timestamptz,
  expires_at timestamptz not null,
  last_status integer,
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  unique (session_id, seq)
);

create index deliveries_open on holdfast.deliveries (session_id, seq) where status in ('pending', 'sending');
create index deliveries_by_status on holdfast.deliveries (status, id);

-- What happened, for those who watch. The id is the transaction's number and a position in it, so ids grow in the order of
-- transactions and a reader that stops below the oldest running transaction misses nothing and repeats nothing.
create table holdfast.events (
  id bigint primary key,
  session_id uuid,
  turn_id uuid,
  type text not null,
  data json not null,
  created_at timestamptz not null default clock_timestamp()
);

create index events_by_session on holdfast.events (session_id, id);

create table holdfast.subagent_runs (
  id uuid primary key,
  parent_id uuid not null references holdfast.sessions (id),
  child_id uuid not null references holdfast.sessions (id),
  root_id uuid not null references holdfast.sessions (id),
  depth integer not null,
  label text,
  task text not null,
  cleanup text not null default 'keep',
  status text not null default 'running' check (status in ('running', 'ok', 'failed', 'timedOut', 'killed')),
  result text,
  deadline_at timestamptz,
  -- spawning is idempotent on what caused it: (turn, tool call) or an Idempotency-Key
  cause_key text unique,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);

create index subagent_runs_by_parent on holdfast.subagent_runs (parent_id, id);
create index subagent_runs_by_child on holdfast.subagent_runs (child_id);
create index subagent_runs_live on holdfast.subagent_runs (root_id) where status = 'running';

create table holdfast.crons (
  id uuid primary key,
  name text not null,
  agent_id text not null,
  -- config: from the configuration file; api: made by a call
  origin text not null check (origin in ('config', 'api')),
  schedule json not null,
  target text not null,
  payload json not null,
  wake text not null default 'now',
  misfire text,
  delivery json,
  delete_after_run boolean not null default false,
  is_enabled boolean not null default true,
  disabled_reason text,
  consecutive_errors integer not null default 0,
  -- slots follow from the last slot, never from now
  last_slot_at timestamptz,
  next_slot_at timestamptz,
  not_before timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique (origin, agent_id, name)
);

create index crons_due on holdfast.crons (next_slot_at) where is_enabled;

create table holdfast.cron_fires (
  cron_id uuid not null references holdfast.crons (id) on delete cascade,
  scheduled_for timestamptz not null,
  status text not null check (status in ('claimed', 'completed', 'failed', 'missed', 'skipped')),
  message_id uuid,
  turn_id uuid,
  reason text,
  fired_at timestamptz,
  ended_at timestamptz,
  primary key (cron_id, scheduled_for)
);

-- What could not be finished and waits for a person, with its reason.
create table holdfast.dead_letters (
  id uuid primary key,
  -- turn, delivery, announcement
  kind text not null,
  session_id uuid references holdfast.sessions (id),
  turn_id uuid,
  delivery_id uuid,
  code text not null,
  reason text not null,
  state text not null default 'open' check (state in ('open', 'redriven', 'discarded')),
  created_at timestamptz not null default clock_timestamp(),
  settled_at timestamptz
);

create index dead_letters_open on holdfast.dead_letters (code, id) where state = 'open';
