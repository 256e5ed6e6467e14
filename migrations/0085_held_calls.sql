-- A tool call that waits for something outside before it runs or has a result: why (`held_for`), and until when. Its row has the status 'intent'
-- and 0 runs. A session counts the answers to its held calls, so that a turn that is just being parked does not overlook one.
alter table holdfast.tool_calls add column held_for text, add column held_until timestamptz;
alter table holdfast.sessions add column held_seq bigint not null default 0;
-- Calls that wait for a client now.
update holdfast.tool_calls c set held_for = 'caller', runs = 0 from holdfast.turns t
where t.ended_at is null and t.status = 'parked' and t.park_code = 'caller' and c.turn_id = t.id and c.step = t.steps and c.status = 'intent';
