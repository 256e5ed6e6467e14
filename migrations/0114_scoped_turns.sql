-- Finds the turns of a scope (0111), in the order of their ids. By itself, because a table is read whole for an index: nothing else is locked meanwhile.
create index turns_by_scope on holdfast.turns (scope, id) where scope is not null;
