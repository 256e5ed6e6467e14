// The messages of a thread from before the agent joined. Shown once, in the first turn of a session.
import type { Thread } from '../inbound.ts';
import type { PromptPart } from './prompt-parts.ts';
import { neutralise } from './untrusted-text.ts';

/** The thread so far, otherwise the message that began it; absent when neither is known. */
export function threadPart(thread: Thread | undefined): PromptPart[] {
  const history = thread?.historyBody?.trim() ?? '';
  if (history !== '') return [partOf(`[Thread history - for context]\n${neutralise(history)}`)];
  const starter = thread?.starterBody?.trim() ?? '';
  return starter === '' ? [] : [partOf(`[Thread starter - for context]\n${neutralise(starter)}`)];
}

function partOf(text: string): PromptPart {
  return { name: 'thread-note', origin: 'channel', trust: 'untrusted', text };
}
