// What `commit-step` stores with the calls that wait for an approval: their requests, in one commit with the answer and its ledger.
import { cte, optional, rows } from '../../../database/statement.ts';
import { createStepStatement } from '../../../kernel/turn/journal/commit-step.ts';
import type { JournalWrite } from '../../../kernel/turn/journal/journal.ts';

type Writes = readonly JournalWrite[];

/** A request as it is stored with its call. */
export interface NewApproval {
  id: string;
  tool: string;
  input: unknown;
  folder: string;
  whatSha256: string;
  reasons: readonly string[];
}

function pickApprovals(writes: Writes) {
  return writes.flatMap(({ heldIntents = [] }, index) =>
    heldIntents.flatMap(({ code, step, ordinal, callId, forMs, facts }) =>
      // The feature that holds a call under this code has made its facts.
      code === 'approval' ? [{ n: index + 1, step, ordinal, callId, forMs, row: facts as NewApproval }] : [],
    ),
  );
}

export const APPROVAL_PARTS = [
  ...optional('approvals', (writes: Writes) => pickApprovals(writes).length > 0)(
    rows('new_approvals', pickApprovals, {
      n: ['int', ({ n }) => n],
      step: ['int', ({ step }) => step],
      ordinal: ['int', ({ ordinal }) => ordinal],
      call_id: ['text', ({ callId }) => callId],
      for_ms: ['bigint', ({ forMs }) => Math.ceil(forMs)],
      id: ['uuid', ({ row }) => row.id],
      tool: ['text', ({ row }) => row.tool],
      input: ['json', ({ row }) => JSON.stringify(row.input) ?? 'null'],
      folder: ['text', ({ row }) => row.folder],
      what_sha256: ['text', ({ row }) => row.whatSha256],
      reasons: ['json', ({ row }) => JSON.stringify(row.reasons)],
    }),
    cte(`stored_approvals as (
  insert into holdfast.approvals (id, session_id, turn_id, step, ordinal, call_id, tool, input, folder, what_sha256, reasons, requested_at, expires_at)
  select a.id, fence.session_id, fence.turn_id, a.step, a.ordinal, a.call_id, a.tool, a.input, a.folder, a.what_sha256, a.reasons,
    statement_timestamp(), statement_timestamp() + a.for_ms * interval '1 millisecond'
  from new_approvals a join fence on fence.n = a.n
)`),
  ),
];

/** As it is sent, for `npm run sql`. */
export const COMMIT_STEP = createStepStatement(APPROVAL_PARTS);
