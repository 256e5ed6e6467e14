// Histories are put in place by SQL, because saying them message by message would take longer than
// all benchmarks.
import { randomUUID } from 'node:crypto';
import { withConnection } from './ask-database.ts';
import { historyOf } from './prompts.ts';

let seeded = 0;

/**
 * Makes idle sessions with this many entries each in the service's database, and returns their
 * keys. No connection stays open.
 */
export async function seedSessions(databaseUrl: string, count: number, historyEntries: number): Promise<string[]> {
  const keys = Array.from({ length: count }, () => `agent:main:bench-${(seeded += 1)}`);
  const ids = keys.map(() => randomUUID());
  await withConnection(databaseUrl, async (client) => {
    await client.query(
      `insert into holdfast.sessions (id, key, agent_id, kind, lane, channel, entry_seq, leaf_seq)
       select id, key, 'main', 'other', 'main', 'api', $3::bigint, nullif($3::bigint, 0) from unnest($1::uuid[], $2::text[]) as fresh (id, key)`,
      [ids, keys, historyEntries],
    );
    await client.query(
      `insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id)
       select fresh.id, seq, gen_random_uuid(), 1, nullif(seq - 1, 0),
         case item->>'role' when 'user' then 'prompt' else 'answer' end, item->>'role', item->'content', $3
       from unnest($1::uuid[]) as fresh (id), json_array_elements($2) with ordinality as list (item, seq)`,
      [ids, JSON.stringify(historyOf(historyEntries)), randomUUID()],
    );
    await client.query('analyze holdfast.sessions, holdfast.entries');
  });
  return keys;
}
