-- The model that a turn was opened with, if another one has answered it (`model`); null: it is the same.
alter table holdfast.turns add column asked_model text;
