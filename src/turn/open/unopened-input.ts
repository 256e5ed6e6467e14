// Inputs that keep workers from opening a turn, for any cause: a message on which the prompt code hangs, crashes the process or throws. No
// turn is open then, so the crash count of a turn does not include them; the session counts the claims that were lost (G17).
import { TurnFailed } from '../turn-end.ts';

/** After this many consecutive claims that opened no turn, the first input fails. */
export const LOST_CLAIMS_MAX = 3;
/** After this many, it is claimed alone, so that the inputs after it do not fail with it. */
export const ALONE_FROM_LOST_CLAIMS = LOST_CLAIMS_MAX - 1;

/** Why such an input fails. */
export function notOpened(): TurnFailed {
  return new TurnFailed(
    'poison',
    `The message was claimed ${LOST_CLAIMS_MAX} times, and each time its worker crashed or stalled before it could open a turn.`,
  );
}
