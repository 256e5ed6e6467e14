-- Tokens for browsers, and limits of keys.

-- What tokens are signed with: one row, which the first request for a token makes. Tokens themselves are not stored.
create table holdfast.token_secrets (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (length(secret) = 32)
);

-- How much a key may ask; null: as much as it likes.
alter table holdfast.api_keys
  add column requests_per_minute integer,
  add column messages_in_flight integer;

-- The key whose messages in flight it counts among; null: none, since that key has no such limit. Not an index over the body: that would read each
-- body as JSON, which fails for one with a character that no text of PostgreSQL can have.
alter table holdfast.inbox add column counted_for text;
create index inbox_in_flight on holdfast.inbox (counted_for) where counted_for is not null and status in ('delayed', 'waiting', 'claimed');
