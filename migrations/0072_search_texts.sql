-- Words of messages, replies and errors. A round of the scheduler adds them after they were written, those of before this migration too, so a
-- turn writes nothing more. They go with the entry or the turn that they are of, in the same transaction.

create table holdfast.search_texts (
  -- its first 48 bits are the milliseconds of the time at which the words were written, so the newest have the greatest ids
  id uuid primary key,
  kind text not null check (kind in ('message', 'reply', 'error')),
  session_id uuid not null,
  turn_id uuid not null,
  -- of messages and replies: the entry that holds the words
  entry_seq bigint,
  -- of errors: the turn that failed
  failed_turn_id uuid unique references holdfast.turns (id) on delete cascade,
  -- the first 65,536 characters
  text text not null,
  words tsvector not null,
  unique (session_id, entry_seq),
  foreign key (session_id, entry_seq) references holdfast.entries (session_id, seq) on delete cascade
);

create index search_texts_words on holdfast.search_texts using gin (words);

-- How far the rounds have read. One row.
create table holdfast.search_position (
  singleton boolean primary key default true check (singleton),
  -- the last event of the log that was read; null: the rounds have not begun
  after_id bigint,
  -- what was written before: the last entry and the last turn that were read; null: all of them were
  past_session uuid default '00000000-0000-0000-0000-000000000000',
  past_seq bigint not null default 0,
  past_turn uuid default '00000000-0000-0000-0000-000000000000'
);

insert into holdfast.search_position default values;
