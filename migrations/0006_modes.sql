-- Queue modes: what a message does that finds its session busy.

alter table holdfast.sessions
  -- the last message that is meant for the running turn: with every commit the worker learns whether to look for one
  add column steer_seq bigint not null default 0,
  -- when the last message came: what waits behind a turn gathers until it has been quiet for a while
  add column last_message_at timestamptz,
  -- messages that were dropped over the cap and that no prompt has told of yet
  add column overflowed integer not null default 0;

alter table holdfast.doorbells
  -- while no turn is open, what waits gathers: until it has been quiet for so long, but no longer than until `gather_until`
  add column quiet_ms integer,
  add column gather_until timestamptz;

alter table holdfast.inbox
  -- what the sender was told at the door
  add column disposition text not null default 'queued'
    check (disposition in ('queued', 'steered', 'interrupting', 'command', 'rejected')),
  -- what a chat command answered; the replies of turns are in their turns
  add column reply text,
  -- true for dropped messages that a line in the next prompt stands for; that turn is then stamped on the row
  add column is_summarized boolean not null default false;

create index inbox_overflow on holdfast.inbox (session_id, seq)
  where status = 'dropped' and is_summarized and turn_id is null;
