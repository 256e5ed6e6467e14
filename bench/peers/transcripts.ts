// The transcripts of a peer: one table, read and appended with prepared statements.
import type { Pool } from 'pg';
import type { FloorMessage } from '../floor/floor-database.ts';

export const poolSize = 16;

/** Creates the table in an empty database. */
export async function createTranscripts(pool: Pool): Promise<void> {
  await pool.query(`create table message (
    session_id int not null,
    seq int not null,
    role text not null,
    content json not null,
    primary key (session_id, seq)
  )`);
}

let sessions = 0;

/** Makes sessions that begin with this history. */
export async function seedSessions(pool: Pool, count: number, history: FloorMessage[]): Promise<number[]> {
  const ids = Array.from({ length: count }, () => (sessions += 1));
  for (const id of ids) await append(pool, id, 0, history);
  await pool.query('analyze message');
  return ids;
}

/** All messages of a session, oldest first. */
export async function readTranscript(pool: Pool, session: number): Promise<FloorMessage[]> {
  const { rows } = await pool.query<FloorMessage>({
    name: 'read',
    text: 'select role, content from message where session_id = $1 order by seq',
    values: [session],
  });
  return rows;
}

/** Appends a message of a user after the last one. */
export async function appendPrompt(pool: Pool, session: number, prompt: FloorMessage): Promise<void> {
  await pool.query({
    name: 'append-prompt',
    text: `insert into message
           select $1, coalesce(max(seq), 0) + 1, $2, $3 from message where session_id = $1`,
    values: [session, prompt.role, JSON.stringify(prompt.content)],
  });
}

/**
 * Appends messages after this position; those that are there already stay as they are, so it can be
 * called again.
 */
export async function append(pool: Pool, session: number, lastSeq: number, messages: FloorMessage[]): Promise<void> {
  await pool.query({
    name: 'append',
    text: `insert into message
           select $1, $2 + position, item->>'role', item->'content'
           from json_array_elements($3) with ordinality as list (item, position)
           on conflict do nothing`,
    values: [session, lastSeq, JSON.stringify(messages)],
  });
}

/** A message of the user as the model sees it. */
export function promptOf(text: string): FloorMessage {
  return { role: 'user', content: [{ type: 'text', text }] };
}
