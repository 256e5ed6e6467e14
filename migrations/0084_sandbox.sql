-- What the commands of a process run in, as it last reported; null: it runs none, or a version that does not report it.
alter table holdfast.workers add column sandbox jsonb;
