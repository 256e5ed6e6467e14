-- Requests of OpenAI's clients without an Idempotency-Key. Such a client repeats a request by itself and says so, but not which one: the
-- repetition is found here by its bytes, and gets the key that the first one was given.
create table holdfast.client_requests (
  sent_by text not null,
  body_sha256 text not null,
  key uuid not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (sent_by, body_sha256, key)
);

create index client_requests_age on holdfast.client_requests (created_at);

-- Responses that their client has deleted. The session keeps what was said.
create table holdfast.hidden_responses (
  message_id uuid not null,
  -- 0: the response that began with the message; else the one that followed the results of this step
  after_step integer not null,
  hidden_at timestamptz not null default clock_timestamp(),
  primary key (message_id, after_step)
);
