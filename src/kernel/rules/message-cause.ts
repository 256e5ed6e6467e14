// What caused a message, read from the key under which it was stored. The key names the row that
// caused the message, so that the same cause cannot store a second one.

/** `request`: the message came from outside, through the API or from a plugin. */
export const CAUSE_KINDS = [
  'request',
  'cron',
  'spawn',
  'subagent',
  'session',
  'steering',
  'wait',
  'batch',
  'retry',
] as const;

export type CauseKind = (typeof CAUSE_KINDS)[number];
/** The tables whose rows cause messages: crons, runs of subagents, turns, messages and batches. */
export const CAUSING_TABLES = ['cron', 'run', 'turn', 'message', 'batch'] as const;

export type CausingTable = (typeof CAUSING_TABLES)[number];

export interface MessageCause {
  kind: CauseKind;
  /** The row that caused it; null: the key names none. */
  row: { table: CausingTable; id: string } | null;
}

/** By the beginning of the key: the kind, and the table whose id follows. */
const BEGINNINGS: Readonly<Record<string, readonly [CauseKind, CausingTable | null]>> = {
  cron: ['cron', 'cron'],
  spawn: ['spawn', 'run'],
  announce: ['subagent', 'run'],
  call: ['session', 'turn'],
  exchange: ['session', null],
  'follow-up': ['steering', 'message'],
  yield: ['wait', 'turn'],
  batch: ['batch', 'batch'],
  retry: ['retry', 'message'],
};

/** The cause of a message that is stored under this key. */
export function causeOfKey(causeKey: string | null): MessageCause {
  const [beginning = '', id = ''] = causeKey?.split(':') ?? [];
  const found = BEGINNINGS[beginning];
  if (found === undefined) return { kind: 'request', row: null };
  const [kind, table] = found;
  return { kind, row: table === null || id === '' ? null : { table, id } };
}
