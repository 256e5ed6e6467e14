// Follows a submission to its end: searches for one whose outcome is unknown, polls one that was
// submitted, reads the results of one that has ended. Each call does one step of the submission
// that is due first, and releases it.
import { decideSearch, findCandidates, LIST_BACK_MS, searchAgainMs, pollAgainMs } from './rules/submission.ts';
import { readResultLine } from './rules/request-end.ts';
import { isPassingFault } from '../../database/passing-faults.ts';
import {
  claimSubmission,
  notePoll,
  noteSubmitted,
  noteUnknown,
  readKnownBatches,
  returnRequests,
  type PollNote,
  type ProviderSubmission,
} from './store/submissions.ts';
import { sendOpen } from './collect-requests.ts';
import { keepSubmission, type LaneParts } from './lane-parts.ts';
import { readResults } from './read-results.ts';

// It needs nothing but the database.
export { forgetSubmission } from './store/submissions.ts';

/** How often the provider's list is searched for a lost submission, which may appear in it late. */
const LOST_SEARCH_MS = 300_000;

/**
 * How long, and how often, a batch is polled that the provider does not know, before its requests
 * go back.
 */
const MISSING_MS_MAX = 600_000;
const MISSING_POLL_MS = 60_000;

/** A step of a submission that this process holds. */
interface Step {
  parts: LaneParts;
  submission: ProviderSubmission;
  /** Notes what a poll has shown, and releases the submission. */
  note: (poll: PollNote) => Promise<void>;
}

/** Does the next step of a submission that is due; resolves with false when none is. */
export async function followSubmission(parts: LaneParts): Promise<boolean> {
  const { database, owner, leaseMs, port, logger, config } = parts;
  const askedAtMs = parts.clock.monotonicMs();
  const submission = await claimSubmission(database, { account: port.account, owner, leaseMs });
  if (submission === null) return false;
  const { id } = submission;
  if (submission.status === 'open') {
    await sendOpen(parts, { id, askedAtMs });
    return true;
  }
  const { stop } = keepSubmission(parts, { id, askedAtMs });
  const note = (poll: PollNote): Promise<void> => notePoll(database, { id, owner }, poll);
  try {
    await step({ parts, submission, note });
  } catch (error) {
    // A fault of the database: the lease runs out by itself.
    if (isPassingFault(error)) throw error;
    const { polls, status } = submission;
    logger.warn({ err: error, submission: id, status }, 'Submission could not be polled; the next poll retries');
    const message = error instanceof Error ? error.message : String(error);
    await note({ dueInMs: pollAgainMs({ polls, random: Math.random() }, config.batches.pollMs), error: message });
  } finally {
    await stop();
  }
  return true;
}

async function step(held: Step): Promise<void> {
  const { parts, submission } = held;
  switch (submission.status) {
    case 'unknown':
    case 'lost':
      return await search(held);
    case 'submitted':
    case 'canceling':
      return await poll(held);
    case 'ended':
      return await readResults(parts, submission);
    case 'open':
    case 'submitting':
    case 'read':
    case 'failed':
      return;
  }
}

/** Searches the provider's list for a submission with an unknown outcome. */
async function search(held: Step): Promise<void> {
  const { parts, submission, note } = held;
  const { database, owner, port, config, logger } = parts;
  const { id, startedAtMs, requestCount, polls } = submission;
  const { settleMs, isExclusive } = config.batches;
  const askedAtMs = Date.now();
  const { listed, nowMs } = await port.find(startedAtMs - LIST_BACK_MS - CLOCK_MS_MAX);
  // The database's time of the claim, and the time since.
  const skewMs = nowMs - (submission.nowMs + (Date.now() - askedAtMs));
  const listedIds = listed.map((batch) => batch.id);
  const unknown = { requestCount, startedAtMs, knownIds: await readKnownBatches(database, id, listedIds) };
  const candidates = findCandidates(unknown, listed, { skewMs, timeoutMs: port.timeoutMs });
  const isLost = submission.status === 'lost';
  const verdict = decideSearch(candidates, { absentMs: submission.absentMs ?? 0, settleMs, isExclusive });
  const dueInMs = isLost ? LOST_SEARCH_MS : searchAgainMs(polls, { settleMs });
  switch (verdict.kind) {
    case 'lost': {
      if (isLost) return await note({ dueInMs, isAbsent: true });
      const requests = submission.assigned;
      logger.warn({ submission: id, requests }, 'Submission did not reach the provider; its requests are queued again');
      const message = 'The list of batches did not show it.';
      await returnRequests(database, { id, owner }, { status: 'lost', message, blockedMs: LOST_SEARCH_MS });
      return;
    }
    case 'wait':
      return await note({ dueInMs, isAbsent: candidates.length === 0 });
    case 'prove':
      return await prove(held, { ids: verdict.ids, againInMs: dueInMs });
    case 'adopt':
      // Whether a batch is a lost submission is known only at its end.
      if (isLost) return await note({ dueInMs });
      await adopt(held, verdict);
  }
}

/** A provider's clock can be wrong by this much; the list is read back further. */
const CLOCK_MS_MAX = 2 * 3_600_000;

async function adopt(
  { parts: { database, logger, config }, submission: { id } }: Step,
  { id: providerId, isProved }: { id: string; isProved: boolean },
): Promise<void> {
  logger.info({ submission: id, providerId, isProved }, 'Batch adopted for a submission with an unknown outcome');
  const dueInMs = config.batches.pollMs.min;
  const adopted = { expiresAt: null, counts: null, isAdopted: true };
  await noteSubmitted(database, { id, providerId, ...adopted, isProved, dueInMs });
}

/** Reads the first line of each; the one with our prefix is the submission. */
async function prove(held: Step, { ids, againInMs }: { ids: string[]; againInMs: number }): Promise<void> {
  const { parts, submission, note } = held;
  const disprovedIds: string[] = [];
  for (const providerId of ids) {
    const isOwn = await isOwnBatch(parts, submission.id, providerId);
    if (isOwn === true) return await adopt(held, { id: providerId, isProved: true });
    if (isOwn === false) disprovedIds.push(providerId);
  }
  // A candidate was not ours: the list is read again immediately.
  await note({ dueInMs: disprovedIds.length > 0 ? 0 : againInMs, disprovedIds });
}

/**
 * Whether the first line of the results has the prefix of the submission; null: there is no line.
 */
async function isOwnBatch({ port }: LaneParts, id: string, providerId: string): Promise<boolean | null> {
  const lines = await port.read(providerId);
  if (lines === null) return null;
  for await (const line of lines) {
    const { kind } = readResultLine(id, line);
    if (kind !== 'unreadable') return kind !== 'foreign';
  }
  return null;
}

/** Polls a batch that was submitted. */
async function poll({ parts, submission, note }: Step): Promise<void> {
  const { database, owner, port, config, logger } = parts;
  const { id, providerId, isProved, status, polls } = submission;
  if (providerId === null) return;
  const batch = await port.poll(providerId);
  const { pollMs, unprovenMs } = config.batches;
  const dueInMs = pollAgainMs({ polls, random: Math.random() }, pollMs);
  if (batch === null) return await afterMissing({ parts, submission, note }, dueInMs);
  const { counts, expiresAt } = batch;
  if (batch.hasEnded) return await note({ status: 'ended', dueInMs: 0, counts, expiresAt });
  const adoptedMs = submission.submittedAtMs === null ? 0 : submission.nowMs - submission.submittedAtMs;
  const message = 'The adopted batch was not proved in time.';
  if (!isProved && adoptedMs >= unprovenMs && (await noteUnknown(database, { id, owner, message }))) return;
  // No turn waits for it any more. It is cancelled only if it is proved to be ours: other programs
  // share the workspace.
  if (submission.assigned === 0 && isProved && status === 'submitted') {
    logger.info({ submission: id, providerId }, 'Batch is being cancelled because no turn waits for it');
    await port.cancel(providerId);
    return await note({ status: 'canceling', dueInMs, counts, expiresAt });
  }
  await note({ dueInMs, counts, expiresAt });
}

/**
 * The provider answers 404: after a rotation of the key to another workspace, or a restart of the
 * scripted model.
 */
async function afterMissing({ parts, submission, note }: Step, dueInMs: number): Promise<void> {
  const { id, providerId, absentMs, assigned: requests } = submission;
  if ((absentMs ?? 0) < MISSING_MS_MAX) {
    const error = 'The provider does not know the batch.';
    return await note({ dueInMs: Math.min(dueInMs, MISSING_POLL_MS), isAbsent: true, error });
  }
  const { database, owner, logger } = parts;
  logger.warn(
    { submission: id, providerId, requests },
    'Provider did not find a batch for 10 minutes; its requests are queued again',
  );
  const message =
    'The provider did not find the batch for 10 minutes. Check that the key belongs to the workspace of the batch.';
  await returnRequests(database, { id, owner }, { status: 'failed', message });
}
