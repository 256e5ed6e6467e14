-- Where the service sends a webhook when something needs attention, and what was sent there about which problem. A destination sends one call at
-- a time: until it has been acknowledged or given up, new problems wait for the next one.

create table holdfast.alert_destinations (
  id uuid primary key,
  name text not null constraint alert_destinations_name unique,
  url text not null,
  secret text not null,
  severity text not null,
  -- null: all kinds of problems
  kinds json,
  -- a problem is not sent again within this time
  repeat_seconds integer not null,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- null: no call is being sent
  call_id uuid,
  call json,
  attempts integer not null default 0,
  -- the call is sent, or a new one is made, at this time; while a process sends it, the end of its lease
  due_at timestamptz not null default clock_timestamp(),
  tried_at timestamptz,
  -- null: no answer came
  last_status integer,
  -- null: the last attempt was acknowledged
  last_error text,
  failing_since timestamptz
);

create table holdfast.alerts (
  destination_id uuid not null references holdfast.alert_destinations (id) on delete cascade,
  problem_id text not null,
  severity text not null,
  text text not null,
  href text not null,
  alerted_at timestamptz not null,
  -- null: it lasts
  ended_at timestamptz,
  primary key (destination_id, problem_id)
);
