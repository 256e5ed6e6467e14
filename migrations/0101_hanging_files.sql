-- Since when a file call of the process has not ended, and what it works on.
alter table holdfast.workers add column files_hang_since timestamptz, add column hanging_path text;
