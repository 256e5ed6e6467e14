-- Sessions of OpenAI's clients that earlier versions named after the API key in lower case, cleaned and cut, so that two keys could reach one
-- session. A key continues such a session only if every message in it came with this key, and none has been deleted. Nothing else is added here.
create table holdfast.client_sessions (
  -- what the request names, user or conversation
  kind text not null,
  agent_id text not null,
  -- admin, or key:<name>
  owner text not null,
  name_sha text not null,
  session_id uuid not null,
  primary key (kind, agent_id, owner, name_sha)
);

create index client_sessions_of_sessions on holdfast.client_sessions (session_id);

with named as materialized (
  select s.id, s.agent_id, s.inbox_seq, split_part(s.key, ':', 4) as name, split_part(s.key, ':', 5) as name_sha
  from holdfast.sessions s
  where s.key ~ '^agent:[^:]+:openai:[a-z0-9_.-]{1,40}:[0-9a-f]{32}$'
),
messages as (
  select n.id as session_id, i.body -> 'caller' is not null or i.body ->> 'sentBy' is not null as is_of_key, i.body ->> 'sentBy' as sent_by
  from named n join holdfast.inbox i on i.session_id = n.id
),
owned as (
  select n.*, min(m.sent_by) as sent_by
  from named n join messages m on m.session_id = n.id
  group by n.id, n.agent_id, n.inbox_seq, n.name, n.name_sha
  having count(*) = n.inbox_seq and count(distinct coalesce('key:' || m.sent_by, 'admin')) filter (where m.is_of_key) = 1
),
folded as (
  select o.*, left(regexp_replace(lower(coalesce(o.sent_by, 'admin')), '[^a-z0-9_.-]', '-', 'g'), 40) as folded_name from owned o
)
insert into holdfast.client_sessions (kind, agent_id, owner, name_sha, session_id)
select case f.name when 'conversation' then 'conversation' else 'user' end, f.agent_id, coalesce('key:' || f.sent_by, 'admin'), f.name_sha, f.id
from folded f
-- A key with the name conversation had the sessions of its users among the conversations.
where (f.name = 'conversation') <> (f.folded_name = f.name);
