-- The chats of the users of OpenAI's clients are found by the beginnings of their keys, byte by byte whatever the collation of the database.
create index sessions_of_users on holdfast.sessions (key collate "C") where key like 'agent:%:openai:user@%';
