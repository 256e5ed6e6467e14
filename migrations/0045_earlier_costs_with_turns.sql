-- The earlier costs of a turn go with the turn, also those that a repricing stores while a statement deletes the turn: the statement does not see
-- them, the constraint does.
delete from holdfast.earlier_costs c where not exists (select from holdfast.turns t where t.id = c.turn_id);

alter table holdfast.earlier_costs
  add constraint earlier_costs_turn_id_fkey foreign key (turn_id) references holdfast.turns (id) on delete cascade;
