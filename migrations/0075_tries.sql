-- Tries are sessions of their own, which are removed soon. The kind of a session never changes.
create index sessions_of_tries on holdfast.sessions (id) where kind = 'try';
