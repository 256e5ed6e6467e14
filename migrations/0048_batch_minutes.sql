-- How many items of a batch ended in each minute of the clock, for its rate and its expected end. Rows older than a quarter of an hour are
-- deleted as further items end, the rest with their batch. `mark_ended` and `rate_per_minute` of batches serve older versions only.
create table holdfast.batch_minutes (
  batch_id uuid not null,
  starts_at timestamptz not null,
  ended integer not null,
  primary key (batch_id, starts_at)
);
