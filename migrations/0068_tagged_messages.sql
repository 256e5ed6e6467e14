-- Finds messages by their tags, as 0067 does turns.
create index inbox_tagged on holdfast.inbox using gin (tags jsonb_path_ops) where tags is not null;
