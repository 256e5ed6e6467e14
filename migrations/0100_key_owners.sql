-- What an API key stores belongs to the key and no longer to its name, which another key can get later.
alter table holdfast.api_keys
  -- whose stored answers and sessions of OpenAI's clients it has: `id:<id>` of the first key in its line of successors, or the name of a key of the
  -- configuration (`admin`, `key:<name>`); null: those of its name (`key:<name>`), as for every key before this migration
  add column owner text,
  -- the id of the key that it replaces, or the name of one of the configuration (`admin`, `key:<name>`); null: none
  add column replaces text;

-- Until now, a key replaced the one that had its name before.
update holdfast.api_keys k set replaces = named.earlier_id
from (select id, lag(id) over (partition by name order by created_at, id)::text as earlier_id from holdfast.api_keys) named
where named.id = k.id and named.earlier_id is not null;

create unique index api_keys_successors on holdfast.api_keys (replaces);
