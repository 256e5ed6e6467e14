-- Finds the words of a scope (0111), in the order of their ids. Only the rounds of the search write this table, so no turn waits meanwhile.
alter table holdfast.search_texts add column scope integer, alter column scope set default -1;

create trigger search_texts_scope before insert on holdfast.search_texts for each row when (new.scope = -1)
  execute function holdfast.scope_of_session();

create index search_texts_by_scope on holdfast.search_texts (scope, id) where scope is not null;
