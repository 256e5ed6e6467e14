-- Repricing: past calls get the costs that another version of the price table gives, by an explicit command. What they cost before is kept.

create table holdfast.repricings (
  id uuid primary key,
  -- calls that started then or later, and before the second
  from_at timestamptz not null,
  to_at timestamptz not null,
  price_version text not null,
  reason text,
  -- calls whose cost has changed, and their costs before and after, as far as they are known
  calls bigint not null default 0,
  before_micros bigint not null default 0,
  after_micros bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  -- null: it has not ended; the same command continues it
  ended_at timestamptz
);

-- What a call cost before a repricing.
create table holdfast.earlier_costs (
  turn_id uuid not null,
  call_no integer not null,
  repricing_id uuid not null,
  cost_micros bigint,
  price_version text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (turn_id, call_no, repricing_id)
);
