-- Messages that are to be delivered later. They are stored, and their keys are taken; they arrive in their session at that time.
alter table holdfast.inbox drop constraint inbox_status_check;
-- Not checked for the rows that there are: they have met the narrower one.
alter table holdfast.inbox add constraint inbox_status_check
  check (status in ('delayed', 'waiting', 'claimed', 'answered', 'silent', 'failed', 'cancelled', 'dropped')) not valid;
alter table holdfast.inbox add column deliver_at timestamptz;

create index inbox_delayed on holdfast.inbox (deliver_at) where status = 'delayed';
create index inbox_delayed_of_session on holdfast.inbox (session_id) where status = 'delayed';
create index inbox_delayed_by_id on holdfast.inbox (id) where status = 'delayed';
