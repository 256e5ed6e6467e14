-- Finds the sessions of a prefix and of a scope (0111), and gives the subagents that there are the root of their family.
update holdfast.sessions s set root = (select coalesce(above.root, above.key) from holdfast.sessions above where above.id = s.ancestors[1])
where cardinality(s.ancestors) > 0 and s.root is null;

create index sessions_by_root on holdfast.sessions ((coalesce(root, key collate "C")), id);
-- Finds whether a key with a scope has sent something to a session of a root.
create index sessions_confined on holdfast.sessions ((coalesce(root, key collate "C"))) where is_confined;
create index sessions_by_scope on holdfast.sessions (scope, id) where scope is not null;
