// Redrives dead letters, each in a statement of its own that also closes it. So a request that was cut off and is sent again continues with
// what is still open, and nothing is redriven twice.
import type { Database } from '../store/database.ts';
import { discardLetters, keepRedriveKey, readOpenLetters, type OpenLetter } from '../store/decide-dead-letters.ts';
import type { Control, DeadLetterControl, RedrivenLetter } from './context.ts';

/** The most letters of one request. */
const LETTERS_MAX = 500;

/** Makes the functions of a process. */
export function createDeadLetterControl(
  database: Database,
  control: Pick<Control, 'retryTurn' | 'redriveDelivery'>,
): DeadLetterControl {
  return {
    async redrive(filter, idempotency) {
      const { letters: open, count } = await readOpenLetters(database, filter, LETTERS_MAX);
      const letters: RedrivenLetter[] = [];
      for (const letter of open) letters.push(await redriveOne(control, letter));
      const redriven = letters.filter(({ result }) => result === 'redriven').length;
      const skipped = letters.length - redriven;
      const answer = { redriven, skipped, remaining: count - open.length, letters };
      await keepRedriveKey(database, idempotency, answer);
      return answer;
    },
    discard: (filter, idempotency) => discardLetters(database, filter, idempotency),
  };
}

async function redriveOne(
  control: Pick<Control, 'retryTurn' | 'redriveDelivery'>,
  { id, turnId, deliveryId }: OpenLetter,
): Promise<RedrivenLetter> {
  const skipped = (reason: string): RedrivenLetter => ({ id, result: 'skipped', reason, messageIds: [] });
  if (deliveryId !== null) {
    const decision = await control.redriveDelivery(deliveryId, null);
    if (decision === 'done') return { id, result: 'redriven', reason: null, messageIds: [] };
    return skipped('The delivery does not exist or no longer has the status failed.');
  }
  if (turnId === null) return skipped('The session that should receive it no longer exists. Discard the letter.');
  const retried = await control.retryTurn(turnId, null);
  if (retried.kind === 'ok') return { id, result: 'redriven', reason: null, messageIds: retried.messageIds };
  return skipped('The turn no longer has a failed message. Discard the letter.');
}
