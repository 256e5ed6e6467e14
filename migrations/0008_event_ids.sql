-- What keeps the ids of events growing when the database moves to a server whose transaction ids are lower, or whose history is
-- another one: see src/store/event-ids.ts and docs/decisions/0029.

create table holdfast.event_ids (
  singleton boolean primary key default true check (singleton),
  -- which server's transaction ids are counted: its system identifier and timeline; null until a process has connected
  server text,
  -- added to each transaction id
  xid_offset bigint not null default 0
);

insert into holdfast.event_ids default values;
