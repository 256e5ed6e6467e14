-- Roll-ups of the event log: what was used, by minute and by hour, and how many rows ended in which way. One statement reads the events behind
-- the cursor, adds them and moves the cursor, so each event counts once, however many processes do it. Nothing counts whole tables.

-- Minutes are kept for two days, hours forever. Their rows do not refer to sessions or turns, so nothing that is deleted changes a sum.
create table holdfast.usage_buckets (
  size text not null check (size in ('minute', 'hour')),
  starts_at timestamptz not null,
  agent_id text not null,
  -- `provider/model`
  model text not null,
  lane text not null,
  tier text not null,
  -- of the turn: message, cron, heartbeat, ...
  kind text not null,
  -- that ended, and those of them that failed or timed out
  turns bigint not null,
  failed_turns bigint not null,
  calls bigint not null,
  -- calls that failed, and calls whose cost is not known
  failures bigint not null,
  unpriced_calls bigint not null,
  input_tokens bigint not null,
  output_tokens bigint not null,
  cache_read_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  cost_micros bigint not null,
  -- sums: how long the turns waited and ran, how long the calls took, and how long until the first part of their answers
  wait_ms bigint not null,
  turn_ms bigint not null,
  call_ms bigint not null,
  first_chunk_ms bigint not null,
  is_simulated boolean not null,
  primary key (size, starts_at, agent_id, model, lane, tier, kind)
);

-- Rows that have come to an end, by how they ended. Those that have not are few, and counted by partial indexes.
create table holdfast.row_counts (
  -- messages, turns, deliveries
  subject text not null,
  status text not null,
  count bigint not null,
  primary key (subject, status)
);

create table holdfast.roll_up_cursor (
  singleton boolean primary key default true check (singleton),
  -- the last event that was added
  after_id bigint not null,
  -- when the rows that were there before were counted; null: not yet
  counted_at timestamptz,
  -- sessions up to this id are in `sessions`
  sessions_to uuid,
  sessions bigint not null default 0
);

-- Without rows there is nothing to count.
insert into holdfast.roll_up_cursor (after_id, counted_at)
select 0, case when not exists (select from holdfast.sessions) and not exists (select from holdfast.events) then clock_timestamp() end;
