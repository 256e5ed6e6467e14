-- Bulk actions: one decision of a person about many turns, messages, deliveries or dead letters. The ids are fixed when it is submitted; the
-- schedulers work it off.

create table holdfast.bulk_actions (
  id uuid primary key,
  action text not null check (action in ('retry', 'abort', 'cancel', 'redrive', 'discard')),
  target text not null check (target in ('turns', 'messages', 'deliveries', 'dead-letters')),
  -- what it was submitted with, for people
  filter json not null,
  reason text,
  -- null: as fast as it goes
  per_second integer check (per_second > 0),
  -- the first one goes alone, and the others follow when it has ended well
  is_canary boolean not null,
  canary_passed_at timestamptz,
  -- running; cancelling: those in flight finish; completed, cancelled and canary_failed are ends
  status text not null default 'running' check (status in ('running', 'cancelling', 'completed', 'cancelled', 'canary_failed')),
  total integer not null,
  done integer not null default 0,
  skipped integer not null default 0,
  failed integer not null default 0,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- when the next of its items may begin
  due_at timestamptz not null default clock_timestamp(),
  -- when its last event bulk.progress was written
  reported_at timestamptz,
  ended_at timestamptz
);

create index bulk_actions_open on holdfast.bulk_actions (due_at) where ended_at is null;

create table holdfast.bulk_action_items (
  action_id uuid not null,
  n integer not null,
  -- the id of the turn, message, delivery or letter
  subject uuid not null,
  status text not null default 'pending' check (status in ('pending', 'done', 'skipped', 'failed')),
  -- why it was skipped or has failed
  reason text,
  -- the messages that wait because of it
  message_ids uuid[],
  -- a scheduler works on it until then
  leased_until timestamptz,
  settled_at timestamptz,
  primary key (action_id, n)
) with (fillfactor = 80);

create index bulk_action_items_pending on holdfast.bulk_action_items (action_id, n) where status = 'pending';
