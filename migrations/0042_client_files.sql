-- Files that OpenAI's clients upload for batches, in pieces, and what they ask of a batch beside its items. The outputs of a batch are no files:
-- they are made of its items when they are read.
create table holdfast.client_files (
  id uuid primary key,
  filename text not null,
  purpose text not null,
  bytes bigint not null default 0,
  created_by text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- null: it is still being uploaded
  completed_at timestamptz,
  expires_at timestamptz not null
);

create index client_files_by_expiry on holdfast.client_files (expires_at);

create table holdfast.client_file_parts (
  file_id uuid not null,
  n integer not null,
  content bytea not null,
  primary key (file_id, n)
);

-- The id is that of the batch; one whose lines were refused has errors, and no batch.
create table holdfast.client_batches (
  id uuid primary key,
  input_file_id uuid not null,
  endpoint text not null,
  completion_window text not null,
  metadata json,
  errors json,
  created_at timestamptz not null default clock_timestamp()
);
