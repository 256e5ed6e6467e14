// Inserts a history by SQL: creating it message by message would take longer than the tests.
import { randomUUID } from 'node:crypto';
import { addEntries } from '../rows/entries.ts';
import { changeSessions } from '../rows/sessions.ts';
import type { TurnRig } from './turn-rig.ts';

const FILL = 'The quick brown fox jumps over the lazy dog. ';

/** A text of about this many tokens that begins as given. */
export function longText(tokens: number, begin = ''): string {
  return begin + FILL.repeat(Math.ceil((tokens * 4) / FILL.length)).slice(0, Math.max(0, tokens * 4 - begin.length));
}

/**
 * Gives a new session this many turns of a prompt and an answer, of `tokens` in all. `first` begins
 * the oldest prompt, `every` each of them.
 */
export async function seedHistory(
  rig: TurnRig,
  name: string,
  { turns, tokens, first = '', every = '' }: { turns: number; tokens: number; first?: string; every?: string },
): Promise<void> {
  const sessionId = await rig.sessionOf(name);
  const each = Math.floor(tokens / turns / 2);
  const contents = Array.from({ length: turns * 2 }, (_, index) => [
    { type: 'text', text: longText(each, `${index === 0 ? first : ''}${index % 2 === 0 ? every : ''}${index}: `) },
  ]);
  const turnId = randomUUID();
  const entries = contents.map((content, index) => ({
    sessionId,
    seq: index + 1,
    parentSeq: index === 0 ? null : index,
    ...(index % 2 === 0 ? { kind: 'prompt', role: 'user' } : { kind: 'answer', role: 'assistant' }),
    content,
    turnId,
  }));
  await addEntries(rig, ...entries);
  await changeSessions(rig.database.views, { id: sessionId }, { entrySeq: contents.length, leafSeq: contents.length });
}
