-- What operators have decided about problems that need one: that they know of them, or that they do not want to see them until a time.
create table holdfast.attention_marks (
  -- of the problem, made of its kind and its subject
  id text primary key,
  -- null: acknowledged
  until timestamptz,
  -- of the problem when it was marked
  count integer not null,
  reason text,
  marked_by text not null,
  marked_at timestamptz not null default clock_timestamp()
);
