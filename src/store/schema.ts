// The tables that are only looked at through drizzle, as the migrations made them. `migrations/` is the truth and this a mirror:
// `test/api/schema.test.ts` compares the two, so a column that is changed there and not here turns the suite red.
import { bigint, boolean, customType, integer, json, pgSchema, text, timestamp, uuid } from './drizzle.ts';

const holdfast = pgSchema('holdfast');

/** A bigint that stays far below 2^53: epochs, numbers in a session, tokens. */
const count = (name: string) => bigint(name, { mode: 'number' });
/** Ranges of entry numbers, as PostgreSQL writes them; only ever read by SQL. */
const multirange = customType<{ data: string }>({ dataType: () => 'int8multirange' });
/** Arrays are called so by the catalogue. */
const uuids = customType<{ data: string[] }>({ dataType: () => 'ARRAY' });
const time = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });

export const sessions = holdfast.table('sessions', {
  id: uuid('id').primaryKey(),
  key: text('key').notNull(),
  agentId: text('agent_id').notNull(),
  kind: text('kind').notNull(),
  lane: text('lane').notNull(),
  parentId: uuid('parent_id'),
  label: text('label'),
  channel: text('channel'),
  queueMode: text('queue_mode'),
  queueDebounceMs: integer('queue_debounce_ms'),
  queueCap: integer('queue_cap'),
  queueDrop: text('queue_drop'),
  model: text('model'),
  thinking: text('thinking'),
  reasoning: text('reasoning'),
  owner: text('owner'),
  epoch: count('epoch').notNull(),
  leaseExpiresAt: time('lease_expires_at'),
  turnId: uuid('turn_id'),
  inboxSeq: count('inbox_seq').notNull(),
  waiting: integer('waiting').notNull(),
  transcriptNo: integer('transcript_no').notNull(),
  entrySeq: count('entry_seq').notNull(),
  leafSeq: count('leaf_seq'),
  transcriptVersion: count('transcript_version').notNull(),
  stopReason: text('stop_reason'),
  wasAborted: boolean('was_aborted').notNull(),
  lastEventText: text('last_event_text'),
  deliverySeq: count('delivery_seq').notNull(),
  inputTokens: count('input_tokens').notNull(),
  outputTokens: count('output_tokens').notNull(),
  contextTokens: count('context_tokens').notNull(),
  createdAt: time('created_at').notNull(),
  updatedAt: time('updated_at').notNull(),
  view: json('view').notNull(),
  steerSeq: count('steer_seq').notNull(),
  lastMessageAt: time('last_message_at'),
  overflowed: integer('overflowed').notNull(),
  forkedFromId: uuid('forked_from_id'),
  forkedFromSeq: count('forked_from_seq'),
  ancestors: uuids('ancestors').notNull(),
  runId: uuid('run_id'),
  liveChildren: integer('live_children').notNull(),
  liveDescendants: integer('live_descendants').notNull(),
  archivedAt: time('archived_at'),
  lostClaims: integer('lost_claims').notNull(),
});

export const doorbells = holdfast.table('doorbells', {
  sessionId: uuid('session_id').primaryKey(),
  lane: text('lane').notNull(),
  dueAt: time('due_at').notNull(),
  rungAt: time('rung_at').notNull(),
  rings: count('rings').notNull(),
  quietMs: integer('quiet_ms'),
  gatherUntil: time('gather_until'),
});

export const inbox = holdfast.table('inbox', {
  id: uuid('id').primaryKey(),
  sessionId: uuid('session_id').notNull(),
  seq: count('seq').notNull(),
  kind: text('kind').notNull(),
  status: text('status').notNull(),
  body: json('body').notNull(),
  route: text('route').notNull(),
  mode: text('mode'),
  turnId: uuid('turn_id'),
  error: json('error'),
  answer: json('answer'),
  platformKey: text('platform_key'),
  causeKey: text('cause_key'),
  receivedAt: time('received_at').notNull(),
  settledAt: time('settled_at'),
  disposition: text('disposition').notNull(),
  reply: text('reply'),
  isSummarized: boolean('is_summarized').notNull(),
});

export const idempotencyKeys = holdfast.table('idempotency_keys', {
  scope: text('scope').notNull(),
  key: text('key').notNull(),
  requestSha256: text('request_sha256').notNull(),
  resourceId: uuid('resource_id'),
  status: integer('status'),
  response: json('response'),
  result: json('result'),
  createdAt: time('created_at').notNull(),
});

export const entries = holdfast.table('entries', {
  sessionId: uuid('session_id').notNull(),
  seq: count('seq').notNull(),
  id: uuid('id').notNull(),
  transcriptNo: integer('transcript_no').notNull(),
  parentSeq: count('parent_seq'),
  kind: text('kind').notNull(),
  role: text('role').notNull(),
  content: json('content').notNull(),
  turnId: uuid('turn_id').notNull(),
  state: text('state').notNull(),
  createdAt: time('created_at').notNull(),
  retiredSeq: count('retired_seq'),
  parts: json('parts'),
  provenance: json('provenance'),
  absences: multirange('absences'),
});

export const turns = holdfast.table('turns', {
  id: uuid('id').primaryKey(),
  sessionId: uuid('session_id').notNull(),
  kind: text('kind').notNull(),
  lane: text('lane').notNull(),
  status: text('status').notNull(),
  attempt: integer('attempt').notNull(),
  deaths: integer('deaths').notNull(),
  epoch: count('epoch').notNull(),
  worker: text('worker').notNull(),
  model: text('model').notNull(),
  thinking: text('thinking'),
  promptSeq: count('prompt_seq').notNull(),
  systemSha256: text('system_sha256').notNull(),
  toolsSha256: text('tools_sha256').notNull(),
  calls: integer('calls').notNull(),
  retries: integer('retries').notNull(),
  steps: integer('steps').notNull(),
  reply: text('reply'),
  error: json('error'),
  inputTokens: count('input_tokens').notNull(),
  outputTokens: count('output_tokens').notNull(),
  cacheReadTokens: count('cache_read_tokens').notNull(),
  cacheWriteTokens: count('cache_write_tokens').notNull(),
  queuedAt: time('queued_at').notNull(),
  claimedAt: time('claimed_at').notNull(),
  startedAt: time('started_at').notNull(),
  endedAt: time('ended_at'),
  view: json('view').notNull(),
});

export const modelCalls = holdfast.table('model_calls', {
  turnId: uuid('turn_id').notNull(),
  callNo: integer('call_no').notNull(),
  step: integer('step').notNull(),
  epoch: count('epoch').notNull(),
  untilSeq: count('until_seq').notNull(),
  status: text('status').notNull(),
  stopReason: text('stop_reason'),
  responseId: text('response_id'),
  error: json('error'),
  inputTokens: count('input_tokens').notNull(),
  outputTokens: count('output_tokens').notNull(),
  cacheReadTokens: count('cache_read_tokens').notNull(),
  cacheWriteTokens: count('cache_write_tokens').notNull(),
  startedAt: time('started_at').notNull(),
  firstChunkAt: time('first_chunk_at'),
  endedAt: time('ended_at').notNull(),
  purpose: text('purpose').notNull(),
  view: json('view'),
  requestSha256: text('request_sha256'),
  notes: json('notes'),
});

export const toolCalls = holdfast.table('tool_calls', {
  turnId: uuid('turn_id').notNull(),
  step: integer('step').notNull(),
  ordinal: integer('ordinal').notNull(),
  callId: text('call_id').notNull(),
  name: text('name').notNull(),
  isIdempotent: boolean('is_idempotent').notNull(),
  status: text('status').notNull(),
  epoch: count('epoch').notNull(),
  runs: integer('runs').notNull(),
  result: json('result'),
  intentAt: time('intent_at').notNull(),
  endedAt: time('ended_at'),
});

export const systemEvents = holdfast.table('system_events', {
  id: uuid('id').primaryKey(),
  sessionId: uuid('session_id').notNull(),
  text: text('text').notNull(),
  contextKey: text('context_key'),
  isTrusted: boolean('is_trusted').notNull(),
  state: text('state').notNull(),
  turnId: uuid('turn_id'),
  dropReason: text('drop_reason'),
  causeKey: text('cause_key'),
  createdAt: time('created_at').notNull(),
  settledAt: time('settled_at'),
});

export const deliveries = holdfast.table('deliveries', {
  id: uuid('id').primaryKey(),
  sessionId: uuid('session_id').notNull(),
  turnId: uuid('turn_id'),
  seq: count('seq').notNull(),
  channel: text('channel').notNull(),
  target: json('target').notNull(),
  payload: json('payload').notNull(),
  status: text('status').notNull(),
  attempts: integer('attempts').notNull(),
  dueAt: time('due_at').notNull(),
  owner: text('owner'),
  leaseExpiresAt: time('lease_expires_at'),
  expiresAt: time('expires_at').notNull(),
  lastStatus: integer('last_status'),
  lastError: text('last_error'),
  createdAt: time('created_at').notNull(),
  settledAt: time('settled_at'),
  causeKey: text('cause_key'),
});

export const events = holdfast.table('events', {
  // Transaction number << 16: past 2^53 in time, so never a JavaScript number.
  id: bigint('id', { mode: 'bigint' }).primaryKey(),
  sessionId: uuid('session_id'),
  turnId: uuid('turn_id'),
  type: text('type').notNull(),
  data: json('data').notNull(),
  createdAt: time('created_at').notNull(),
});

export const deadLetters = holdfast.table('dead_letters', {
  id: uuid('id').primaryKey(),
  kind: text('kind').notNull(),
  sessionId: uuid('session_id'),
  turnId: uuid('turn_id'),
  deliveryId: uuid('delivery_id'),
  code: text('code').notNull(),
  reason: text('reason').notNull(),
  state: text('state').notNull(),
  createdAt: time('created_at').notNull(),
  settledAt: time('settled_at'),
});
