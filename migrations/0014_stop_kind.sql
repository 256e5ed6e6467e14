-- What a stop means could only be told from its sentence, which is for people. The kind says it, and counts only beside a reason: processes
-- of the version before, which may still run, write and clear the reason alone. A reason without a kind is a plain stop.
alter table holdfast.sessions
  add column stop_kind text check (stop_kind in ('stopped', 'interrupted', 'rolledBack'));

update holdfast.sessions
set stop_kind = case stop_reason
    when 'interrupted by a newer message' then 'interrupted'
    when 'rolled back by a newer message' then 'rolledBack'
    else 'stopped'
  end
where stop_reason is not null;
