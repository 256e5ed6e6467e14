-- Finds the events of a scope, as 0114 does turns.
create index events_by_scope on holdfast.events (scope, id) where scope is not null;
