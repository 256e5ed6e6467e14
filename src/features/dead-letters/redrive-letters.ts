// Operator actions on failed work: turns are retried, deliveries are sent again, and dead letters
// are redriven or discarded, each in a write of its own that also closes the letter. So a request
// that was cut off and is sent again continues with what is still open, and nothing is redriven
// twice (G17).
import type { RedrivenLetters } from '../../contract/dead-letters.ts';
import { keepRedriveKey, readOpenLetters, type LetterFilter, type OpenLetter } from './decide-dead-letters.ts';
import { decideDelivery } from '../deliveries/decide.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { retryTurn, type RetriedItem, type RetryResult } from '../../kernel/turn/journal/retry-turn.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export { discardLetters } from './decide-dead-letters.ts';

/** How an action on one thing has ended. */
export interface ActionEnd {
  status: 'done' | 'skipped';
  /** Why it was skipped. */
  reason: string | null;
  /** The messages that wait because of it. */
  messageIds: readonly string[] | null;
}

export const done = (messageIds: readonly string[] | null = null): ActionEnd => ({
  status: 'done',
  reason: null,
  messageIds,
});
export const skipped = (reason: string): ActionEnd => ({ status: 'skipped', reason, messageIds: null });

/** The most letters of one request. */
const LETTERS_MAX = 500;

/** Lets the messages of a turn that ended badly wait again, once. */
export async function redoTurn(
  { database, publish }: Service,
  turnId: string,
  idempotency: KeyedRequest | null,
): Promise<RetryResult> {
  return publish(await retryTurn(database, turnId, idempotency));
}

/** How to retry an item of a batch. */
export function retryItemText({ batchId, n }: RetriedItem): string {
  return `The turn answered item ${n} of the batch ${batchId}. Retry the item: "holdfast batch retry-failed ${batchId} --n ${n}".`;
}

/** Redrives open letters, at most 500 in one request. */
export async function redriveLetters(
  service: Service,
  filter: LetterFilter,
  idempotency: KeyedRequest | null,
): Promise<RedrivenLetters> {
  const { letters: open, count } = await readOpenLetters(service.database, filter, LETTERS_MAX);
  const letters: RedrivenLetters['letters'] = [];
  for (const letter of open) {
    const { status, reason, messageIds } = await redriveLetter(service, letter, null);
    const result = status === 'done' ? 'redriven' : 'skipped';
    letters.push({ id: letter.id, result, reason, messageIds: [...(messageIds ?? [])] });
  }
  const redriven = letters.filter(({ result }) => result === 'redriven').length;
  const skipped = letters.length - redriven;
  const remaining = count - open.filter(({ isItem }) => !isItem).length;
  const answer = { redriven, skipped, remaining, letters };
  if (idempotency !== null) await keepRedriveKey(service.database, idempotency, answer);
  return answer;
}

/** Redrives an open letter; a skipped one stays open. */
export async function redriveLetter(
  service: Service,
  { turnId, deliveryId }: OpenLetter,
  idempotency: KeyedRequest | null,
): Promise<ActionEnd> {
  if (deliveryId !== null) {
    const decided = await decideDelivery(service, deliveryId, { decision: 'redrive', idempotency });
    return decided === 'done' ? done() : skipped('The delivery does not exist or no longer has the status failed.');
  }
  if (turnId === null) return skipped('The session that should receive it no longer exists. Discard the letter.');
  const retried = await redoTurn(service, turnId, idempotency);
  if (retried.kind === 'ok') return done(retried.messageIds);
  if (retried.kind === 'item') return skipped(retryItemText(retried));
  return skipped('The turn no longer has a failed message. Discard the letter.');
}
