-- The effect of a keyed request and its key are one statement, so a key is never reserved before the work.

alter table holdfast.idempotency_keys
  -- what the effect made, as far as the answer needs it; written with the effect. Null for messages, which have resource_id
  add column result json;

-- Reservations of requests whose process crashed before it stored an answer.
delete from holdfast.idempotency_keys where resource_id is null and status is null;
