-- What the overview draws by minute beside `minute_marks`: the most messages that waited and the most turns that ran, as the schedulers saw
-- them. A table of its own, because code of the version before reads all columns of `minute_marks`. Kept for two days.
create table holdfast.minute_samples (
  starts_at timestamptz primary key,
  -- counted up to 10,001
  waiting integer not null,
  running integer not null
);
