-- Budgets: how much model calls may cost, for everything, an agent, sessions or a key, within a window of time. A call reserves its likely
-- cost before it is made; the write that stores the call replaces the reservation by its cost. Money is whole micro-dollars.

create table holdfast.budgets (
  id uuid primary key,
  -- config: fixed by the configuration; api: made and changed by requests; batch: the cost cap of a batch
  origin text not null check (origin in ('config', 'api', 'batch')),
  -- all, agent:<id>, session:<pattern>, key:<name>, batch:<id>
  scope text not null,
  per text not null check (per in ('hour', 'day', 'month', 'total')),
  -- in which hours, days and months begin
  zone text not null,
  limit_micros bigint not null check (limit_micros >= 0),
  warn_percent integer not null check (warn_percent between 1 and 100),
  action text not null check (action in ('pause', 'fail')),
  is_strict boolean not null,
  created_by text,
  created_at timestamptz not null default clock_timestamp(),
  -- null: its settings are those that it was made with
  changed_at timestamptz,
  -- null: it holds; the sums of its windows stay
  removed_at timestamptz
);

create unique index budgets_of_config on holdfast.budgets (scope, per, zone) where origin = 'config' and removed_at is null;
create unique index budgets_of_batches on holdfast.budgets (scope) where origin = 'batch' and removed_at is null;
create index budgets_live on holdfast.budgets (id) where removed_at is null;

create table holdfast.budget_windows (
  budget_id uuid not null,
  starts_at timestamptz not null,
  -- null: it has no end
  ends_at timestamptz,
  -- of calls that have ended
  spent_micros bigint not null default 0,
  -- of calls that are being made, or wait for a batch of the provider
  reserved_micros bigint not null default 0 check (reserved_micros >= 0),
  warned_at timestamptz,
  -- when a call was refused first, since the budget was changed last; null: none was
  reached_at timestamptz,
  primary key (budget_id, starts_at)
) with (fillfactor = 50);

create table holdfast.cost_reservations (
  turn_id uuid not null,
  call_no integer not null,
  budget_id uuid not null,
  -- the window that it counts in, whenever the call ends
  starts_at timestamptz not null,
  session_id uuid not null,
  -- of the claim that made it: a later claim of the turn, or none, shows that its worker is gone
  epoch bigint not null,
  micros bigint not null,
  reserved_at timestamptz not null default clock_timestamp(),
  primary key (turn_id, call_no, budget_id)
);
