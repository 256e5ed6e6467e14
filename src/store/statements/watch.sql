-- watch
-- Purpose: Read which of the held sessions are asked to stop, and why.
-- Locking: None.
prepare "watch" as
/* watch */
select id, stop_kind, stop_reason from holdfast.sessions where id = any ($1::uuid[]) and stop_reason is not null
;
