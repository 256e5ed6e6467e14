// Pause, resume and cancel of an evaluation. They are commands to the batch that carries its present
// phase, so that there is one place where work stops; the rounds of evaluations see what has become
// of the batch. Before it runs, an evaluation has no batch, and can only be cancelled.
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { controlBatch } from '../batches/submit-batch.ts';
import { cancelPreparing, readPhase } from './store/control.ts';

// This needs nothing but the database.
export { deleteEvaluation } from './store/control.ts';

export type EvaluationVerb = 'pause' | 'resume' | 'cancel';

/** `refused`: its state does not allow it; `text` says so, and what to do. */
export type EvaluationControl = { kind: 'done' } | { kind: 'unknown' } | { kind: 'refused'; text: string };

interface EvaluationCommand {
  id: string;
  verb: EvaluationVerb;
  idempotency: KeyedRequest | null;
}

/** Carries it out. Rejects with a taken key (`isKeyTaken`). */
export async function controlEvaluation(service: Service, wanted: EvaluationCommand): Promise<EvaluationControl> {
  const { id, verb, idempotency } = wanted;
  const phase = await readPhase(service.database, id);
  if (phase === null) return { kind: 'unknown' };
  switch (phase.status) {
    case 'preparing':
      if (verb !== 'cancel')
        return refused(
          `has not begun to run, so it cannot be ${DONE[verb]}. Wait until its status is running, or cancel it`,
        );
      if (await cancelPreparing(service.database, id, idempotency)) return { kind: 'done' };
      // It has begun to run meanwhile.
      return controlEvaluation(service, wanted);
    case 'running':
    case 'judging':
      return controlPhase(service, phase.batchId, wanted);
    case 'ended':
      if (verb === 'cancel' && (await cancelPreparing(service.database, id, idempotency))) return { kind: 'done' };
      return refused(`has ended, so it cannot be ${DONE[verb]}`);
    default:
      return phase.status satisfies never;
  }
}

const DONE = { pause: 'paused', resume: 'resumed', cancel: 'cancelled' } as const satisfies Record<
  EvaluationVerb,
  string
>;

function refused(why: string): EvaluationControl {
  return { kind: 'refused', text: `The evaluation ${why}.` };
}

async function controlPhase(
  { database }: Service,
  batchId: string,
  { verb, idempotency }: EvaluationCommand,
): Promise<EvaluationControl> {
  // What a cancelled evaluation still runs would cost money for results that nothing is decided by.
  const command = verb === 'cancel' ? { kind: verb, stopsRunning: true } : { kind: verb };
  const result = await controlBatch(database, { batchId, command, idempotency });
  switch (result.kind) {
    case 'done':
      return result;
    case 'unknown':
      return refused(
        `cannot be ${DONE[verb]} now: its batch ${batchId} is being started, or was deleted. Try again in a few seconds`,
      );
    case 'refused':
      if (result.isOverCap && result.status === 'paused')
        return refused(
          `has reached its cost limit. Raise maxCostUsd of the batch ${batchId}, then resume the evaluation`,
        );
      if (result.status === 'ended')
        return refused(
          `cannot be ${DONE[verb]} now: its runs have ended and are being graded. Read it again in a few seconds`,
        );
      return refused(`cannot be ${DONE[verb]}: its batch ${batchId} is ${result.status}`);
    default:
      return result satisfies never;
  }
}
