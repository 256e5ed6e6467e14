-- What a process reports of itself beside its lanes: how far its clock is ahead of the clock of the database (the way to the database is in it),
-- and since when its reconciler has not completed a round. Null: not known, or there is nothing to report.
alter table holdfast.workers add column clock_ahead_ms bigint, add column reconciler_stalled_since timestamptz;
