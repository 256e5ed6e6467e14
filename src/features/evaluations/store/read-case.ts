// What a turn of an evaluation needs: the item that it asks again, and how.
import type { EvaluationRef } from '../../../core/inbound.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { RecordedStep, StoredRequest } from '../rules/cases.ts';
import type { EvaluationSpec } from '../rules/runs.ts';

/** An item with the evaluation that asks it. */
export interface AskedCase {
  /** Null: it was sent as a line. */
  request: StoredRequest | null;
  steps: RecordedStep[];
  spec: EvaluationSpec;
}

/** Null: the item was erased, or the evaluation deleted. */
export const readCase = literalQuery({
  name: 'read-evaluation-case',
  purpose: 'Read the stored request and the recorded steps of an item, with the evaluation that runs it.',
  pool: 'views',
  text: `select i.request, i.steps, e.spec from holdfast.evaluations e
join holdfast.dataset_items i on i.dataset_id = e.dataset_id and i.n = $2 and i.state = 'ready' where e.id = $1`,
  values: ({ id, n }: EvaluationRef) => [id, n],
  answer: ([found]: AskedCase[]) => found ?? null,
});
