-- Whether a session shows what its model thinks: 'on' puts it in front of replies, 'stream' sends it as live events while it comes. Null is
-- 'off'. Like the other overrides it stays through a reset, and no index needs it: an update of a session stays a heap-only one.
alter table holdfast.sessions add column reasoning text check (reasoning in ('off', 'on', 'stream'));
