-- The rounds of a batch through the provider, what they cost beside live calls, and what `via: auto` decides from. Turns write none of it.

alter table holdfast.provider_requests
  -- the round of its turn, counted from 1: a request that is made again is of the same one
  add column hop integer,
  -- why it goes through a batch, for people
  add column reason text,
  -- how its prompt is kept in the provider's cache; null: for five minutes
  add column cache text,
  -- the part of its prompt that a call before it has put into the cache: of a live call, and of a request in a batch
  add column live_share real,
  add column lane_share real;

-- Requests that wait, by their batch: whether another one may still join a submission.
create index provider_requests_waiting on holdfast.provider_requests (batch_id) where status in ('queued', 'assigned') and batch_id is not null;

alter table holdfast.provider_batches
  -- how many of its requests are of which round of which batch: [{batchId, n, requests}]
  add column hops json,
  -- what answers cost that were paid for and not used
  add column wasted_micros bigint;

-- One round of a batch: the calls of its turns with the same number, by the way they took.
create table holdfast.batch_hops (
  batch_id uuid not null,
  n integer not null,
  via text not null check (via in ('live', 'provider-batch')),
  reason text not null,
  requests integer not null default 0,
  answered integer not null default 0,
  -- of the first submission; of the last one when all of them were read; null while one is out
  submitted_at timestamptz,
  ended_at timestamptz,
  -- as the provider names them
  provider_batch_ids text[] not null default '{}',
  input_tokens bigint not null default 0,
  output_tokens bigint not null default 0,
  cache_read_tokens bigint not null default 0,
  cache_write_tokens bigint not null default 0,
  -- what the answers cost, and what the same conversation would have cost in live calls; null: not known
  cost_micros bigint default 0,
  live_micros bigint default 0,
  -- answers of it that were paid for and not used
  wasted_micros bigint not null default 0,
  primary key (batch_id, n, via)
);

-- How much of prompts the batches of an account read from the provider's cache. A submission counts twice as much as all before it.
create table holdfast.cache_rates (
  account text not null,
  model text not null,
  -- the submission that was read last
  provider_batch_id uuid not null,
  -- tokens that were read, of those that earlier requests had put there
  read_tokens double precision not null,
  readable_tokens double precision not null,
  -- how long that submission took, from its request to its end
  took_ms double precision,
  measured_at timestamptz not null default clock_timestamp(),
  primary key (account, model)
);

alter table holdfast.batches
  -- the provider's name of the model of items that name none; null: of an earlier version
  add column model text,
  -- with `via: auto`: items up to this number go through the provider first, to measure its cache; null: none do, or it is over
  add column probe_to integer,
  -- when that was decided
  add column probe_at timestamptz;
