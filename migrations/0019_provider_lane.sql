-- The provider lane: requests that wait for a batch of the provider, and the batches that were submitted.

create table holdfast.provider_requests (
  turn_id uuid not null,
  call_no integer not null,
  session_id uuid not null,
  -- the batch that its message belongs to; null: a single message or a tick
  batch_id uuid,
  model text not null,
  status text not null default 'queued'
    check (status in ('queued', 'assigned', 'answered', 'errored', 'expired', 'canceled', 'live', 'dropped')),
  -- the submission that it is part of, and its number there
  provider_batch_id uuid,
  request_no integer,
  -- the body of the call, compressed; null once it is not needed any more
  params bytea,
  params_bytes integer not null,
  params_sha256 text not null,
  -- the provider's message or error; a write of the turn that uses the answer empties it
  result json,
  error json,
  -- until then it may wait; afterwards it becomes a live call, or fails
  leave_at timestamptz not null,
  fallback text not null default 'live' check (fallback in ('live', 'fail')),
  -- how often a submission that had it ended without an answer to it
  returns integer not null default 0,
  -- after a refusal, the requests of a submission are submitted in halves: those with the same split go together
  split text,
  queued_at timestamptz not null default clock_timestamp(),
  assigned_at timestamptz,
  settled_at timestamptz,
  primary key (turn_id, call_no)
);

create index provider_requests_queued on holdfast.provider_requests (queued_at) where status = 'queued';
create index provider_requests_assigned on holdfast.provider_requests (provider_batch_id, request_no) where status = 'assigned';
create index provider_requests_leaving on holdfast.provider_requests (leave_at) where status in ('queued', 'assigned');

create table holdfast.provider_batches (
  id uuid primary key,
  -- the key and the address that it was submitted with, as a hash
  account text not null,
  status text not null
    check (status in ('open', 'submitting', 'unknown', 'submitted', 'canceling', 'ended', 'read', 'lost', 'failed')),
  request_count integer not null,
  body_bytes bigint not null,
  body_sha256 text not null,
  submit_started_at timestamptz not null default clock_timestamp(),
  submitted_at timestamptz,
  provider_id text unique,
  -- found in a listing after its submission had an unknown outcome
  is_adopted boolean not null default false,
  -- a result with our prefix was read, or the provider's answer named it
  is_proved boolean not null default false,
  -- batches of the provider that were taken for this one and are not
  disproved_ids text[] not null default '{}',
  expires_at timestamptz,
  counts json,
  -- when it is looked at next, by the poller or by the search for an unknown submission
  due_at timestamptz not null default clock_timestamp(),
  looks integer not null default 0,
  -- since when a listing has shown no candidate
  absent_since timestamptz,
  -- the process that works on it, and until when
  owner text,
  lease_expires_at timestamptz,
  -- full readings of its results that left requests without one
  incomplete_reads integer not null default 0,
  error json,
  -- tokens of answers that were paid for and not used
  wasted json,
  created_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,
  read_at timestamptz
);

-- One submission of an account is in flight at a time, so at most one outcome is unknown.
create unique index provider_batches_in_flight on holdfast.provider_batches (account) where status in ('open', 'submitting', 'unknown');
create index provider_batches_due on holdfast.provider_batches (due_at)
  where status in ('open', 'submitting', 'unknown', 'submitted', 'canceling', 'ended');

-- A refused submission holds the next one of its account back until it is due.
create index provider_batches_refused on holdfast.provider_batches (account, due_at) where status = 'failed';
