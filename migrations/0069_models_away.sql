-- The kind of a block. Null: the provider has asked to wait until the end of the block. Otherwise the model is away: calls have failed, and one
-- call may find out from then on whether it is back.
alter table holdfast.model_blocks add column probe_at timestamptz;
