-- Scores with a name and a value: of an author, a turn (or one of its messages) and a name, one row. A table of its own, because the
-- earlier one allows an author one row for a turn: code from before this migration still writes that. The trigger repeats here what it
-- writes, and what is there already.
create table holdfast.turn_scores (
  id uuid primary key,
  session_id uuid not null,
  turn_id uuid not null references holdfast.turns (id) on delete cascade,
  -- the message of the turn that is judged; null: the turn
  message_id uuid,
  name text not null,
  value jsonb not null check (jsonb_typeof(value) in ('number', 'boolean', 'string')),
  note text,
  author text not null,
  -- 'api', or the channel of a reaction
  source text not null,
  -- that of its session, by a trigger, as in 0111
  scope integer default -1,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  unique nulls not distinct (turn_id, message_id, author, name)
);

create index turn_scores_by_session on holdfast.turn_scores (session_id, id);
create index turn_scores_by_scope on holdfast.turn_scores (scope, id) where scope is not null;
create trigger turn_scores_scope before insert on holdfast.turn_scores for each row when (new.scope = -1) execute function holdfast.scope_of_session();
create index turn_scores_by_value on holdfast.turn_scores (name, value, turn_id);

create function holdfast.repeat_score() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from holdfast.turn_scores where id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into holdfast.turn_scores (id, session_id, turn_id, message_id, name, value, note, author, source, created_at, updated_at)
    values (new.id, new.session_id, new.turn_id, new.message_id,
      case when abs(new.score) = 1 then 'thumb' when new.score is not null then 'score' when new.label is not null then 'label' else 'note' end,
      case when abs(new.score) = 1 then to_jsonb(new.score > 0) else coalesce(to_jsonb(new.score), to_jsonb(new.label), to_jsonb(left(new.note, 500))) end,
      case when new.score is null then new.note else nullif(concat_ws(': ', new.label, new.note), '') end,
      new.author, new.source, new.created_at, new.updated_at)
    -- With this id, so that what is removed there is removed here.
    on conflict (turn_id, message_id, author, name) do update
      set id = excluded.id, value = excluded.value, note = excluded.note, source = excluded.source, updated_at = excluded.updated_at;
  end if;
  return null;
end $$;

create trigger scores_repeated after insert or update or delete on holdfast.scores for each row execute function holdfast.repeat_score();

update holdfast.scores set author = author;
