// The floor's memory: three tables and the five statements that the least durable turn needs, each
// one round trip and one commit. `session` is never indexed beyond its key, so each of its updates
// is heap-only; `lane` holds queue position and lease in one column. This is the baseline that
// Holdfast is measured against, so nothing is here that durability does not ask for.
import type { Pool } from 'pg';

export const floorSchema = `
  create schema floor;
  create table floor.session (
    id int primary key,
    epoch bigint not null default 0,
    last_seq bigint not null default 0
  ) with (fillfactor = 60, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02);
  create table floor.lane (
    session_id int primary key,
    visible_at timestamptz not null default 'infinity'
  ) with (fillfactor = 60, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0.02);
  create table floor.message (
    session_id int not null,
    seq bigint not null,
    role text not null,
    content json not null,
    primary key (session_id, seq)
  );
`;

export interface FloorMessage {
  role: 'user' | 'assistant';
  content: unknown;
}

/** A claimed session: its fencing facts, and the input of the model. */
export interface FloorClaim {
  sessionId: number;
  epoch: string;
  lastSeq: string;
  transcript: FloorMessage[];
}

/** Makes a session with this history, idle. */
export async function seedFloorSession(pool: Pool, sessionId: number, history: FloorMessage[]): Promise<void> {
  await pool.query('insert into floor.session (id, last_seq) values ($1, $2)', [sessionId, history.length]);
  await pool.query('insert into floor.lane (session_id) values ($1)', [sessionId]);
  await pool.query(
    `insert into floor.message
     select $1, position, item->>'role', item->'content' from json_array_elements($2) with ordinality as list (item, position)`,
    [sessionId, JSON.stringify(history)],
  );
}

/** Commit 1: the message is on disk and its session is visible to workers. */
export async function accept(pool: Pool, sessionId: number, text: string): Promise<void> {
  await pool.query({
    name: 'floor-accept',
    text: `with owner as (update floor.session set last_seq = last_seq + 1 where id = $1 returning last_seq),
                appended as (insert into floor.message select $1, last_seq, 'user', $2 from owner)
           update floor.lane set visible_at = clock_timestamp() where session_id = $1 and visible_at = 'infinity'`,
    values: [sessionId, JSON.stringify([{ type: 'text', text }])],
  });
}

/**
 * Commit 2: leases the session that waits longest, raises its epoch and reads its transcript; null
 * when none waits.
 */
export async function claim(pool: Pool): Promise<FloorClaim | null> {
  const { rows } = await pool.query<FloorClaim>({
    name: 'floor-claim',
    text: `with next as (select session_id from floor.lane where visible_at <= clock_timestamp()
                         order by visible_at limit 1 for update skip locked),
                leased as (update floor.lane set visible_at = clock_timestamp() + interval '5 minutes'
                           from next where lane.session_id = next.session_id),
                owned as (update floor.session set epoch = epoch + 1 from next where id = next.session_id
                          returning id, epoch, last_seq)
           select id as "sessionId", epoch, last_seq as "lastSeq",
                  (select json_agg(json_build_object('role', role, 'content', content) order by seq)
                   from floor.message where session_id = owned.id) as transcript
           from owned`,
  });
  return rows[0] ?? null;
}

/**
 * Commits 3 and 4: appends where the epoch still matches; throws when another worker took the
 * session.
 */
export async function append(pool: Pool, held: FloorClaim, message: FloorMessage): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'floor-append',
    text: `with owner as (update floor.session set last_seq = last_seq + 1 where id = $1 and epoch = $2 returning last_seq)
           insert into floor.message select $1, last_seq, $3, $4 from owner`,
    values: [held.sessionId, held.epoch, message.role, JSON.stringify(message.content)],
  });
  if (rowCount !== 1) throw new Error(`session ${held.sessionId} was taken over`);
}

/**
 * Commit 5: appends the answer and releases, or makes the session visible again when more came in.
 */
export async function finish(pool: Pool, held: FloorClaim, message: FloorMessage, appended: number): Promise<void> {
  const { rowCount } = await pool.query({
    name: 'floor-finish',
    text: `with owner as (update floor.session set last_seq = last_seq + 1 where id = $1 and epoch = $2 returning last_seq),
                appended as (insert into floor.message select $1, last_seq, $3, $4 from owner)
           update floor.lane
           set visible_at = case when owner.last_seq > $5 then clock_timestamp() else 'infinity'::timestamptz end
           from owner where session_id = $1`,
    values: [
      held.sessionId,
      held.epoch,
      message.role,
      JSON.stringify(message.content),
      Number(held.lastSeq) + appended + 1,
    ],
  });
  if (rowCount !== 1) throw new Error(`session ${held.sessionId} was taken over`);
}
