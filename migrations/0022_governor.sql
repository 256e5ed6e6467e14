-- The rates at which models are asked, shared by all workers: the times until which a provider wants no call, and the configured limits.

-- A model that is not to be called: the provider has asked to wait. A row whose time has passed has no effect.
create table holdfast.model_blocks (
  -- whose calls are meant: an address and a key of the provider, as a hash
  account text not null,
  -- provider/model
  model text not null,
  until timestamptz not null,
  primary key (account, model)
);
create index model_blocks_until on holdfast.model_blocks (until);

-- What is left of a limit, one row for each of its units. Workers take from it once a second.
create table holdfast.rate_windows (
  limit_id text not null,
  unit text not null check (unit in ('requests', 'inputTokens', 'outputTokens')),
  amount double precision not null,
  refilled_at timestamptz not null default clock_timestamp(),
  -- what the last statement took
  granted double precision not null default 0,
  primary key (limit_id, unit)
);

-- How many calls each worker wants to make under a limit, by lane.
create table holdfast.rate_demands (
  limit_id text not null,
  worker text not null,
  main integer not null,
  subagent integer not null,
  cron integer not null,
  batch integer not null,
  seen_at timestamptz not null default clock_timestamp(),
  primary key (limit_id, worker)
);
