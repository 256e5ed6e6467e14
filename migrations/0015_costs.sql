-- Costs: what each model call cost, and the totals of its turn, session and subagent run. Money is whole micro-dollars. Null means that the
-- cost is not known: the model has no price, or the row is older than this migration. Unknown costs are counted, never taken for 0.
-- Each column is added without rewriting its table; the default of `cost_micros` is set afterwards, so that older rows stay null.

alter table holdfast.model_calls
  -- the model that was asked, as `provider/model`; null: an older row, asked as its turn says
  add column model text,
  add column cost_micros bigint,
  -- the version of the price table by which it was priced; null: not priced
  add column price_version text,
  -- the prices that hold for it: standard, or those of the provider's batches
  add column tier text not null default 'standard',
  -- the part of cache_write_tokens that the provider keeps for an hour instead of five minutes
  add column cache_write_1h_tokens bigint not null default 0,
  -- the call broke off: its tokens are those that its stream reported until then
  add column is_estimated boolean not null default false,
  -- answered by the scripted model: no money was spent
  add column is_simulated boolean not null default false,
  -- Not checked for the rows that exist: each has the default.
  add constraint model_calls_tier_check check (tier in ('standard', 'batch')) not valid;

alter table holdfast.turns
  -- of its calls whose cost is known, as of its last write; null: no cost of a call is known
  add column cost_micros bigint,
  -- calls whose cost is not known
  add column unpriced_calls integer not null default 0,
  -- some of the cost is of the scripted model
  add column is_simulated boolean not null default false;
alter table holdfast.turns alter column cost_micros set default 0;

alter table holdfast.sessions
  -- of its ended turns
  add column cost_micros bigint,
  add column unpriced_calls integer not null default 0,
  add column is_simulated boolean not null default false;
alter table holdfast.sessions alter column cost_micros set default 0;

alter table holdfast.subagent_runs
  add column cost_micros bigint,
  add column unpriced_calls integer not null default 0,
  add column is_simulated boolean not null default false;
alter table holdfast.subagent_runs alter column cost_micros set default 0;

-- Every version of the price table by which a call was priced. The version is the beginning of the hash of its rows.
create table holdfast.price_versions (
  version text primary key,
  sha256 text not null unique,
  rows json not null,
  first_used_at timestamptz not null default clock_timestamp()
);
