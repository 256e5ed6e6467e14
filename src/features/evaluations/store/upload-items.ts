// The items of the batches that carry an evaluation, in portions: each is stored in a transaction
// that holds the evaluation, so that any number of schedulers may do it, and continues after the last
// stored item, so that a crash leaves out nothing.
import type { Database } from '../../../database/database.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import { transaction } from '../../../database/transaction.ts';
import { addItems } from '../../batches/store/upload.ts';
import type { EvaluationRef, InboundMessage } from '../../../core/inbound.ts';
import { nameOfPlace, placeOfName, type RunPlace } from '../rules/carried.ts';
import { sessionKeyOf } from '../rules/runs.ts';
import { IN_PART_SQL, partValues, type OpenEvaluation, type Part } from './evaluations.ts';

/** An item of a batch before it has its number. */
export interface CarriedItem {
  place: RunPlace;
  agentId: string;
  body: InboundMessage;
}

/** Items of one statement, and the most characters of their bodies. */
export const PORTION_ITEMS = 500;
const PORTION_CHARS = 4_000_000;

export const holdEvaluation = literalQuery({
  name: 'hold-evaluation',
  purpose:
    'Hold an evaluation in a phase while a portion of its items is stored. Answers a row, unless another process holds it.',
  locking: 'The evaluation, unless it is locked.',
  text: `select e.id from holdfast.evaluations e where e.id = $1 and e.status = $2 for no key update skip locked`,
  values: ({ id, status }: OpenEvaluation) => [id, status],
  answer: (rows: object[]) => rows.length > 0,
});

// An erasure takes the name of an item; the runs after it are found by the last one that has its own.
export const readLastItem = literalQuery({
  name: 'last-evaluation-item',
  purpose: 'Read the last number and the last name of the items of a batch that takes items.',
  text: `select coalesce((select max(i.n) from holdfast.batch_items i where i.batch_id = b.id), 0) as n,
  (select i.custom_id from holdfast.batch_items i where i.batch_id = b.id and i.custom_id is not null order by i.n desc limit 1) as name
from holdfast.batches b where b.id = $1 and b.status = 'uploading'`,
  values: (batchId: string) => [batchId],
  answer: ([last]: { n: number; name: string | null }[]) => last ?? null,
});

/** `busy`: another process does it, or the batch takes no items. `none`: there are no more. */
export type UploadStep = 'stored' | 'none' | 'busy';

/** Stores the next items. `read`: those after the last one, at least one if there are more. */
export function addPortion(
  database: Database,
  evaluation: OpenEvaluation,
  batchId: string,
  read: (after: RunPlace | null) => Promise<CarriedItem[]>,
): Promise<UploadStep> {
  return transaction(database.views, async (tx): Promise<UploadStep> => {
    if (!(await holdEvaluation(tx, evaluation))) return 'busy';
    const last = await readLastItem(tx, batchId);
    if (last === null) return 'busy';
    const items = await read(last.name === null ? null : placeOfName(last.name));
    let chars = 0;
    const portion = items.slice(0, PORTION_ITEMS).flatMap(({ place, agentId, body }, index) => {
      const text = JSON.stringify(body);
      chars += text.length;
      // One that is too long alone is a portion by itself.
      if (index > 0 && chars > PORTION_CHARS) return [];
      const ref: EvaluationRef = { id: evaluation.id, ...place };
      return [
        {
          n: last.n + index + 1,
          customId: nameOfPlace(place),
          sessionKey: sessionKeyOf(agentId, ref),
          isOwnSession: false,
          afterN: null,
          body: text,
        },
      ];
    });
    if (portion.length === 0) return 'none';
    await addItems(tx, batchId, portion);
    return 'stored';
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

// Inputs are long at times, so a page has at most so many characters, and one item in any case.
export const readAskedItems = literalQuery({
  name: 'evaluated-items',
  purpose: 'Read the items of a part of a data set that can be run, from a number on.',
  pool: 'views',
  text: `select n, agent_id as "agentId", coalesce(input, '') as input, turn_id as "turnId", has_request as "hasRequest"
from (
  select page.*, sum(length(page.input)) over (order by page.n) - length(page.input) as before
  from (
    select i.n, i.agent_id, i.input, i.turn_id, i.request is not null as has_request
    from holdfast.dataset_items i where ${IN_PART_SQL} and i.state = 'ready' and i.n >= $fromN order by i.n limit $limit
  ) as page
) as sized
where coalesce(before, 0) < ${PORTION_CHARS} order by n`,
  values: (part: Part, { fromN, limit }: { fromN: number; limit: number }) => ({ ...partValues(part), fromN, limit }),
  answer: (rows: AskedItem[]) => rows,
});
