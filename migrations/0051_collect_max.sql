-- After a prompt of several messages was too long for its model: the most inputs that the next turns take together, until none waits any more.
-- Null: no such limit.
alter table holdfast.sessions add column collect_max integer;
