-- What operators look at: the processes, what waits longest, and the earlier attempts of a turn.

-- A row for each process, which it renews every 5 s, and deletes when it has drained.
create table holdfast.workers (
  id uuid primary key,
  -- the name under which it holds locks: the same as `sessions.owner` and `turns.worker`
  name text not null unique,
  host text not null,
  pid integer not null,
  roles text[] not null,
  version text not null,
  -- by name, its slots and how many are in use; empty without the worker's role
  lanes json not null,
  -- since when it cannot reach the queue
  queue_away_since timestamptz,
  started_at timestamptz not null default clock_timestamp(),
  seen_at timestamptz not null default clock_timestamp(),
  -- since when it drains, or is asked to
  draining_at timestamptz
) with (fillfactor = 50);

-- The page of what has waited longest reads what waits, in the order of the ids, and no settled messages.
create index inbox_oldest on holdfast.inbox (id) where status = 'waiting';

-- The attempts of a turn that ended before the turn did; the last attempt is in its turn. Only a claim that resumes a turn writes here.
create table holdfast.turn_attempts (
  turn_id uuid not null,
  epoch bigint not null,
  attempt integer not null,
  worker text not null,
  claimed_at timestamptz not null,
  -- the end of the lease for a worker that was lost; null: not known
  ended_at timestamptz,
  how text not null check (how in ('lost', 'released', 'parked')),
  -- why it was parked
  code text,
  primary key (turn_id, epoch)
);
