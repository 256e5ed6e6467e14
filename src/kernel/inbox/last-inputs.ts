// Plain reads of inputs: when a session last received a message, where the last one is to be
// answered, what a turn answers, and which inputs wait.
import type { SessionId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import type { Exchange } from '../../core/session-message.ts';
import type { InputOptions } from '../../core/input-options.ts';
import type { WaitingInput } from '../sessions/claim-session.ts';
import { WAITING_CHARS_MAX } from '../sessions/claim-statement.ts';
import { chargeOfTurnSql } from './charged-inputs.ts';
import { literalQuery } from '../../database/literal-query.ts';

// Heartbeats, ticks and announcements do not count as talk: a session that receives only those is
// silent.
/** Resolves with epoch milliseconds; null: there was none. */
export const readLastTalk = literalQuery({
  name: 'last-talk',
  purpose: 'Read when the last message before an input came.',
  text: `select (extract(epoch from i.received_at) * 1000)::bigint as at_ms from holdfast.inbox i
where i.session_id = $sessionId and i.seq < $beforeSeq and i.kind in ('message', 'batch') order by i.seq desc limit 1`,
  values: (before: { sessionId: SessionId; beforeSeq: number }) => before,
  answer: ([row]: { at_ms: string }[]) => (row === undefined ? null : Number(row.at_ms)),
});

/**
 * SQL of the URL that the last message of a session named; null when it named none, or none came.
 */
export const lastUrlSql = (sessionId: string): string => `(select i.body -> 'deliver' ->> 'url' from holdfast.inbox i
  where i.session_id = ${sessionId} and i.kind = 'message' order by i.seq desc limit 1)`;

/** Null: the message named no URL, or none came. */
export const readLastUrl = literalQuery({
  name: 'last-url',
  purpose: 'Read where the last message of a session wanted its answer.',
  pool: 'views',
  text: `select ${lastUrlSql('$1')} as url`,
  values: (sessionId: SessionId) => [sessionId],
  answer: ([row]: { url: string | null }[]) => row?.url ?? null,
});

// What a turn answers: what it starts takes over where the answer goes, what its costs count for,
// and its options.

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

/** The largest number of waiting inputs that are read. */
const READ_MAX = 50;

/** For the worker that runs the session. */
export const readWaitingInputs = literalQuery({
  name: 'waiting-inputs',
  purpose: 'Read the first inputs that wait, in the order of their numbers.',
  text: `select i.id, i.seq::int, i.kind, i.body, i.route, i.mode, (extract(epoch from i.received_at) * 1000)::float8 as "receivedAt"
from (
  select i.*, coalesce(sum(length(i.body::text)) over (order by i.seq rows between unbounded preceding and 1 preceding), 0) as chars_before
  from holdfast.inbox i where i.session_id = $1 and i.status = 'waiting' order by i.seq limit ${READ_MAX}
) as i where i.chars_before < ${WAITING_CHARS_MAX} order by i.seq`,
  values: (sessionId: SessionId) => [sessionId],
  answer: (inputs: WaitingInput[]) => inputs,
});
