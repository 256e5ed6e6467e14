// Turns with their messages, put in place by SQL.
import { withConnection } from './ask-database.ts';

/** Rows of one statement. */
const chunk = 250_000;

export const turnsPerSession = 5;

/** Turns that have not ended, and as many messages that wait, in a database of any size. */
const open = 100;

// Ids in the order of their numbers, as those of UUIDv7 are in the order of their times.
const idSql = (kind: number, n: string): string =>
  `('0190' || lpad(to_hex(${kind}), 4, '0') || '-0000-7000-8000-' || lpad(to_hex(${n}), 12, '0'))::uuid`;

export interface SeedOptions {
  /** True: with the rows that turns leave in other tables. */
  isWhole?: boolean;
  /** How many turns a session has. */
  perSession?: number;
  /** SQL of the scope of a session, from that of its number; absent: none is in a scope. */
  scopeOf?: (session: string) => string;
  /** This many of the turns, without the parked ones, ended 100 days ago. */
  old?: number;
}

function fillsOf({ isWhole, perSession, scopeOf }: Required<Omit<SeedOptions, 'old'>>): string[] {
  const session = `(n / ${perSession})`;
  const fills = [
    `insert into holdfast.sessions (id, key, agent_id, kind, lane, waiting, scope)
   select ${idSql(0, 'n')}, 'agent:main:turns-' || n, 'main', 'other', 'main', 0, ${scopeOf('n')}
   from generate_series($1::int / ${perSession}, ($2::int - 1) / ${perSession}) as n`,
    `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, queued_at,
     claimed_at, ended_at, cost_micros, scope)
   select ${idSql(1, 'n')}, ${idSql(0, session)}, 'message', 'main', case when n < ${open} then 'parked' when n % 50 = 0 then 'failed' else 'completed' end,
     1, 'w', 'anthropic/claude-sonnet-5-5', 1, 's', 't', now(), now(), case when n >= ${open} then now() end, 100, ${scopeOf(session)}
   from generate_series($1::int, $2::int - 1) as n`,
    `insert into holdfast.inbox (id, session_id, seq, kind, status, body, route, turn_id, scope)
   select ${idSql(2, 'n')}, ${idSql(0, session)}, n, 'message',
     case when n < ${open} then 'claimed' when n % 50 = 0 then 'failed' else 'answered' end, '{}', '', ${idSql(1, 'n')}, ${scopeOf(session)}
   from generate_series($1::int, $2::int - 1) as n`,
  ];
  if (!isWhole) return fills;
  return [
    ...fills,
    `insert into holdfast.model_calls (turn_id, call_no, step, epoch, until_seq, status, started_at, ended_at)
   select ${idSql(1, 'n')}, 1, 1, 1, 1, 'ok', now(), now() from generate_series($1::int, $2::int - 1) as n`,
    `insert into holdfast.entries (session_id, seq, id, transcript_no, kind, role, content, turn_id)
   select ${idSql(0, session)}, 2 * (n % ${perSession}) + k, gen_random_uuid(), 1, (array['prompt', 'answer'])[k], (array['user', 'assistant'])[k],
     '[{"type": "text", "text": "What a person and an agent say to each other in a turn."}]', ${idSql(1, 'n')}
   from generate_series($1::int, $2::int - 1) as n, generate_series(1, 2) as k`,
  ];
}

/** Makes this many turns, of which the first hundred are parked. None of them is counted yet. */
export async function seedTurns(
  databaseUrl: string,
  turns: number,
  { isWhole = false, perSession = turnsPerSession, scopeOf = () => 'null::integer', old = 0 }: SeedOptions = {},
): Promise<void> {
  const fills = fillsOf({ isWhole, perSession, scopeOf });
  await withConnection(databaseUrl, async (client) => {
    // Without triggers, also those of foreign keys: the rows are right.
    await client.query('set session_replication_role = replica');
    for (let from = 0; from < turns; from += chunk) {
      const range = [from, Math.min(from + chunk, turns)];
      for (const fill of fills) await client.query(fill, range);
    }
    if (old > 0) {
      await client.query(
        `update holdfast.turns set ended_at = ended_at - interval '100 days' where id < ${idSql(1, '$1::int')} and ended_at is not null`,
        [old],
      );
    }
    await client.query('update holdfast.roll_up_cursor set counted_at = null, sessions_to = null, sessions = 0');
    await client.query('vacuum analyze');
  });
}
