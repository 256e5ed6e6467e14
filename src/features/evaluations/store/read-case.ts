// What a turn of an evaluation needs: the item that it asks again, and how.
import type { EvaluationRef } from '../../../core/inbound.ts';
import { literalQuery } from '../../../database/literal-query.ts';
import type { RecordedStep, StoredRequest } from '../rules/cases.ts';
import type { EvaluationSpec } from '../rules/runs.ts';

const ASKED = `holdfast.evaluations e
join holdfast.dataset_items i on i.dataset_id = e.dataset_id and i.n = $2 and i.state = 'ready' where e.id = $1`;

const values = ({ id, n }: EvaluationRef) => [id, n];

/** What the first call of a run sends. */
export interface AskedRequest {
  /** Null: it was sent as a line. */
  request: StoredRequest | null;
  spec: EvaluationSpec;
}

/** Null: the item was erased, or the evaluation deleted. */
export const readAskedRequest = literalQuery({
  name: 'read-asked-request',
  purpose: 'Read the stored request of an item, with the evaluation that runs it.',
  pool: 'views',
  text: `select i.request, e.spec from ${ASKED}`,
  values,
  answer: ([found]: AskedRequest[]) => found ?? null,
});

/** What the calls of a run are answered with. */
export interface AskedSteps {
  steps: RecordedStep[];
  spec: EvaluationSpec;
}

/** Null: the item was erased, or the evaluation deleted. */
export const readAskedSteps = literalQuery({
  name: 'read-asked-steps',
  purpose: 'Read the recorded steps of an item, with the evaluation that runs it.',
  pool: 'views',
  text: `select i.steps, e.spec from ${ASKED}`,
  values,
  answer: ([found]: AskedSteps[]) => found ?? null,
});
