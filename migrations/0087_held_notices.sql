-- Notices about tool calls that wait for something outside, until they are in the outbox. A notice is stored with the wait of its call.
create table holdfast.held_notices (
  turn_id uuid not null references holdfast.turns on delete cascade,
  step integer not null,
  ordinal integer not null,
  code text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (turn_id, step, ordinal, code)
);
-- Requests for approvals that have not been put into the outbox yet.
insert into holdfast.held_notices (turn_id, step, ordinal, code)
select a.turn_id, a.step, a.ordinal, 'approval' from holdfast.approvals a join holdfast.turns t on t.id = a.turn_id
where a.status = 'open' and not a.is_sent;
