// When a session last received a message. Heartbeats, ticks and announcements do not count: a session that receives only those is
// silent.
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { sendQuery } from '../../database/send-query.ts';
import { literal } from '../../database/statement.ts';
import type { Exchange } from '../../core/exchange.ts';
import type { InputOptions } from '../../core/input-options.ts';
import { chargeOfTurnSql } from './charged-inputs.ts';
import { literalQuery } from '../../database/literal-query.ts';

export const LAST_TALK = literal({
  name: 'last-talk',
  purpose: 'Read when the last message before an input came.',
  text: `select (extract(epoch from i.received_at) * 1000)::bigint as at_ms from holdfast.inbox i
where i.session_id = $1 and i.seq < $2 and i.kind in ('message', 'batch') order by i.seq desc limit 1`,
});

/** When the last message before an input came, epoch milliseconds; null: there was none. */
export async function readLastTalk(
  database: Database,
  { sessionId, beforeSeq }: { sessionId: SessionId; beforeSeq: number },
): Promise<number | null> {
  const [row] = await sendQuery<{ at_ms: string }>(database.hot, LAST_TALK.prepared([sessionId, beforeSeq]));
  return row === undefined ? null : Number(row.at_ms);
}

// The delivery address of a session's last message.

/** SQL of the URL that the last message of a session named; null when it named none, or none came. */
export const lastUrlSql = (sessionId: string): string => `(select i.body -> 'deliver' ->> 'url' from holdfast.inbox i
  where i.session_id = ${sessionId} and i.kind = 'message' order by i.seq desc limit 1)`;

export const LAST_URL = literal({
  name: 'last-url',
  purpose: 'Read where the last message of a session wanted its answer.',
  text: `select ${lastUrlSql('$1')} as url`,
});

/** The URL that the last message of a session named; null when it named none, or none came. */
export async function readLastUrl(database: Database, sessionId: SessionId): Promise<string | null> {
  const result = await database.views.query(LAST_URL.prepared([sessionId]));
  return result.rows[0]?.url ?? null;
}

// What a turn answers: what it starts takes over where the answer goes, what its costs count for, and its options.

/** The origin of a turn: where its answer is sent, and the exchange that it is part of. */
export interface TurnOrigin {
  /** `deliver` absent: the default of the configuration; null: nowhere. */
  origin: Exchange['origin'];
  exchange: Exchange | null;
  /** What its costs count for (charged-inputs.ts). */
  chargedTo: object;
  /** What it starts takes these over. */
  options: InputOptions;
}

export const readTurnOrigin = literalQuery({
  name: 'turn-origin',
  purpose:
    'Read of the newest input of a turn where its answer is sent, the exchange that it is part of, and its options; null: it has none.',
  pool: 'views',
  text: `select i.body -> 'exchange' as exchange, coalesce(i.body -> 'options', '{}') as options,
  case when i.body -> 'deliver' is null then json_build_object('route', i.route)
    else json_build_object('route', i.route, 'deliver', i.body -> 'deliver') end as origin, ${chargeOfTurnSql('$1')} as "chargedTo"
from holdfast.inbox i where i.turn_id = $1 order by i.seq desc limit 1`,
  values: (turnId: string) => [turnId],
  answer: ([origin]: TurnOrigin[]) => origin ?? null,
});

/** The options of a turn. */
export async function readTurnOptions(database: Database, turnId: string): Promise<InputOptions> {
  return (await readTurnOrigin(database, turnId))?.options ?? {};
}
