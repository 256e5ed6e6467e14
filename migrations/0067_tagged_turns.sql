-- Finds turns by their tags. By itself, because a table is read whole for an index: nothing else is locked meanwhile, and turns are still read.
create index turns_tagged on holdfast.turns using gin (tags jsonb_path_ops) where tags is not null;
