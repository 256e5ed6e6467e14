// How the rows of each table are deleted over time. A new table needs a line here, or the test of this file fails: no table grows without a decision.

/** Why rows leave a table, or why they stay. */
export type TableFate =
  /** Deleted by the pass of this kind (`retention-kinds.ts`). */
  | { kind: 'pass'; by: string }
  /** Deleted in another way. */
  | { kind: 'elsewhere'; how: string }
  /** Not deleted by age. */
  | { kind: 'kept'; why: string };

const pass = (by: string): TableFate => ({ kind: 'pass', by });
const elsewhere = (how: string): TableFate => ({ kind: 'elsewhere', how });
const kept = (why: string): TableFate => ({ kind: 'kept', why });

export const TABLE_FATES: Readonly<Record<string, TableFate>> = {
  api_keys: kept('made by people'),
  attention_marks: elsewhere('when the next problem is marked'),
  audit: kept('made by people'),
  batch_hops: elsewhere('with their batch'),
  batch_items: elsewhere('with their batch'),
  batch_minutes: elsewhere('with their batch'),
  batches: elsewhere('batches.retention'),
  budget_windows: kept('one for each budget and window of time'),
  budgets: kept('made by people'),
  bulk_action_items: elsewhere('with their action'),
  bulk_actions: elsewhere('batches.retention'),
  cache_rates: kept('one for each account and model'),
  charged_inputs: pass('messages'),
  client_batches: elsewhere('batches.retention'),
  client_file_parts: elsewhere('with their file'),
  client_files: elsewhere('openai.fileDays'),
  client_requests: elsewhere('ten minutes after the request'),
  client_sessions: kept('with the session that it names'),
  compactions: pass('transcripts'),
  cost_reservations: elsewhere('when the call ends'),
  cron_fires: elsewhere('30 days after the fire'),
  crons: kept('made by people and agents'),
  dead_letters: pass('deadLetters'),
  deliveries: pass('deliveries'),
  doorbells: elsewhere('when the session has no more work'),
  earlier_costs: pass('turns'),
  ended_transcripts: pass('transcripts'),
  entries: pass('transcripts'),
  event_ids: kept('one row'),
  events: elsewhere('retention.events'),
  heartbeat_states: kept('one for each agent'),
  heartbeats: elsewhere('retention.events'),
  hidden_responses: pass('messages'),
  idempotency_keys: pass('idempotencyKeys'),
  inbox: pass('messages'),
  lost_workers: elsewhere('a day after the loss'),
  memory_chunks: elsewhere('with their file'),
  memory_files: elsewhere('when no search names the content any more'),
  migrations: kept('one for each migration'),
  minute_marks: elsewhere('two days after the minute'),
  minute_samples: elsewhere('two days after the minute'),
  model_blocks: kept('one for each account and model'),
  model_calls: pass('turns'),
  pauses: elsewhere('when a person resumes'),
  price_versions: kept('one for each version of the price table'),
  process_inputs: elsewhere('when the command ends'),
  processes: pass('processes'),
  provider_batches: kept('one for each submission of up to 100,000 requests'),
  provider_requests: pass('turns'),
  rate_demands: elsewhere('a minute after the worker was seen last'),
  rate_windows: kept('one for each limit and unit'),
  repricings: kept('made by people'),
  retention: kept('one for each kind'),
  roll_up_cursor: kept('one row'),
  row_counts: kept('one for each subject and status'),
  sessions: kept('a conversation stays until a person deletes it'),
  sign_in_codes: elsewhere('when they expire'),
  snapshots: kept('one for each different system prompt, tool list and image'),
  subagent_runs: kept('with the sessions that they connect'),
  system_events: pass('systemEvents'),
  tool_calls: pass('turns'),
  turn_attempts: pass('turns'),
  turns: pass('turns'),
  usage_buckets: kept('the sums outlive the rows: one for each hour, agent, model and lane'),
  web_sessions: elsewhere('when they expire'),
  workers: elsewhere('retention.events after the loss'),
  yields: elsewhere('when the session continues'),
};
