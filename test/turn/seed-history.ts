// Inserts a history by SQL: creating it message by message would take longer than the tests.
import { randomUUID } from 'node:crypto';
import type { TurnRig } from './turn-rig.ts';

const FILL = 'The quick brown fox jumps over the lazy dog. ';

/** A text of about this many tokens that begins as given. */
export function longText(tokens: number, begin = ''): string {
  return begin + FILL.repeat(Math.ceil((tokens * 4) / FILL.length)).slice(0, Math.max(0, tokens * 4 - begin.length));
}

/** Gives a new session this many turns of a prompt and an answer, of `tokens` in all. `first` begins the oldest prompt, `every` each of them. */
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
  await rig.database.views.query(
    `insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id)
     select $1, seq, gen_random_uuid(), 1, nullif(seq - 1, 0), case seq % 2 when 1 then 'prompt' else 'answer' end,
       case seq % 2 when 1 then 'user' else 'assistant' end, content, $2
     from json_array_elements($3) with ordinality as list (content, seq)`,
    [sessionId, randomUUID(), JSON.stringify(contents)],
  );
  await rig.database.views.query('update holdfast.sessions set entry_seq = $2, leaf_seq = $2 where id = $1', [
    sessionId,
    contents.length,
  ]);
}
