-- A process that is found silent is marked, so that its loss is one event however many processes look.
alter table holdfast.workers add column lost_at timestamptz;

-- Those that were lost before are no news.
update holdfast.workers set lost_at = seen_at + interval '15 seconds' where seen_at < clock_timestamp() - interval '15 seconds';
