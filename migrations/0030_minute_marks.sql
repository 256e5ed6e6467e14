-- What the overview draws by minute beside `usage_buckets`: messages that arrived, and how long the message that had waited longest had waited
-- when a turn took it. Written by the statement that reads the event log, so each event counts once. Kept for two days.
create table holdfast.minute_marks (
  starts_at timestamptz primary key,
  arrivals bigint not null,
  longest_wait_ms bigint not null
);
