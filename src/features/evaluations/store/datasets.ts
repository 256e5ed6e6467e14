// Data sets as rows: made, given items, deleted. An addition is one transaction that holds the row
// of the data set, so versions and numbers have no gaps, and a turn is in a data set once.
import type { Database } from '../../../database/database.ts';
import { keyedSql, storeKey, type KeyedRequest } from '../../../database/idempotency.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { selectRecordsSql, toRecords, type SqlColumns } from '../../../database/statement.ts';
import { transaction } from '../../../database/transaction.ts';
import { ERASING } from '../../../core/session-key.ts';
import type { Tags } from '../../../core/input-options.ts';
import { splitOf, type RecordedStep } from '../rules/cases.ts';

export interface NewDataset {
  id: string;
  name: string;
  description: string | null;
  agentId: string;
  heldBackPercent: number;
  createdBy: string;
}

export const createDataset = literalQuery({
  name: 'create-dataset',
  purpose: 'Store a data set. Answers whether it is there: another one may have its name.',
  pool: 'views',
  text: `with made as (
  insert into holdfast.datasets (id, name, description, agent_id, held_back_percent, created_by)
  values ($id::uuid, $name::text, $description::text, $agentId::text, $heldBackPercent::int, $createdBy::text)
  on conflict do nothing
  returning id
),
${keyedSql(`select json_build_object('id', id) from made`)}
-- The statement is sent again after a lost answer.
select id from made union all select d.id from holdfast.datasets d where d.id = $id::uuid`,
  values: (dataset: NewDataset, idempotency: KeyedRequest | null) => ({ ...dataset, ...idempotency }),
  answer: (rows) => rows.length > 0,
});

/** A turn that may become an item. */
export interface ChosenTurn {
  turnId: string;
  sessionKey: string;
  agentId: string;
  /** The root of its session, so that a conversation with its subagents, forks and tries is one. */
  group: string;
  status: string;
  hasEnded: boolean;
}

export const readChosenTurns = literalQuery({
  name: 'read-chosen-turns',
  purpose: 'Read the sessions of turns that may become items, but for sessions that are being erased.',
  pool: 'views',
  text: `select t.id as "turnId", s.key as "sessionKey", s.agent_id as "agentId", coalesce(s.root, s.key) as "group", t.status,
  t.ended_at is not null as "hasEnded"
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id
where t.id = any ($1::uuid[]) and not starts_with(s.key, '${ERASING}')`,
  values: (turnIds: readonly string[]) => [turnIds],
  answer: (turns: ChosenTurn[]) => new Map(turns.map((turn) => [turn.turnId, turn])),
});

/** An item as it is added: a turn that is still to be copied, or a line, which is ready. */
export interface NewDatasetItem {
  turnId: string | null;
  sessionKey: string | null;
  /** Null: that of the data set. */
  agentId: string | null;
  group: string;
  input: string | null;
  /** Undefined: there is none. */
  expected?: unknown;
  tags: Tags;
  metadata: object;
  steps: RecordedStep[];
}

type PlacedItem = NewDatasetItem & { n: number; split: string };

const ITEM: SqlColumns<PlacedItem> = {
  n: ['int', ({ n }) => n],
  state: ['text', ({ turnId }) => (turnId === null ? 'ready' : 'copying')],
  split: ['text', ({ split }) => split],
  group_key: ['text', ({ group }) => group],
  turn_id: ['uuid', ({ turnId }) => turnId],
  session_key: ['text', ({ sessionKey }) => sessionKey],
  agent_id: ['text', ({ agentId }) => agentId],
  input: ['text', ({ input }) => input],
  expected: ['json', ({ expected }) => (expected === undefined ? null : JSON.stringify(expected))],
  tags: ['json', ({ tags }) => JSON.stringify(tags)],
  metadata: ['json', ({ metadata }) => JSON.stringify(metadata)],
  steps: ['json', ({ steps }) => JSON.stringify(steps)],
  call_count: ['int', ({ steps }) => steps.reduce((sum, { calls }) => sum + calls.length, 0)],
};

/** What the items lack: the agent of the data set asks lines, and tags are searched. */
const ITEM_SQL: Partial<Record<string, string>> = {
  agent_id: 'coalesce(i.agent_id, d.agent_id)',
  tags: 'i.tags::jsonb',
};

interface HeldDataset {
  version: number;
  itemCount: number;
  heldBackPercent: number;
}

export const holdDataset = literalQuery({
  name: 'hold-dataset',
  purpose: 'Lock a data set, so that nothing is added to it, and no evaluation of it begins. Answers how far it is.',
  locking: 'The data set.',
  pool: 'views',
  text: `select version, item_count as "itemCount", held_back_percent as "heldBackPercent" from holdfast.datasets where id = $1 for update`,
  values: (id: string) => [id],
  answer: ([held]: HeldDataset[]) => held ?? null,
});

export const readKnownTurns = literalQuery({
  name: 'read-turns-of-dataset',
  purpose: 'Read which of some turns ($2) a data set ($1) has.',
  pool: 'views',
  text: 'select i.turn_id as id from holdfast.dataset_items i where i.dataset_id = $1 and i.turn_id = any ($2::uuid[])',
  values: (id: string, turnIds: readonly string[]) => [id, turnIds],
  answer: (turns: { id: string }[]) => new Set(turns.map((turn) => turn.id)),
});

export const insertItems = literalQuery({
  name: 'insert-dataset-items',
  purpose: 'Store items of a version of a data set.',
  locking: 'None: the transaction holds the data set.',
  pool: 'views',
  text: `insert into holdfast.dataset_items (dataset_id, version, ${Object.keys(ITEM).join(', ')})
select d.id, $version::int, ${Object.keys(ITEM)
    .map((column) => ITEM_SQL[column] ?? `i.${column}`)
    .join(', ')}
from holdfast.datasets d cross join (${selectRecordsSql('$items', ITEM)}) as i where d.id = $id::uuid`,
  values: (id: string, { version, items }: { version: number; items: readonly PlacedItem[] }) => ({
    id,
    version,
    items: toRecords(items, ITEM),
  }),
});

export const raiseVersion = literalQuery({
  name: 'raise-dataset-version',
  purpose: 'Store the new version of a data set, and how many items it has.',
  locking: 'None: the transaction holds the data set.',
  pool: 'views',
  text: `update holdfast.datasets set version = $2, item_count = $3, updated_at = clock_timestamp() where id = $1`,
  values: (id: string, version: number, itemCount: number) => [id, version, itemCount],
});

/** Items of one statement. */
const PORTION_ITEMS = 500;

export interface Addition {
  version: number;
  added: number;
}

/**
 * Adds items as one version, but for turns that the data set has; null: there is no such data set.
 * Without anything new, the version stays. Rejects as `isKeyTaken` says when another request has
 * stored the key.
 */
export function addItems(
  database: Database,
  { id, items, idempotency }: { id: string; items: readonly NewDatasetItem[]; idempotency: KeyedRequest | null },
): Promise<Addition | null> {
  return transaction(database.views, async (tx) => {
    const held = await holdDataset(tx, id);
    if (held === null) return null;
    const turnIds = items.flatMap(({ turnId }) => turnId ?? []);
    const known = turnIds.length === 0 ? new Set() : await readKnownTurns(tx, id, turnIds);
    const placed = items
      .filter(({ turnId }) => !known.has(turnId))
      .map((item, at) => ({
        ...item,
        n: held.itemCount + at + 1,
        split: splitOf(item.group, held.heldBackPercent),
      }));
    const version = held.version + (placed.length === 0 ? 0 : 1);
    for (let at = 0; at < placed.length; at += PORTION_ITEMS)
      await insertItems(tx, id, { version, items: placed.slice(at, at + PORTION_ITEMS) });
    if (placed.length > 0) await raiseVersion(tx, id, version, held.itemCount + placed.length);
    const added = { version, added: placed.length };
    await storeKey(tx, idempotency, added);
    return added;
  });
}

export const isBeingEvaluated = literalQuery({
  name: 'is-dataset-being-evaluated',
  purpose: 'Say whether an evaluation of a data set has not ended.',
  pool: 'views',
  text: `select exists (select from holdfast.evaluations e where e.dataset_id = $1 and e.status <> 'ended') as yes`,
  values: (id: string) => [id],
  answer: ([row]: { yes: boolean }[]) => row?.yes === true,
});

export const deleteDataset = literalQuery({
  name: 'delete-dataset',
  purpose: 'Delete a data set with its items and its evaluations.',
  locking: 'None: the transaction holds the data set.',
  pool: 'views',
  text: `with gone as (delete from holdfast.evaluations e where e.dataset_id = $1 returning e.id),
runs as (delete from holdfast.evaluation_runs r using gone where r.evaluation_id = gone.id),
items as (delete from holdfast.dataset_items i where i.dataset_id = $1)
delete from holdfast.datasets d where d.id = $1`,
  values: (id: string) => [id],
});

/** `open`: an evaluation of it has not ended. */
export function removeDataset(database: Database, id: string): Promise<'done' | 'unknown' | 'open'> {
  return transaction(database.views, async (tx) => {
    if ((await holdDataset(tx, id)) === null) return 'unknown';
    if (await isBeingEvaluated(tx, id)) return 'open';
    await deleteDataset(tx, id);
    return 'done';
  });
}
