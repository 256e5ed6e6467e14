-- What tools keep: the search index over the memories of agents, commands in the background, and messages sent by a tool.

-- The files of memories that are indexed, by their content: a search names the files as they are on disk, so what it finds is always
-- what is there, and two workers that see different files disturb nobody. Contents that no search names any more are swept out.
create table holdfast.memory_files (
  agent_id text not null,
  path text not null,
  sha256 text not null,
  chunks integer not null,
  indexed_at timestamptz not null default clock_timestamp(),
  primary key (agent_id, path, sha256)
);

-- A few lines of a memory, with the words that they are found by. Line numbers begin with 1.
create table holdfast.memory_chunks (
  agent_id text not null,
  path text not null,
  sha256 text not null,
  ordinal integer not null,
  first_line integer not null,
  last_line integer not null,
  -- what they stand under, outermost first
  headings text not null,
  text text not null,
  words tsvector not null,
  primary key (agent_id, path, sha256, ordinal),
  foreign key (agent_id, path, sha256) references holdfast.memory_files on delete cascade
);

create index memory_chunks_words on holdfast.memory_chunks using gin (words);

-- Messages that a tool sent in the middle of a turn are rows of the outbox like replies, each caused by one tool call.
alter table holdfast.deliveries
  -- the idempotency key of the call: a call that is run again sends nothing again
  add column cause_key text unique;

create index deliveries_of_tools on holdfast.deliveries (turn_id) where cause_key is not null;

-- Commands that run in the background, behind the tool call and the turn that started them. A command belongs to a worker for as long as
-- that renews its lease; when it does not any more the command is `lost`, and its session is told.
create table holdfast.processes (
  id uuid primary key,
  session_id uuid not null,
  turn_id uuid not null,
  -- the idempotency key of the call that started it
  cause_key text not null unique,
  command text not null,
  workdir text not null,
  -- exited: by itself; killed: ended by us, `reason` says why; lost: its worker is gone
  status text not null default 'running' check (status in ('running', 'exited', 'killed', 'lost')),
  worker text not null,
  lease_expires_at timestamptz not null,
  -- boot and process namespace: where `pid`, which leads the process group, means this process; with its start in ticks since boot it
  -- cannot be mistaken for a later one
  machine text not null,
  pid integer,
  started_ticks bigint,
  exit_code integer,
  exit_signal text,
  reason text,
  -- somebody wants it to end, and why
  kill_reason text,
  output_bytes bigint not null default 0,
  output_tail text,
  -- what the last poll showed, so that a poll that is run again shows the same
  poll_key text,
  poll_from bigint not null default 0,
  poll_until bigint not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);

create index processes_running on holdfast.processes (lease_expires_at) where status = 'running';
create index processes_by_session on holdfast.processes (session_id, id desc);

-- What is to be written to the standard input of a command in the background, in the order of `n`. One row for each call.
create table holdfast.process_inputs (
  n bigint generated always as identity primary key,
  process_id uuid not null,
  cause_key text not null unique,
  data text not null,
  is_last boolean not null,
  created_at timestamptz not null default clock_timestamp()
);

create index process_inputs_by_process on holdfast.process_inputs (process_id, n);
