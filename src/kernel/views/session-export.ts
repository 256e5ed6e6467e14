// Everything that is stored of a conversation, as records in parts: the session, its transcripts,
// entries of all of them, messages, turns, their calls, system events, deliveries, commands and
// subagents. Read in pages that are bounded in rows and bytes; a page continues by key.
import { isoSql, sessionFactsSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { literal, type Statement } from '../../database/statement.ts';
import type { ViewDatabase } from '../../database/page.ts';

/** A line of an export; its further fields depend on the type. */
export interface ExportRecord {
  type: string;
  [field: string]: unknown;
}

const PAGE_ROWS_MAX = 200;
const PAGE_BYTES_MAX = 4 * 1024 * 1024;
const LEAST = { uuid: '00000000-0000-0000-0000-000000000000', bigint: -1, int: -1 };

interface Part {
  /** $1 is the session, the values after it are the key of the last row. */
  statement: Statement<unknown[]>;
  /** The key before the first row. */
  least: readonly unknown[];
}

/** A part: the fields of its records, and the columns that order its rows, of the table `r`. */
function toPart(spec: { type: string; fields: string; key: Record<string, keyof typeof LEAST>; from: string }): Part {
  const columns = Object.keys(spec.key).map((name) => `r.${name}`);
  const types = Object.values(spec.key);
  const after = types.map((type, index) => `$${index + 2}::${type}`).join(', ');
  const keys = columns.map((_, index) => `k${index}`).join(', ');
  return {
    least: types.map((type) => LEAST[type]),
    statement: literal({
      name: `export-${spec.type}`,
      purpose: `Read the next records of type ${spec.type} of a session.`,
      text: `select json_build_array(${keys}) as key, record from (
  select ${keys}, record, sum(octet_length(record::text)) over (order by ${keys}) - octet_length(record::text) as bytes_before
  from (
    select ${columns.map((column, index) => `${column} as k${index}`).join(', ')}, row_to_json(line) as record
    from ${spec.from} cross join lateral (select '${spec.type}' as type, ${spec.fields}) as line
    where r.session_id = $1::uuid and (${columns.join(', ')}) > (${after})
    order by ${columns.join(', ')} limit ${PAGE_ROWS_MAX}
  ) as page
) as measured where bytes_before <= ${PAGE_BYTES_MAX} order by ${keys}`,
    }),
  };
}

const iso = (column: string, name: string): string => `${isoSql(`r.${column}`)} as "${name}"`;
const TOKENS = `r.input_tokens as "inputTokens", r.output_tokens as "outputTokens", r.cache_read_tokens as "cacheReadTokens",
      r.cache_write_tokens as "cacheWriteTokens", r.cost_micros as "costMicros"`;
/** Rows of a turn, found by the turns of the session. */
const ofTurns = (table: string): string =>
  `(select t.session_id, c.* from holdfast.turns t join holdfast.${table} c on c.turn_id = t.id) as r`;

const PARTS: readonly Part[] = [
  toPart({
    type: 'transcript',
    key: { transcript_no: 'int' },
    from: 'holdfast.ended_transcripts r',
    fields: `r.transcript_no as "transcriptNo", r.last_seq as "lastSeq", ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'entry',
    key: { seq: 'bigint' },
    from: 'holdfast.entries r',
    fields: `r.id, r.seq, r.transcript_no as "transcriptNo", r.parent_seq as "parentSeq", r.kind, r.role, r.state, r.content,
      r.turn_id as "turnId", ${iso('created_at', 'createdAt')}`,
  }),
  toPart({
    type: 'message',
    key: { seq: 'bigint' },
    from: 'holdfast.inbox r',
    fields: `r.id, r.seq, r.kind, r.status, r.body, r.turn_id as "turnId", r.reply, r.error, ${iso('received_at', 'receivedAt')},
      ${iso('settled_at', 'settledAt')}`,
  }),
  toPart({
    type: 'turn',
    key: { id: 'uuid' },
    from: 'holdfast.turns r',
    fields: `r.id, r.kind, r.lane, r.status, r.attempt, r.model, r.asked_model as "askedModel", r.thinking, r.steps, r.reply, r.error, ${TOKENS},
      ${iso('queued_at', 'queuedAt')}, ${iso('started_at', 'startedAt')}, ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'model-call',
    key: { turn_id: 'uuid', call_no: 'int' },
    from: ofTurns('model_calls'),
    fields: `r.turn_id as "turnId", r.call_no as "n", r.step, r.purpose, r.model, r.status, r.stop_reason as "stopReason", r.error, ${TOKENS},
      ${iso('started_at', 'startedAt')}, ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'tool-call',
    key: { turn_id: 'uuid', step: 'int', ordinal: 'int' },
    from: ofTurns('tool_calls'),
    fields: `r.turn_id as "turnId", r.step, r.ordinal, r.call_id as "callId", r.name, r.status, r.runs, r.result,
      ${iso('intent_at', 'startedAt')}, ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'compaction',
    key: { id: 'uuid' },
    from: 'holdfast.compactions r',
    fields: `r.id, r.transcript_no as "transcriptNo", r.turn_id as "turnId", r.reason, r.status, r.summary,
      ${iso('started_at', 'startedAt')}, ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'system-event',
    key: { id: 'uuid' },
    from: 'holdfast.system_events r',
    fields: `r.id, r.text, r.state, r.is_trusted as "isTrusted", r.turn_id as "turnId", ${iso('created_at', 'createdAt')},
      ${iso('settled_at', 'settledAt')}`,
  }),
  toPart({
    type: 'delivery',
    key: { seq: 'bigint' },
    from: 'holdfast.deliveries r',
    fields: `r.id, r.seq, r.channel, r.payload, r.status, r.turn_id as "turnId", ${iso('created_at', 'createdAt')},
      ${iso('settled_at', 'settledAt')}`,
  }),
  toPart({
    type: 'command',
    key: { id: 'uuid' },
    from: 'holdfast.processes r',
    fields: `r.id, r.turn_id as "turnId", r.command, r.workdir, r.status, r.exit_code as "exitCode", r.output_tail as "outputTail",
      ${iso('started_at', 'startedAt')}, ${iso('ended_at', 'endedAt')}`,
  }),
  toPart({
    type: 'subagent',
    key: { id: 'uuid' },
    from: `(select run.*, run.parent_id as session_id, child.key as child_key from holdfast.subagent_runs run
      join holdfast.sessions child on child.id = run.child_id) as r`,
    fields: `r.id as "runId", r.child_key as "sessionKey", r.label, r.task, r.status, r.result, ${iso('created_at', 'createdAt')},
      ${iso('ended_at', 'endedAt')}`,
  }),
];

export interface ExportedSession {
  id: string;
  session: object;
}

/** The session of this canonical key; null: it does not exist. */
export const findExportedSession = viewQuery({
  name: 'exported-session',
  purpose: 'Read the session that an export begins with.',
  text: `select s.id, ${sessionFactsSql('s')} as session from holdfast.sessions s where s.key = $1`,
  values: (key: string) => [key],
  answer: ([session]: ExportedSession[]) => session ?? null,
});

/**
 * The pages of an export, each read on demand. Rows that are stored meanwhile may or may not be
 * included.
 */
export async function* exportPages(
  db: ViewDatabase,
  { id, session }: ExportedSession,
): AsyncGenerator<ExportRecord[], void, undefined> {
  yield [{ type: 'session', ...session }];
  for (const { statement, least } of PARTS) {
    for (let after: readonly unknown[] | undefined = least; after !== undefined;) {
      const query = statement.prepared([id, ...after]);
      const { rows } = await db.query<{ key: unknown[]; record: ExportRecord }>(query);
      if (rows.length > 0) yield rows.map(({ record }) => record);
      after = rows.at(-1)?.key;
    }
  }
}
