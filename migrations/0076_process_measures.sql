-- What a process measures of itself; null: it runs a version that does not report it.
alter table holdfast.workers
  -- its resident memory
  add column memory_bytes bigint,
  -- the 99th percentile since the report before
  add column loop_delay_ms real;
