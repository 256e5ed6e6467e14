// No table grows without a decision, and none keeps something of a session that is erased: each
// table of the catalogue is in one of these lists, or in those that make the statements.
import { expect, test } from 'vitest';
import { ERASED_ROWS } from '../../../src/features/erasure/store/erased-rows.ts';
import { RETENTION_KINDS } from '../../../src/features/retention/retention-kinds.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from '../../store/store-rig.ts';

let rig: StoreRig;
shareAmongTests(async (onEnd) => {
  const made = await createStoreRig();
  rig = made;
  onEnd(() => made.drop());
});

/** Tables by when, or with what, their rows are deleted otherwise. */
const DELETED_OTHERWISE = {
  'retention.events': ['events', 'heartbeats'],
  'retention.events after the loss': ['workers'],
  'batches.retention': ['batches', 'bulk_actions', 'client_batches'],
  'openai.fileDays': ['client_files'],
  'with their batch': ['batch_hops', 'batch_items', 'batch_minutes'],
  'with their entry or turn': ['search_texts'],
  'with their action': ['bulk_action_items'],
  'a day after the problem, and with their destination': ['alerts'],
  'with their file': ['client_file_parts', 'memory_chunks'],
  'with their call': ['earlier_costs'],
  'when no search names the content any more': ['memory_files'],
  'when the next problem is marked': ['attention_marks'],
  'when the call ends': ['cost_reservations'],
  'when the command ends': ['process_inputs'],
  'when the session continues': ['yields'],
  'when they are carried out': ['effects'],
  'when the session has no more work': ['doorbells'],
  'when a person resumes': ['pauses'],
  'when they expire': ['sign_in_codes', 'web_sessions'],
  'a minute after the worker was seen last': ['rate_demands'],
  'ten minutes after the request': ['client_requests'],
  'a day after the loss': ['lost_workers'],
  'two days after the minute': ['minute_marks', 'minute_samples'],
  '30 days after the fire': ['cron_fires'],
  'an hour after the chat has no wait any more': ['channel_gates'],
  'seven days after they were said': ['channel_context'],
  'a day after they were begun': ['channel_previews'],
};

/** Tables by the reason why their rows are not deleted by age. */
const KEPT = {
  'made by people and agents': [
    'alert_destinations',
    'api_keys',
    'audit',
    'budgets',
    'crons',
    'dataset_items',
    'datasets',
    'evaluation_runs',
    'evaluations',
    'pairings',
    'repricings',
  ],
  'a conversation stays until a person deletes it': ['sessions', 'canvases', 'client_sessions', 'subagent_runs'],
  'the sums outlive the rows: one for each hour, agent, model and lane': ['usage_buckets'],
  'one row, or one for each of few things': [
    'budget_windows',
    'cache_rates',
    'channel_accounts',
    'event_ids',
    'heartbeat_states',
    'mcp_logins',
    'mcp_servers',
    'mcp_tools',
    'migrations',
    'model_blocks',
    'price_versions',
    'rate_windows',
    'retention',
    'roll_up_cursor',
    'row_counts',
    'search_position',
    'scopes',
    'token_secrets',
  ],
  'one for each submission of up to 100,000 requests': ['provider_batches'],
  'one for each different system prompt, tool list and image': ['snapshots'],
};

/** The tables whose rows the passes delete. */
const TABLES_OF_PASSES = RETENTION_KINDS.flatMap((deleteSome) =>
  [...deleteSome.render(new Set()).text.matchAll(/delete from holdfast\.(\w+)/g)].map(([, name = '']) => name),
);

test('every table either has a deletion rule or a reason to be kept', async () => {
  const tables = await rig.rows(`select tablename as name from pg_tables where schemaname = 'holdfast'`);
  const decided = [DELETED_OTHERWISE, KEPT].flatMap((each) => Object.values(each).flat());
  expect([...decided, ...TABLES_OF_PASSES].toSorted()).toEqual(tables.map((row) => String(row['name'])).toSorted());
});

test('no foreign key prevents a pass from deleting its rows', async () => {
  const keys = await rig.rows(
    `select c.confrelid::regclass::text as target from pg_constraint c where c.contype = 'f' and c.confdeltype <> 'c' and c.connamespace = 'holdfast'::regnamespace`,
  );
  const deleted = TABLES_OF_PASSES.map((name) => `holdfast.${name}`);
  expect(keys.map((row) => row['target']).filter((name) => deleted.includes(String(name)))).toEqual([]);
});

/** Deleted by an erasure in statements of their own, with what depends on them. */
const ERASED_OTHERWISE = [
  'sessions',
  'subagent_runs',
  'effects',
  'processes',
  'cost_reservations',
  'crons',
  'idempotency_keys',
  'snapshots',
  'search_texts',
  'channel_previews',
];

/** Tables that refer to sessions, turns or messages and keep their rows, with the reason. */
const KEPT_BY_ERASURE: Record<string, string> = {
  batch_items: 'emptied; the batch keeps its numbers',
  bulk_action_items: 'ids only, for 30 days',
  dataset_items: 'emptied; the data set keeps its numbers',
  evaluation_runs: 'the words of runs of emptied items are; ids of runs only, which are erased with the session',
  cron_fires: 'go with their cron; those of other crons have ids only',
};

test('an erasure covers every table that refers to a session', async () => {
  const { rows } = await rig.database.views.query<{ table: string }>(
    `select distinct c.table_name as table from information_schema.columns c
      join information_schema.tables t using (table_schema, table_name)
      where c.table_schema = 'holdfast' and t.table_type = 'BASE TABLE'
        and c.column_name ~ '(^|_)(session|turn|message|child|parent|process|inbox|entry|delivery)_(id|key)$' order by 1`,
  );
  const known = new Set([
    ...ERASED_ROWS.flatMap(({ tables }) => tables),
    ...ERASED_OTHERWISE,
    ...Object.keys(KEPT_BY_ERASURE),
  ]);
  expect(rows.map(({ table }) => table).filter((table) => !known.has(table))).toEqual([]);
});
