-- Counts again what waits in each session, and makes the sessions due. Until this version, a message left the count twice if it was dropped for
-- the cap, or cancelled with its batch, while a worker assembled its prompt; the messages after it were answered one too late.
select id from holdfast.sessions s
where s.waiting <> 0 or exists (select from holdfast.inbox i where i.session_id = s.id and i.status = 'waiting')
order by s.id for no key update;
-- A statement of its own: it sees what was committed while the locks were waited for.
update holdfast.sessions s set waiting = counted.n
from (
  select x.id, (select count(*) from holdfast.inbox i where i.session_id = x.id and i.status = 'waiting')::int as n
  from holdfast.sessions x where x.waiting <> 0 or x.id in (select session_id from holdfast.inbox where status = 'waiting')
) as counted
where s.id = counted.id and s.waiting <> counted.n;
insert into holdfast.doorbells (session_id, lane, rings)
select s.id, s.lane, (s.inbox_seq + s.epoch) << 20 from holdfast.sessions s where s.waiting > 0 and s.turn_id is null
on conflict do nothing;
