-- watch
-- Purpose: Read which of the held sessions are asked to stop, and why.
-- Locking: None.
prepare "watch" as
/* watch */
select s.id, case when s.stop_reason is not null
    then json_build_object('kind', coalesce(s.stop_kind, 'stopped'), 'message', s.stop_reason) end as stop from holdfast.sessions s where s.id = any ($1::uuid[]) and s.stop_reason is not null
;
