-- How long the turns of the items took that ended in the minute, together, in milliseconds. Null: an older version has counted.
alter table holdfast.batch_minutes add column busy_ms bigint;
