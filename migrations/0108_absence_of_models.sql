-- Why a model is away (`model_away`, `model_wrong_address`), for the turns that wait for it in other processes. Null: not known, or it is not away.
alter table holdfast.model_blocks add column code text;
