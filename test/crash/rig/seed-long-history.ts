// Stores a history that the next turn of its session has to compact, and a script for the model's
// summary.
import { randomUUID } from 'node:crypto';
import type { CrashRig } from './crash-rig.ts';

/**
 * A context window that the history below exceeds, and that its summary and a conversation do not.
 */
export const smallWindow = { contextTokens: 32_000, compaction: { reserveTokens: 4_000, keepRecentTokens: 2_000 } };

const turns = 20;
const charsEach = 2_600;
const fill = 'The quick brown fox jumps over the lazy dog. ';

/**
 * Makes an idle session with about 26,000 tokens of history; the model will write `note` to its
 * memory.
 */
export async function seedLongHistory(rig: CrashRig, session: string, note: string): Promise<void> {
  const texts = Array.from({ length: turns * 2 }, (_, index) =>
    `${index === 0 ? `<<tool: memory_append {"text": "${note}"}>> ` : ''}${index}: ${fill.repeat(60)}`.slice(
      0,
      charsEach,
    ),
  );
  const [id, turnId] = [randomUUID(), randomUUID()];
  await rig.database.query(
    `with made as (
       insert into holdfast.sessions (id, key, agent_id, kind, lane, channel, entry_seq, leaf_seq)
       values ($1, $2, 'main', 'other', 'main', 'api', $3, $3)
     )
     insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id)
     select $1, seq, gen_random_uuid(), 1, nullif(seq - 1, 0), case seq % 2 when 1 then 'prompt' else 'answer' end,
       case seq % 2 when 1 then 'user' else 'assistant' end, json_build_array(json_build_object('type', 'text', 'text', text)), $4
     from unnest($5::text[]) with ordinality as said (text, seq)`,
    [id, `agent:main:${session}`, texts.length, turnId, texts],
  );
}
