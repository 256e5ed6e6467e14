-- Compaction: what was condensed, when and why; and transcripts that came to an end or were copied. Nothing is deleted: an entry
-- that a summary stands for keeps its row, and where it was out of view is kept with it, so that old requests stay derivable.

-- Every compaction that was begun, with its end. A row stays `running` when its worker dies; the next begin of the session
-- takes up its answer or gives it up.
create table holdfast.compactions (
  id uuid primary key,
  session_id uuid not null,
  transcript_no integer not null,
  turn_id uuid not null,
  -- threshold: the next request would not leave the reserve free; overflow: the provider refused one; manual: somebody asked
  reason text not null check (reason in ('manual', 'threshold', 'overflow')),
  status text not null default 'running' check (status in ('running', 'completed', 'failed', 'timedOut', 'restored')),
  -- how many of its turn were begun before it and did not succeed, and it
  attempt integer not null,
  -- what stays: everything from this entry on, and the entries before it that are pinned; null before the answer
  first_kept_seq bigint,
  pinned_seqs bigint[],
  -- the answer, from when it is there to the end: a crash in between costs no second call
  summary text,
  -- what the flush appends, and where; null when there is nothing to append
  memory json,
  -- the entry that the summary became
  summary_seq bigint,
  tokens_before bigint not null,
  tokens_after bigint,
  -- which workspace files the requests after it still show
  audit json,
  error json,
  started_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz
);

create index compactions_by_session on holdfast.compactions (session_id, id desc);
create index compactions_by_turn on holdfast.compactions (turn_id);

alter table holdfast.entries
  -- where the session stood while the entry was out of view and has come back since; null: never. A request up to one of these
  -- entry numbers did not show it.
  add column absences int8multirange;

-- Transcripts that a reset ended, each linked to its session. Their entries stay.
create table holdfast.ended_transcripts (
  session_id uuid not null,
  transcript_no integer not null,
  last_seq bigint not null,
  ended_at timestamptz not null default clock_timestamp(),
  primary key (session_id, transcript_no)
);

alter table holdfast.sessions
  -- where a fork was copied from: the session, and the last of its entries that was taken along
  add column forked_from_id uuid,
  add column forked_from_seq bigint;
