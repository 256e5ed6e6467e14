-- Finds the deliveries of a scope, as 0114 does turns.
create index deliveries_by_scope on holdfast.deliveries (scope, id) where scope is not null;
