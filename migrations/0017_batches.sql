-- Batches: many conversations submitted as one. A turn never writes the progress of a batch: schedulers read how the input of an item ended,
-- write it to the item, and add it to the counts of the batch in the same statement.

create table holdfast.batches (
  id uuid primary key,
  name text,
  status text not null default 'uploading' check (status in ('uploading', 'running', 'paused', 'cancelling', 'ended')),
  outcome text check (outcome in ('completed', 'partly', 'failed', 'cancelled')),
  pause_reason text check (pause_reason in ('manual', 'pilot_done', 'cost_cap', 'failure_rate', 'provider_refused', 'budget')),
  -- for people: what led to the pause
  pause_detail text,
  paused_at timestamptz,
  via text not null default 'live' check (via in ('live', 'provider-batch', 'auto')),
  agent_id text not null,
  -- model, thinking, promptMode and deliver of items that do not set them
  defaults json not null,
  concurrency integer not null,
  weight integer not null default 1,
  -- the first items that run alone; null: no pilot, or it is over
  pilot integer,
  max_failure_percent integer not null,
  deadline_at timestamptz,
  fallback text not null default 'live' check (fallback in ('live', 'fail')),
  cache text not null default 'auto' check (cache in ('auto', '1h', '5m', 'off')),
  max_cost_micros bigint,
  reserved_micros bigint not null default 0,
  format text not null,
  source_sha256 text,
  created_by text not null,
  -- counts the changes by people; a decision that was made from an older revision has no effect
  revision bigint not null default 0,
  -- a cancelled batch: its running turns are stopped, too
  stops_running boolean not null default false,
  -- how its items ended; the rest of `item_count` has not been fed
  item_count integer not null default 0,
  in_flight integer not null default 0,
  answered integer not null default 0,
  silent integer not null default 0,
  failed integer not null default 0,
  cancelled integer not null default 0,
  expired integer not null default 0,
  -- the last ends, one character for each: x for a failure
  recent text not null default '',
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  -- of ended items; null: no cost is known
  cost_micros bigint default 0,
  unpriced_calls integer not null default 0,
  is_simulated boolean not null default false,
  -- the rate: ended items at the beginning of the present interval, and what the last whole interval gave
  mark_at timestamptz,
  mark_ended integer not null default 0,
  rate_per_minute double precision,
  progress_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  started_at timestamptz,
  ended_at timestamptz
) with (fillfactor = 60);

create index batches_open on holdfast.batches (id) where status <> 'ended';

create table holdfast.batch_items (
  batch_id uuid not null,
  -- the number in the input, from 1
  n integer not null,
  custom_id text,
  session_key text not null,
  -- made for this item alone
  is_own_session boolean not null,
  -- the item of the same session before this one; null: none
  after_n integer,
  -- every earlier item of its session has ended
  is_ready boolean not null,
  body json not null,
  status text not null default 'pending' check (status in ('pending', 'fed', 'answered', 'silent', 'failed', 'cancelled', 'expired')),
  attempt integer not null default 1,
  session_id uuid,
  message_id uuid,
  turn_id uuid,
  error json,
  error_code text,
  -- of all attempts
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  cost_micros bigint,
  ended_at timestamptz,
  primary key (batch_id, n),
  unique (batch_id, custom_id)
) with (fillfactor = 70);

create index batch_items_ready on holdfast.batch_items (batch_id, n) where status = 'pending' and is_ready;
create index batch_items_fed on holdfast.batch_items (batch_id, n) where status = 'fed';
create index batch_items_after on holdfast.batch_items (batch_id, after_n) where after_n is not null;
create index batch_items_failed on holdfast.batch_items (batch_id, error_code, n) where error_code is not null;
