-- The tags of inputs and turns. Those of an input are in its body, and the trigger repeats them beside it, for whatever statement writes it: so
-- their indexes (0067, 0068) have entries for rows with tags alone. Null: none. The text is searched first, because reading a field of a body
-- decodes all of its strings, which is slower and fails for those that have a character that no text of PostgreSQL can have.
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
