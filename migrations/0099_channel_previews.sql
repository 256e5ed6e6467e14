-- Messages of chats that show the answer of a turn while it is written, and become it.
create table holdfast.channel_previews (
  turn_id uuid not null references holdfast.turns on delete cascade,
  -- the address of the chat
  url text not null,
  -- what the platform calls the message; null: it is being sent, or its sender died while it was
  platform_id text,
  -- while a request of the worker that shows the text may be under way; nothing else writes to the message before
  busy_until timestamptz,
  -- true: the message belongs to the outbox now, or it was removed; no text is shown in it any more
  is_final boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  primary key (turn_id, url)
);
create index channel_previews_open on holdfast.channel_previews (turn_id) where not is_final;
create index channel_previews_by_age on holdfast.channel_previews (created_at);
