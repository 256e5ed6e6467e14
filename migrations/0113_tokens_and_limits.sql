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

-- Counts the messages of a key that are not settled. Of messages that a key without a name has sent, it has no entries.
create index inbox_in_flight on holdfast.inbox ((body ->> 'sentBy')) where status in ('delayed', 'waiting', 'claimed') and body ->> 'sentBy' is not null;
