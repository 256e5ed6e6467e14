// The collector: groups queued requests and submits them to the provider. What is about to be sent
// is committed first, so a crash at any point leaves an open submission, which is sent, or an
// unknown one, which is searched for (follow-submission.ts).
import { gunzipSync } from 'node:zlib';
import { newId } from '../../ids.ts';
import { formatCustomId } from './rules/request-end.ts';
import { decideRefusal } from './rules/submission.ts';
import type { SubmitOutcome } from './batch-port.ts';
import { pauseRefused } from '../batches/store/control.ts';
import { storeResults } from './store/store-results.ts';
import {
  beginSubmission,
  noteSubmitted,
  noteUnknown,
  openSubmission,
  readParams,
  returnRequests,
} from './store/submissions.ts';
import { keepSubmission, type LaneParts } from './lane-parts.ts';

/** Submits the requests that are ready; resolves with false when none is. */
export async function collectRequests(parts: LaneParts): Promise<boolean> {
  const { database, port, owner, leaseMs, config } = parts;
  const id = newId<string>();
  const askedAtMs = parts.clock.monotonicMs();
  if ((await openSubmission(database, { id, account: port.account, owner, leaseMs }, config.batches)) === 0)
    return false;
  await sendOpen(parts, { id, askedAtMs });
  return true;
}

/**
 * Sends an open submission that this process holds. `askedAtMs`: when its lease was asked for,
 * monotonic.
 */
export async function sendOpen(parts: LaneParts, held: { id: string; askedAtMs: number }): Promise<void> {
  const { database, owner, port } = parts;
  const { id } = held;
  const { lease, stop } = keepSubmission(parts, held);
  try {
    const rows = await readParams(database, id);
    if (rows.length === 0) {
      const message = 'All of its requests were dropped before it was sent.';
      await returnRequests(database, { id, owner }, { status: 'failed', message });
      return;
    }
    const requests = rows.map(({ requestNo, params }) => ({
      customId: formatCustomId(id, requestNo),
      params: gunzipSync(params).toString(),
    }));
    // A lease that was over is over for good: then the submission stays open for the next claim.
    lease.assertHeld();
    if (!(await beginSubmission(database, { id, owner, requestCount: requests.length }))) return;
    const outcome = await port.submit({ requests, beforeSend: () => lease.assertHeld() });
    await settle(parts, { id, numbers: rows.map(({ requestNo }) => requestNo) }, outcome);
  } finally {
    await stop();
  }
}

async function settle(
  parts: LaneParts,
  { id, numbers }: { id: string; numbers: readonly number[] },
  outcome: SubmitOutcome,
): Promise<void> {
  const { database, owner, logger, config } = parts;
  switch (outcome.kind) {
    case 'submitted': {
      const { batch } = outcome;
      const { id: providerId, expiresAt, counts } = batch;
      const dueInMs = config.batches.pollMs.min;
      await noteSubmitted(database, { id, providerId, expiresAt, counts, isAdopted: false, isProved: true, dueInMs });
      logger.info({ submission: id, providerId, requests: numbers.length }, 'Batch submitted');
      return;
    }
    case 'unknown':
      logger.warn(
        { submission: id, reason: outcome.message },
        'Outcome of a submission is unknown; the list of batches is searched',
      );
      await noteUnknown(database, { id, owner, message: outcome.message });
      return;
    case 'refused':
      logger.warn({ submission: id, status: outcome.status, reason: outcome.message }, 'Submission was refused');
      await afterRefusal(parts, { id, numbers }, outcome);
  }
}

async function afterRefusal(
  { database, owner, publish, config }: LaneParts,
  { id, numbers }: { id: string; numbers: readonly number[] },
  refusal: Extract<SubmitOutcome, { kind: 'refused' }>,
): Promise<void> {
  const { status, message } = refusal;
  const verdict = decideRefusal(refusal, config.models.outage.giveUpAfter);
  if (verdict.kind === 'wait') {
    // Before the requests go back: a crash in between leaves an unknown submission, which is made
    // again and refused again.
    if (verdict.isRejected) await pauseRefused(database, { submissionId: id, detail: message });
    await returnRequests(database, { id, owner }, { status: 'failed', message, blockedMs: verdict.ms });
    return;
  }
  const [only, ...others] = numbers;
  if (only !== undefined && others.length === 0) {
    // The request at fault: its turn fails as after a live call.
    const type = status === 413 ? 'request_too_large' : 'invalid_request_error';
    const results = [{ requestNo: only, status: 'errored', result: null, error: { type, message } }] as const;
    publish(await storeResults(database, { providerBatchId: id, results }));
  }
  await returnRequests(database, { id, owner }, { status: 'failed', message, isSplit: others.length > 0 });
}
