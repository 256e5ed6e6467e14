-- The revision that a cron had when it fired: the end of a run says nothing about a cron that was changed meanwhile. Null: an earlier version fired it.
alter table holdfast.cron_fires add column revision bigint;
