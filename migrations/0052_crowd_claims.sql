-- How often the claim of a session was lost before a turn was open, in a worker that had claimed many sessions: such a loss does not count
-- against the session. Opening a turn sets it to 0, as it does with lost_claims.
alter table holdfast.sessions add column crowd_claims integer not null default 0;
