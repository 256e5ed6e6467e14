-- Searches of one session and of one kind of texts. Only the rounds of the search write this table, so no turn waits while the indexes are built.
create index search_texts_of_session on holdfast.search_texts (session_id, id);
create index search_texts_of_kind on holdfast.search_texts (kind, id);
