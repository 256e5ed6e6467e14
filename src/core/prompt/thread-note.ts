// What was said in a thread before the agent was there. Shown once, in the first turn of a session.
import type { Thread } from '../inbound.ts';
import { neutralise } from './untrusted-text.ts';

/** The thread so far, else the message that began it; null when neither is known. */
export function threadNote(thread: Thread | undefined): string | null {
  const history = thread?.historyBody?.trim() ?? '';
  if (history !== '') return `[Thread history - for context]\n${neutralise(history)}`;
  const starter = thread?.starterBody?.trim() ?? '';
  return starter === '' ? null : `[Thread starter - for context]\n${neutralise(starter)}`;
}
