-- Lists of messages by status, newest first. Messages that wait and those of open turns have indexes, and answered ones are found soon
-- among the newest. These ends are rare, so an ordinary message writes nothing here.
create index inbox_ended on holdfast.inbox (status, id) where status in ('silent', 'failed', 'cancelled', 'dropped');
