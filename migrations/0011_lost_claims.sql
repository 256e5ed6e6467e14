-- How often in a row the lock of a session ran out between its claim and the opening of its turn. No transaction of the worker was left to
-- say so: the next claim counts it, and the opening of a turn sets it to 0.
alter table holdfast.sessions
  add column lost_claims integer not null default 0;
