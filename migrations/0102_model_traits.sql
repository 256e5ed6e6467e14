-- What the server of a model has said about it by refusing requests (`ModelTraits`), and until when that counts. Workers read it with the blocks of
-- models; a row whose block has ended has traits alone.
alter table holdfast.model_blocks
  add column traits jsonb,
  add column traits_until timestamptz;
create index model_blocks_traits_until on holdfast.model_blocks (traits_until);
