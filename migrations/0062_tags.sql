-- The tags of inputs and turns. Those of an input are in its body, and the trigger repeats them beside it, for whatever statement writes it: so
-- the index has entries for rows with tags alone. Null: none. The text is searched first, because reading a field of a body decodes all of its strings,
-- which is slower and fails for those that have a character that no text of PostgreSQL can have.
alter table holdfast.turns add column tags jsonb;
alter table holdfast.inbox add column tags jsonb;

create function holdfast.tags_of_input() returns trigger language plpgsql as $$
begin
  new.tags := (new.body -> 'options' -> 'tags')::jsonb;
  return new;
exception when untranslatable_character then
  return new;
end $$;

create trigger inbox_tags before insert or update of body on holdfast.inbox for each row
  when (strpos(new.body::text, '"options"') > 0) execute function holdfast.tags_of_input();

create index turns_tagged on holdfast.turns using gin (tags jsonb_path_ops) where tags is not null;
create index inbox_tagged on holdfast.inbox using gin (tags jsonb_path_ops) where tags is not null;
