// What operators do to the service: pause work, lift the blocks of models, drain a process, abandon a submission to the provider, and decide
// about a problem.
import type { BlockView } from '../contract/model-blocks.ts';
import type { PauseView } from '../contract/pauses.ts';
import * as marks from '../store/attention-marks.ts';
import * as blocks from '../store/governor/unblock-models.ts';
import type { KeyedRequest } from '../store/idempotency.ts';
import { pause, resume } from '../store/pauses.ts';
import * as submissions from '../store/provider-lane/forget-submission.ts';
import type { PauseScope } from '../store/views/pauses.ts';
import * as workers from '../store/workers/drain-worker.ts';
import type { Service } from './service.ts';

/** Pauses the sessions that match the scope; null: there are too many pauses. Claims that are already held are not undone. */
export function pauseWork(
  { database }: Service,
  scope: PauseScope,
  facts: { reason: string | null; by: string; idempotency: KeyedRequest | null },
): Promise<PauseView | null> {
  return pause(database, scope, facts);
}

/** Ends the pause of this scope, or all pauses if the scope is empty, and rings for the sessions that can run again. */
export async function resumeWork(
  { database, publish }: Service,
  scope: PauseScope,
  idempotency: KeyedRequest | null,
): Promise<{ ended: PauseView[] }> {
  return publish(await resume(database, scope, idempotency));
}

/** Lifts the blocks of a model, or all if `model` is null, and rings for the turns that wait for it. */
export async function liftBlocks(
  { database, publish }: Service,
  model: string | null,
  idempotency: KeyedRequest | null,
): Promise<{ lifted: BlockView[] }> {
  return publish(await blocks.unblockModels(database, model, idempotency));
}

type IdRequest = { id: string; idempotency: KeyedRequest | null };

/** Asks a process to drain; it notices at its next report, and drains as with SIGTERM. */
export function drainWorker({ database }: Service, request: IdRequest): Promise<workers.WorkerDrain> {
  return workers.drainWorker(database, request);
}

/** Gives a submission to the provider up: its requests are queued again, and go into another submission. */
export function forgetSubmission({ database }: Service, request: IdRequest): Promise<submissions.Forgetting> {
  return submissions.forgetSubmission(database, request);
}

/** Stores who has decided what about a problem, and why; `seconds` is null: it is acknowledged. */
export function markAttention(
  { database }: Service,
  decision: { id: string; seconds: number | null; count: number; reason: string | null; by: string },
  idempotency: KeyedRequest | null,
): Promise<void> {
  return marks.markAttention(database, decision, idempotency);
}
