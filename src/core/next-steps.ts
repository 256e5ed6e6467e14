// What a finished turn wants to happen: decided from values, carried out by the statement that ends the turn.
import { interpretReply } from './silent-reply.ts';

/** How an input is settled: `answered` with a reply, or `silent` on purpose. */
export interface Outcome {
  status: 'completed' | 'silent';
  messageStatus: 'answered' | 'silent';
  /** The text that leaves; null when nothing does. */
  reply: string | null;
}

/** Decides from the text of the last answer: a reply, or silence when the model asked for it or said nothing. */
export function decideOutcome(text: string): Outcome {
  const reply = interpretReply(text);
  if (reply.kind === 'silent' || reply.text.trim() === '') {
    return { status: 'silent', messageStatus: 'silent', reply: null };
  }
  return { status: 'completed', messageStatus: 'answered', reply: reply.text };
}
