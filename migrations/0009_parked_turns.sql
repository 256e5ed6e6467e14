-- Parked turns: open turns that wait for something outside without a lock and without a slot. The reason is data of the turn; until
-- when it waits is `due_at` of its session's doorbell, like every other time at which somebody has to look.

alter table holdfast.turns
  drop constraint turns_status_check,
  add constraint turns_status_check check (status in
    ('running', 'parked', 'completed', 'silent', 'failed', 'aborted', 'timedOut', 'interrupted', 'resuming')),
  -- why it waits: a code of the contract, a sentence for people, and what it waits for. They stay when it is resumed, so that a turn
  -- that is parked again for the same reason knows since when; an answer of the model clears `park_code`.
  add column park_code text,
  add column park_text text,
  add column park_by text,
  add column park_since timestamptz,
  -- no call before then, whatever wakes the turn: what the provider asked for
  add column park_not_before timestamptz,
  -- how often it was parked for this reason
  add column parks integer not null default 0,
  -- deaths of its workers that are not counted in `deaths`, because many turns were open in them
  add column crowd_deaths integer not null default 0;

alter table holdfast.doorbells
  -- set when a parked turn became due before its time, because another turn was let through: it need not wait for a probe
  add column woken_at timestamptz;

-- Workers whose lease ran out over open turns, with how many they had when the first of them was claimed by another.
create table holdfast.lost_workers (
  worker text primary key,
  open_turns integer not null,
  noticed_at timestamptz not null default clock_timestamp()
);

create index lost_workers_by_age on holdfast.lost_workers (noticed_at);
