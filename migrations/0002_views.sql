-- What decides how rows become a request. A *view* is kept beside the rows that it is about, so that a request can be derived
-- from them again, byte for byte: of a session (what its earlier requests fixed), of a turn (what its opening fixed), of a call.

alter table holdfast.sessions
  -- what the requests of this transcript have fixed, so that later ones keep their bytes: see src/core/view.ts
  add column view json not null default '{}';

alter table holdfast.turns
  add column view json not null default '{}';

alter table holdfast.model_calls
  -- answer: a step of the turn; compaction: the summary of older entries, with the flush before it
  add column purpose text not null default 'answer' check (purpose in ('answer', 'compaction')),
  add column view json,
  -- of the request as it was sent; proves that what is derived later is the same
  add column request_sha256 text;

alter table holdfast.entries
  -- where the session stood when the entry left the active path: a request up to an earlier entry still shows it
  add column retired_seq bigint,
  -- of prompts: the parts that the text was assembled from, with their origin and trust
  add column parts json,
  -- of prompts that no person wrote to this session: a heartbeat's poll, a message of another session
  add column provenance json;
