-- What people think of turns: one row for each author, turn and message. A row is replaced when its author judges the same thing again.
create table holdfast.scores (
  id uuid primary key,
  session_id uuid not null,
  turn_id uuid not null references holdfast.turns (id) on delete cascade,
  -- the message of the turn that is judged; null: the turn
  message_id uuid,
  -- from -1 (bad) to 1 (good); null: there are only words
  score double precision check (score between -1 and 1),
  label text,
  note text,
  author text not null,
  -- 'api', or the channel of a reaction
  source text not null,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique nulls not distinct (turn_id, message_id, author)
);

create index scores_by_session on holdfast.scores (session_id, id);
create index scores_good on holdfast.scores (turn_id) where score > 0;
create index scores_bad on holdfast.scores (turn_id) where score < 0;

-- A reaction names a message of the platform, which leads to the turn that it was an answer of.
create index deliveries_by_platform_id on holdfast.deliveries (platform_id) where platform_id is not null;
