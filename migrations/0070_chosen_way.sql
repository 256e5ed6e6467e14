-- A batch with `via: auto` chooses its way once.

alter table holdfast.batches
  -- the way of the items after the first ones, how their prompts are kept in the cache, and why: {via, cache, reason}; null: not chosen
  add column choice json;
