-- Chat platforms. A delivery to a chat is one row for each part of its text, in the order of its conversation.

alter table holdfast.deliveries
  -- its place among the parts of one delivery to a chat; a webhook has one
  add column part integer not null default 1,
  -- how many parts there are; 0: it was not divided, so nothing of it was sent to a chat yet
  add column parts integer not null default 0,
  -- what the platform calls the message that was sent
  add column platform_id text;
alter table holdfast.deliveries drop constraint deliveries_session_id_seq_key;
alter table holdfast.deliveries add constraint deliveries_session_id_seq_part_key unique (session_id, seq, part);
-- The order in which a chat gets its messages, see src/features/deliveries/store/chat-heads.ts.
create index deliveries_of_chats on holdfast.deliveries ((target ->> 'url'), session_id, seq, part)
  where channel <> 'webhook' and status in ('pending', 'sending');

-- When the next message may be sent: to a chat (`telegram/main/-100123`), and by an account (`telegram/main`). While a relay sends to a chat, the time is the
-- end of its lease.
create table holdfast.channel_gates (
  place text primary key,
  next_at timestamptz not null
);
create index channel_gates_by_time on holdfast.channel_gates (next_at);

-- An account of a bot: which process holds its poll or socket, and how far it has been read. The position belongs to the bot, not to the name.
create table holdfast.channel_accounts (
  channel text not null,
  account text not null,
  -- the platform's own id of the bot; null: never connected
  bot_id text,
  position text,
  is_paused boolean not null default false,
  owner text,
  epoch bigint not null default 0,
  lease_expires_at timestamptz,
  connected_at timestamptz,
  last_received_at timestamptz,
  last_error text,
  primary key (channel, account)
);

-- People who have asked to write to an agent in a direct chat, one row for each. A request that no one has decided in time gives its row to the next person.
create table holdfast.pairings (
  id uuid primary key,
  channel text not null,
  account text not null,
  sender_id text not null,
  sender_name text,
  chat_id text not null,
  thread_id text,
  -- its outbox has what the person is sent about the request
  session_id uuid not null,
  code text not null,
  status text not null default 'open' check (status in ('open', 'approved', 'denied')),
  -- the place of an open request among those of its account, which bounds them; null: it is decided
  slot smallint check (slot between 1 and 3),
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  constraint pairings_of_person unique (channel, account, sender_id),
  constraint pairings_slot unique (channel, account, slot)
);
create unique index pairings_by_code on holdfast.pairings (code) where status = 'open';

-- What was said in groups and not for the agent: context of the next message that is.
create table holdfast.channel_context (
  channel text not null,
  account text not null,
  chat_id text not null,
  thread_id text not null default '',
  message_id text not null,
  sender text,
  body text not null,
  said_at timestamptz not null,
  primary key (channel, account, chat_id, thread_id, message_id)
);
create index channel_context_by_age on holdfast.channel_context (said_at);
