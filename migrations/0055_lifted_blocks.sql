-- What an operator sees of a block, and that it was lifted: until its end, the workers that know it read that.
alter table holdfast.model_blocks
  add column since timestamptz not null default now(),
  -- what the provider said
  add column detail text,
  add column lifted_at timestamptz;
