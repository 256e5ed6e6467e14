// What a turn answers: its messages, each with its cause, and the system events in its prompt.
import type { TurnInputs } from '../../contract/details.ts';
import type { Announcement } from '../../core/subagents.ts';
import { isUuid } from '../../core/ids.ts';
import { CAUSING_TABLES, causeOfKey, type CausingTable } from '../rules/message-cause.ts';
import { cutPiece } from '../../core/text.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { messageText } from './messages.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { SYSTEM_EVENT_SQL } from './system-events.ts';

/** The transcript has the rest of a longer text. */
const TEXT_CHARS_MAX = 16_384;

export const readTurnInputs = viewQuery({
  name: 'turn-inputs',
  purpose: 'Read the messages that a turn ($1) answers, and the system events in its prompt.',
  text: `select coalesce((select json_agg(json_build_object('id', i.id, 'seq', i.seq, 'kind', i.kind, 'causeKey', i.cause_key,
      'text', left(i.body ->> 'text', ${TEXT_CHARS_MAX}), 'announcement', i.body -> 'announcement', 'receivedAt', ${isoSql('i.received_at')})
      order by i.seq)
    from holdfast.inbox i where i.turn_id = t.id and i.status <> 'dropped'), '[]') as messages,
  coalesce((select json_agg(${SYSTEM_EVENT_SQL} order by e.id)
    from holdfast.system_events e where e.session_id = t.session_id and e.turn_id = t.id), '[]') as "systemEvents"
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1`,
  values: (turnId: string) => [turnId],
  answer: ([inputs]: InputsRow[]) => inputs,
});

export const readCausesOf = viewQuery({
  name: 'message-causes',
  purpose: 'Read what caused messages: crons ($1), runs of subagents ($2), turns ($3), messages ($4) and batches ($5).',
  // The cause of a spawn is its tool call: call:<turn>:<call>.
  text: `select c.id, 'cron' as "table", c.name, null::text as "parentKey", null::text as "childKey", null::uuid as "turnId"
from holdfast.crons c where c.id = any ($1::uuid[])
union all select r.id, 'run', null, p.key, c.key,
  case when r.cause_key like 'call:%' then split_part(r.cause_key, ':', 2)::uuid end
from holdfast.subagent_runs r join holdfast.sessions p on p.id = r.parent_id join holdfast.sessions c on c.id = r.child_id
where r.id = any ($2::uuid[])
union all select t.id, 'turn', null, s.key, null, t.id
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = any ($3::uuid[])
union all select i.id, 'message', null, s.key, null, i.turn_id
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where i.id = any ($4::uuid[])
union all select b.id, 'batch', null, null, null, null from holdfast.batches b where b.id = any ($5::uuid[])`,
  values: (ids: string[][]) => ids,
  answer: (causes: CauseRow[]) => new Map(causes.map((cause) => [cause.id, cause])),
});

type TurnInput = TurnInputs['messages'][number];

interface InputsRow {
  messages: (Omit<TurnInput, 'cause' | 'text'> & {
    causeKey: string | null;
    text: string | null;
    announcement: Announcement | null;
  })[];
  systemEvents: TurnInputs['systemEvents'];
}

interface CauseRow {
  id: string;
  table: CausingTable;
  name: string | null;
  parentKey: string | null;
  childKey: string | null;
  turnId: string | null;
}

/** What the turn answers; null: there is no such turn. */
export async function viewTurnInputs(db: ViewDatabase, turnId: string): Promise<TurnInputs | null> {
  const row = await readTurnInputs(db, turnId);
  if (row === undefined) return null;
  const causes = await readCauses(
    db,
    row.messages.map(({ causeKey }) => causeKey),
  );
  const messages = row.messages.map(({ causeKey, text, announcement, ...message }) => ({
    ...message,
    // The database counts a pair of units as one.
    text: cutPiece(messageText(text, announcement), 0, TEXT_CHARS_MAX),
    cause: causeView(causeKey, causes),
  }));
  return { messages, systemEvents: row.systemEvents };
}

async function readCauses(db: ViewDatabase, keys: (string | null)[]): Promise<Map<string, CauseRow>> {
  const named = keys.flatMap((key) => causeOfKey(key).row ?? []).filter(({ id }) => isUuid(id));
  const listIds = (table: CausingTable): string[] => named.filter((row) => row.table === table).map(({ id }) => id);
  const ids = CAUSING_TABLES.map(listIds);
  if (ids.every(({ length }) => length === 0)) return new Map();
  return readCausesOf(db, ids);
}

function causeView(causeKey: string | null, causes: ReadonlyMap<string, CauseRow>): TurnInput['cause'] {
  const { kind, row } = causeOfKey(causeKey);
  const found = row === null ? undefined : causes.get(row.id);
  return {
    kind,
    turnId: kind === 'subagent' ? null : (found?.turnId ?? null),
    sessionKey: (kind === 'subagent' ? found?.childKey : found?.parentKey) ?? null,
    messageId: found?.table === 'message' ? found.id : null,
    cron: found === undefined || found.name === null ? null : { id: found.id, name: found.name },
    batchId: found?.table === 'batch' ? found.id : null,
  };
}
