-- What a call asked that was refused although enough was unspent: others had reserved the rest, and there is room when they cost less.
-- Null: a call was refused because of what is spent, so there is no room until the window ends or the budget changes.
alter table holdfast.budget_windows add column reached_micros bigint;
