-- How far old rows have been deleted: one row for each kind of them. The process that holds the row deletes; the others leave it alone.
create table holdfast.retention (
  kind text primary key,
  -- how long such rows are kept, as the last process that looked was configured
  keep_ms bigint,
  -- where the pass that is under way continues, and before what time its rows ended; null: none is under way
  position text,
  cutoff_at timestamptz,
  -- rows that this pass has deleted, and all passes
  deleted_in_pass bigint not null default 0,
  deleted bigint not null default 0,
  -- the time before which the last complete pass has deleted what no open work needs, and when it ended
  completed_to timestamptz,
  completed_at timestamptz,
  created_at timestamptz not null default clock_timestamp()
);

-- Open letters are few. A turn or a delivery with one of them is kept.
create index dead_letters_of_turns on holdfast.dead_letters (turn_id) where state = 'open' and turn_id is not null;
create index dead_letters_of_deliveries on holdfast.dead_letters (delivery_id) where state = 'open' and delivery_id is not null;
