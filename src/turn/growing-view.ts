// A value that a turn built from a transcript, kept so that the next turn of the session extends it instead of building it again.
import type { Violation } from '../core/history/check-request.ts';
import type { History } from '../core/history/prepare-history.ts';
import type { ModelMessage } from '../core/model-request.ts';

/** A history, the inputs that made it, and how far it reaches. Kept with the transcript, so that the next turn can extend it. */
export interface GrowingView {
  key: string;
  history: History;
  /** Reports faults of the messages; checks only new ones. */
  check: (messages: readonly ModelMessage[]) => Violation[];
  /** How many entries it shows, and the numbers of the first and the last of them. */
  count: number;
  firstSeq: number | undefined;
  lastSeq: number | undefined;
  /** How much its images hold, in characters. */
  imageChars: number;
}
