// The copies of turns: which items are still to be copied, what is read of a turn for it, and the
// one statement that stores a copy. A copy follows from the turn alone, so any number of processes
// may copy at once: the first one to store an item wins, and an item that was erased meanwhile
// stays empty.
import { literalQuery } from '../../../database/literal-query.ts';
import type { Entry } from '../../../core/entry.ts';
import type { RecordedStep, StoredRequest } from '../rules/cases.ts';

/** An item whose turn is still to be copied. */
export interface CopiedItem {
  datasetId: string;
  n: number;
  turnId: string;
}

export const HAS_COPIES_SQL = `exists (select from holdfast.dataset_items i where i.state = 'copying')`;

export const readCopying = literalQuery({
  name: 'read-items-to-copy',
  purpose: 'Read items whose turns are still to be copied, of one data set or of all.',
  pool: 'views',
  text: `select i.dataset_id as "datasetId", i.n, i.turn_id as "turnId" from holdfast.dataset_items i
where i.state = 'copying' and ($datasetId::uuid is null or i.dataset_id = $datasetId::uuid) order by i.dataset_id, i.n limit $limit::int`,
  values: (wanted: { datasetId: string | null; limit: number }) => wanted,
  answer: (items: CopiedItem[]) => items,
});

/** A turn as far as its copy needs it. */
export interface TurnToCopy {
  /** The number of the first call for an answer, one that was answered if there is one; null: none was sent. */
  callNo: number | null;
  /** Whether it has ended without a reply. */
  isSilent: boolean;
  /** Whether its system prompt and its list of tools are still there. */
  hasSnapshots: boolean;
  /** Of its messages, in order. */
  bodies: unknown[];
  entries: Pick<Entry, 'kind' | 'content'>[];
}

export const readTurnToCopy = literalQuery({
  name: 'read-turn-to-copy',
  purpose: 'Read the first call of a turn for an answer, its messages and its entries, hidden ones too.',
  pool: 'views',
  text: `select (select c.call_no from holdfast.model_calls c where c.turn_id = t.id and c.purpose = 'answer' and c.step = 1
    and c.request_sha256 is not null order by c.status <> 'ok', c.call_no limit 1) as "callNo",
  t.status = 'silent' as "isSilent",
  exists (select from holdfast.snapshots n where n.sha256 = t.system_sha256)
    and exists (select from holdfast.snapshots n where n.sha256 = t.tools_sha256) as "hasSnapshots",
  coalesce((select json_agg(i.body order by i.seq) from holdfast.inbox i where i.turn_id = t.id and i.status <> 'dropped'), '[]') as bodies,
  coalesce((select json_agg(json_build_object('kind', e.kind, 'content', e.content) order by e.seq) from holdfast.entries e
    where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id), '[]') as entries
from holdfast.turns t where t.id = $1`,
  values: (turnId: string) => [turnId],
  answer: ([turn]: TurnToCopy[]) => turn ?? null,
});

/** What a turn has become. */
export interface TurnCopy {
  /** Why it cannot be asked again; null: it can. */
  excluded: string | null;
  callNo: number | null;
  request: StoredRequest | null;
  steps: RecordedStep[];
  input: string | null;
}

export const storeCopy = literalQuery({
  name: 'store-copy-of-turn',
  purpose: 'Store the copy of a turn in its item, unless that was copied or erased meanwhile.',
  locking: 'The item.',
  pool: 'views',
  text: `update holdfast.dataset_items i
set state = case when $excluded::text is null then 'ready' else 'excluded' end, excluded = $excluded::text, request = $request::json,
  steps = $steps::json, call_count = $callCount::int, input = $input::text, reply = t.reply, expected = to_json(t.reply),
  tags = coalesce(t.tags, '{}'), cost_micros = t.cost_micros,
  model = coalesce((select c.model from holdfast.model_calls c where c.turn_id = t.id and c.call_no = coalesce($callNo::int, 1)), t.asked_model, t.model)
from holdfast.turns t where i.dataset_id = $datasetId::uuid and i.n = $n::int and i.state = 'copying' and t.id = i.turn_id`,
  values: ({ datasetId, n }: CopiedItem, { excluded, callNo, request, steps, input }: TurnCopy) => ({
    datasetId,
    n,
    excluded,
    callNo,
    input,
    request: request === null ? null : JSON.stringify(request),
    steps: JSON.stringify(steps),
    callCount: steps.reduce((sum, { calls }) => sum + calls.length, 0),
  }),
});

export const dropCopy = literalQuery({
  name: 'drop-copy-of-turn',
  purpose:
    'Exclude an item whose turn was deleted before it was copied: an erasure may have deleted it, so nothing names it.',
  locking: 'The item.',
  pool: 'views',
  text: `update holdfast.dataset_items i set state = 'excluded', excluded = $excluded::text, turn_id = null, session_key = null, group_key = 'erased:' || i.n
where i.dataset_id = $datasetId::uuid and i.n = $n::int and i.state = 'copying' and not exists (select from holdfast.turns t where t.id = i.turn_id)`,
  values: ({ datasetId, n }: CopiedItem, excluded: string) => ({ datasetId, n, excluded }),
});
