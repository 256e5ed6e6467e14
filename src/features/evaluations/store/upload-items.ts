// The batches that carry an evaluation. The number of an item follows from its place alone, so all
// items of a phase can be sent again, by any number of schedulers: an item that is stored stays.
// Reading them takes long at times, so it is done before the one transaction that begins the phase.
import type { EvaluationRef, InboundMessage } from '../../../core/inbound.ts';
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { addItems, awaitUpload, startBatch, type NewItem } from '../../batches/store/upload.ts';
import { nameOfPlace, sessionKeyOf, type RunPlace } from '../rules/runs.ts';
import { enterPhase, IN_PART_SQL, partValues, type OpenEvaluation, type Part, type Phase } from './evaluations.ts';

/** A run or a judgement as an item of a batch. */
export interface CarriedItem {
  /** Its number in the batch; some numbers have no item. */
  n: number;
  place: RunPlace;
  agentId: string;
  body: InboundMessage;
}

/** Items of one statement, and the most characters of their bodies; one item has more at times. */
const PORTION_ITEMS = 500;
const PORTION_CHARS = 4_000_000;

interface Sending {
  batchId: string;
  items: AsyncIterable<CarriedItem>;
  signal: AbortSignal;
  portionChars?: number;
}

/** Stores all items of a batch; those that are there stay. Resolves with how many; null: it was broken off. */
export async function sendItems(
  database: Database,
  { id }: Pick<OpenEvaluation, 'id'>,
  { batchId, items, signal, portionChars = PORTION_CHARS }: Sending,
): Promise<number | null> {
  let portion: NewItem[] = [];
  let sent = 0;
  let chars = 0;
  for await (const item of items) {
    if (signal.aborted) break;
    const added = toNewItem(id, item);
    chars += added.body.length;
    if (portion.length === PORTION_ITEMS || (portion.length > 0 && chars > portionChars)) {
      await addItems(database, batchId, portion);
      portion = [];
      chars = added.body.length;
    }
    portion.push(added);
    sent += 1;
  }
  if (signal.aborted) return null;
  if (portion.length > 0) await addItems(database, batchId, portion);
  return sent;
}

function toNewItem(id: string, { n, place, agentId, body }: CarriedItem): NewItem {
  const ref: EvaluationRef = { id, ...place };
  return {
    n,
    customId: nameOfPlace(place),
    sessionKey: sessionKeyOf(agentId, ref),
    isOwnSession: false,
    afterN: null,
    body: JSON.stringify(body),
  };
}

export const countItems = literalQuery({
  name: 'count-evaluation-items',
  purpose: 'Count the items of a batch that carries an evaluation.',
  text: `select count(*)::int as items from holdfast.batch_items where batch_id = $1`,
  values: (batchId: string) => [batchId],
  answer: ([row]: { items: number }[]) => row?.items ?? 0,
});

/**
 * Starts the batch with all its items, and the phase with it. Resolves with how many there are; 0:
 * none, so nothing has begun. Null: another process was first, or the batch was deleted meanwhile.
 */
export function startPhase(
  database: Database,
  evaluation: OpenEvaluation,
  { phase, batchId, sent }: { phase: Phase; batchId: string; sent: number },
): Promise<number | null> {
  return transaction(database.views, async (tx) => {
    // Nothing is added to a batch that is locked. An item that was erased since another process has
    // sent it is stored and was not sent.
    const [isThere, carried] = await Promise.all([awaitUpload(tx, batchId), countItems(tx, batchId)]);
    if (!isThere || carried < sent) return null;
    if (carried === 0) return 0;
    if (!(await enterPhase(tx, evaluation, phase, carried))) return null;
    await startBatch(tx, { batchId, itemCount: carried, idempotency: null });
    return carried;
  });
}

/** An item of a data set as its runs need it. */
export interface AskedItem {
  n: number;
  agentId: string;
  input: string;
  turnId: string | null;
  hasRequest: boolean;
}

/** Items of one page, and the most characters of their inputs; one item has more at times. */
const PAGE_ITEMS = 500;

export const readAskedItems = literalQuery({
  name: 'evaluated-items',
  purpose: 'Read the items of a part of a data set that can be run, after a number.',
  pool: 'views',
  text: `select n, agent_id as "agentId", coalesce(input, '') as input, turn_id as "turnId", has_request as "hasRequest"
from (
  select page.*, sum(length(page.input)) over (order by page.n) - length(page.input) as before
  from (
    select i.n, i.agent_id, i.input, i.turn_id, i.request is not null as has_request
    from holdfast.dataset_items i where ${IN_PART_SQL} and i.state = 'ready' and i.n > $afterN order by i.n limit ${PAGE_ITEMS}
  ) as page
) as sized
where coalesce(before, 0) < ${PORTION_CHARS} order by n`,
  values: (part: Part, afterN: number) => ({ ...partValues(part), afterN }),
  answer: (rows: AskedItem[]) => rows,
});
