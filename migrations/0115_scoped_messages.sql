-- Finds the messages of a scope, as 0114 does turns.
create index inbox_by_scope on holdfast.inbox (scope, id) where scope is not null;
