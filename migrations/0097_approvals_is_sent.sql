-- needs: 0087_held_notices.sql
-- Notices about requests are rows of `held_notices`; no process reads or writes the column any more.
alter table holdfast.approvals drop column is_sent;
