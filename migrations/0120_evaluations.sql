-- Data sets and evaluations. An item is a copy: it stays what it was when its turn, and the snapshots that its request was made of, are gone.

create table holdfast.datasets (
  id uuid primary key,
  name text not null unique,
  description text,
  -- the agent that lines are asked of
  agent_id text not null,
  held_back_percent integer not null default 0,
  -- each addition makes one; 0: nothing was added
  version integer not null default 0,
  item_count integer not null default 0,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);

create table holdfast.dataset_items (
  dataset_id uuid not null,
  n integer not null,
  -- the version that it came with
  version integer not null,
  state text not null check (state in ('copying', 'ready', 'excluded', 'erased')),
  -- why it cannot be run, for people
  excluded text,
  split text not null default 'work' check (split in ('work', 'heldBack')),
  -- the conversation that it is of; items of one are one observation
  group_key text not null,
  -- what it was copied from; null: it was sent as a line, or is erased
  turn_id uuid,
  session_key text,
  agent_id text not null,
  input text,
  expected json,
  tags jsonb not null default '{}',
  metadata json not null default '{}',
  -- a `StoredRequest`; null: it was sent as a line, and is assembled when it is run
  request json,
  -- `RecordedStep[]`
  steps json not null default '[]',
  call_count integer not null default 0,
  reply text,
  model text,
  cost_micros bigint,
  primary key (dataset_id, n)
);

create unique index dataset_items_by_turn on holdfast.dataset_items (dataset_id, turn_id) where turn_id is not null;
create index dataset_items_copying on holdfast.dataset_items (dataset_id, n) where state = 'copying';
create index dataset_items_by_session on holdfast.dataset_items (session_key) where session_key is not null;

create table holdfast.evaluations (
  id uuid primary key,
  name text,
  dataset_id uuid not null,
  dataset_version integer not null,
  -- `judging`: its runs are graded but for the words of judging models
  status text not null default 'preparing' check (status in ('preparing', 'running', 'judging', 'ended')),
  outcome text check (outcome in ('completed', 'cancelled', 'failed')),
  -- for people: why it has failed
  detail text,
  -- the request, with all that it left out
  spec json not null,
  -- its items, and those of its part that cannot be run
  item_count integer not null default 0,
  excluded integer not null default 0,
  run_count integer not null default 0,
  judgement_count integer not null default 0,
  -- how many items of the batch of its phase are settled; up to which number all have been fed, and those that had not ended then
  settled integer not null default 0,
  settled_to integer not null default 0,
  settles_later integer[] not null default '{}',
  max_cost_micros bigint,
  -- the batches that carry its runs and its judgements; each row of theirs is made once
  batch_id uuid not null,
  judging_batch_id uuid not null,
  -- `CandidateSummary[]`, once it has ended
  results json,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);

create index evaluations_open on holdfast.evaluations (id) where status <> 'ended';
create index evaluations_by_dataset on holdfast.evaluations (dataset_id, id);

-- What came of one run, and of one judgement about it: written once, when its turn has ended.
create table holdfast.evaluation_runs (
  evaluation_id uuid not null,
  n integer not null,
  candidate integer not null,
  repeat integer not null,
  -- 0: the run; from 1 on its judgements, two for each judging grader
  part integer not null default 0,
  status text not null check (status in ('answered', 'diverged', 'failed')),
  turn_id uuid,
  session_key text not null,
  reply text,
  -- the structured reply
  output json,
  -- the calls of tools, as `{name, input}`
  calls json not null default '[]',
  divergence json,
  error json,
  cost_micros bigint,
  -- how long its turn took with its waits; null: it was not asked live
  ms double precision,
  -- `Grade[]`, in the order of the graders
  grades json not null default '[]',
  -- of the primary grader; null: it has none
  pass boolean,
  score double precision,
  primary key (evaluation_id, n, candidate, repeat, part)
);

-- Lists rank items and add up costs by it alone: of 60,000 runs, a page takes 64 ms with it and 105 ms without.
create index evaluation_runs_of_parts on holdfast.evaluation_runs (evaluation_id, part)
  include (n, candidate, pass, score, cost_micros, turn_id);
