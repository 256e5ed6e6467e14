// `open-turn`: the start of a turn; from then on a retry finds all of it again. The turn's row, the claim of its inputs,
// the consumed system events, the consumed hints and the assembled prompt are one statement (G13, G14). See journal.ts.
import type { EntryId, MessageId, SystemEventId } from '../../core/ids.ts';
import type { ContentBlock } from '../../core/content.ts';
import type { EntryProvenance } from '../../core/entry.ts';
import type { SessionView, TurnRequestSettings } from '../../core/view.ts';
import type { Database } from '../database.ts';
import { insertEventsSql, type NewEvent } from '../events.ts';
import type { Fence } from '../journal.ts';
import type { TurnId } from '../../core/ids.ts';
import { shareStatement, type RowSubmitter } from '../share-statement.ts';
import { prepared, Values } from '../statement.ts';

export interface NewTurn {
  fence: Fence;
  turnId: TurnId;
  kind: string;
  lane: string;
  worker: string;
  model: string;
  thinking: string | null;
  /** Null: it says nothing to the model. `parts`: what its text was assembled from, as JSON; null when that is not known. */
  prompt: {
    id: EntryId;
    content: ContentBlock[];
    parts: readonly object[] | null;
    provenance?: EntryProvenance | null;
  } | null;
  /** The first of the entries at the end of the active path that leave it: prompts without an answer. Absent: there are none. */
  hiddenFromSeq?: number;
  view: TurnRequestSettings;
  /** The session's view when this turn changes it; null leaves it as it is. */
  sessionView: SessionView | null;
  inputIds: MessageId[];
  /** Messages that were dropped over the cap and that the prompt tells of: those that it names, and how many it says there were. */
  overflow?: { ids: MessageId[]; count: number };
  eventIds: SystemEventId[];
  systemSha256: string;
  toolsSha256: string;
  /** Snapshots that the database may not have yet. */
  snapshots: { sha256: string; content: string }[];
  queuedAt: Date;
  claimedAt: Date;
  events: NewEvent[];
}

/**
 * `ok`: the turn is open. `fenced`: this worker no longer holds the session. `stopped`: it was stopped since the claim, and
 * its inputs are cancelled; nothing is written.
 */
export type Opening = { kind: 'ok' } | { kind: 'fenced' } | { kind: 'stopped' };

/** Makes the function that opens a turn; openings of different sessions share statements. */
export function createOpenTurn(database: Database): RowSubmitter<NewTurn, Opening> {
  return shareStatement('open-turn', (turns) => openTurns(database, turns));
}

async function openTurns(database: Database, turns: NewTurn[]): Promise<Opening[]> {
  const values = new Values();
  const sessions = values.array('uuid', turns, (turn) => turn.fence.sessionId);
  const head = headTable(values, turns);
  const inputs = turns.flatMap((turn, index) => turn.inputIds.map((id) => ({ n: index + 1, id })));
  const drained = turns.flatMap((turn, index) => turn.eventIds.map((id) => ({ n: index + 1, id })));
  const events = turns.flatMap((turn, index) => turn.events.map((event) => ({ n: index + 1, event })));
  const snapshots = new Map(turns.flatMap((turn) => turn.snapshots.map((one) => [one.sha256, one.content] as const)));
  const taken = values.table('taken', inputs, { n: ['int', (row) => row.n], id: ['uuid', (row) => row.id] });
  const kept = [...snapshots];
  const told = turns.flatMap((turn, index) => (turn.overflow?.ids ?? []).map((id) => ({ n: index + 1, id })));
  const optional = [
    ...drainedPart(values, drained),
    ...overflowPart(values, told),
    ...keptPart(values, kept),
    ...hiddenPart(turns),
  ];
  const happened = values.table('e', events, {
    n: ['int', (row) => row.n],
    pos: ['int', (_, index) => index],
    type: ['text', (row) => row.event.type],
    data: ['json', (row) => JSON.stringify(row.event.data)],
  });
  // Purpose: open each turn. Locking: the session rows in the order of their ids, then the inputs that they are stamped on.
  const text = `/* open-turn */
with head as materialized (select * from ${head}),
locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_reason
  from holdfast.sessions s where s.id = any (${sessions}) order by s.id for no key update
),
verdict as materialized (
  select head.n, case
      when s.epoch <> head.epoch then 'fenced'
      when s.turn_id = head.turn_id then 'ok'
      when s.turn_id is not null or s.entry_seq <> head.base_seq then 'fenced'
      when s.stop_reason is not null then 'stopped'
      else 'new'
    end as verdict
  from head join locked s on s.id = head.session_id
),
fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq
  from head join verdict on verdict.n = head.n and verdict.verdict = 'new' join locked s on s.id = head.session_id
),
opened as (
  insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, thinking, prompt_seq, system_sha256,
    tools_sha256, queued_at, claimed_at, view)
  select turn_id, session_id, kind, lane, 'running', epoch, worker, model, thinking, base_seq + 1, system_sha256, tools_sha256,
    queued_at, claimed_at, view from fence
),
prompted as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, parts, provenance)
  select session_id, base_seq + 1, prompt_id, transcript_no,
    case when hidden_from is null then leaf_seq
      else (select e.parent_seq from holdfast.entries e where e.session_id = fence.session_id and e.seq = hidden_from) end,
    'prompt', 'user', prompt, turn_id, parts, provenance
  from fence where prompt_id is not null
),
claimed_inputs as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from ${taken} join fence on fence.n = taken.n
  where i.id = taken.id
),
${optional.map((part) => `${part},\n`).join('')}updated_sessions as (
  update holdfast.sessions s
  set turn_id = fence.turn_id, lost_claims = 0, waiting = s.waiting - fence.inputs, updated_at = clock_timestamp(),
    entry_seq = fence.base_seq + case when fence.prompt_id is null then 0 else 1 end,
    leaf_seq = case when fence.prompt_id is null then s.leaf_seq else fence.base_seq + 1 end,
    -- The hint and the memory of the last event are used up by a prompt.
    was_aborted = s.was_aborted and fence.prompt_id is null,
    last_event_text = case when fence.prompt_id is null then s.last_event_text end,
    view = coalesce(fence.session_view, s.view), overflowed = s.overflowed - fence.overflowed,
    transcript_version = s.transcript_version + case when fence.hidden_from is null then 0 else 1 end
  from fence where s.id = fence.session_id
),
inserted_events as (
  ${insertEventsSql(`select fence.session_id, fence.turn_id, e.type, e.data, e.pos as n
    from ${happened} join fence on fence.n = e.n`)}
)
select n, verdict from verdict`;
  const result = await database.hot.query(prepared('open-turn', text, values.list));
  const verdicts = new Map(result.rows.map((row) => [Number(row.n), row.verdict as string]));
  return turns.map((_, index) => {
    const verdict = verdicts.get(index + 1);
    if (verdict === 'new' || verdict === 'ok') return { kind: 'ok' };
    return { kind: verdict === 'stopped' ? 'stopped' : 'fenced' };
  });
}

function headTable(values: Values, turns: NewTurn[]): string {
  return values.table('head', turns, {
    n: ['int', (_, index) => index + 1],
    session_id: ['uuid', (turn) => turn.fence.sessionId],
    epoch: ['bigint', (turn) => turn.fence.epoch],
    base_seq: ['bigint', (turn) => turn.fence.baseSeq],
    turn_id: ['uuid', (turn) => turn.turnId],
    kind: ['text', (turn) => turn.kind],
    lane: ['text', (turn) => turn.lane],
    worker: ['text', (turn) => turn.worker],
    model: ['text', (turn) => turn.model],
    thinking: ['text', (turn) => turn.thinking],
    prompt_id: ['uuid', (turn) => turn.prompt?.id ?? null],
    prompt: ['json', ({ prompt }) => (prompt === null ? null : JSON.stringify(prompt.content))],
    inputs: ['int', (turn) => turn.inputIds.length],
    system_sha256: ['text', (turn) => turn.systemSha256],
    tools_sha256: ['text', (turn) => turn.toolsSha256],
    queued_at: ['timestamptz', (turn) => turn.queuedAt],
    claimed_at: ['timestamptz', (turn) => turn.claimedAt],
    parts: ['json', ({ prompt }) => (prompt?.parts ? JSON.stringify(prompt.parts) : null)],
    view: ['json', (turn) => JSON.stringify(turn.view)],
    session_view: ['json', (turn) => (turn.sessionView === null ? null : JSON.stringify(turn.sessionView))],
    provenance: ['json', ({ prompt }) => (prompt?.provenance ? JSON.stringify(prompt.provenance) : null)],
    hidden_from: ['bigint', (turn) => turn.hiddenFromSeq ?? null],
    overflowed: ['int', (turn) => turn.overflow?.count ?? 0],
  });
}

interface DrainedEvent {
  n: number;
  id: SystemEventId;
}

// An event that was dropped for the cap after it had been read is in the prompt all the same: it is consumed, not dropped.
function drainedPart(values: Values, rows: DrainedEvent[]): string[] {
  if (rows.length === 0) return [];
  const table = values.table('taken', rows, { n: ['int', (row) => row.n], id: ['uuid', (row) => row.id] });
  return [
    `consumed_events as (
  update holdfast.system_events e
  set state = 'consumed', turn_id = fence.turn_id, drop_reason = null, settled_at = clock_timestamp()
  from ${table} join fence on fence.n = taken.n
  where e.id = taken.id
)`,
  ];
}

function overflowPart(values: Values, rows: { n: number; id: MessageId }[]): string[] {
  if (rows.length === 0) return [];
  const table = values.table('overflow', rows, { n: ['int', (row) => row.n], id: ['uuid', (row) => row.id] });
  return [
    `stamped_overflow as (
  update holdfast.inbox i set turn_id = fence.turn_id
  from ${table} join fence on fence.n = overflow.n where i.id = overflow.id
)`,
  ];
}

function hiddenPart(turns: NewTurn[]): string[] {
  if (turns.every((turn) => turn.hiddenFromSeq === undefined)) return [];
  return [
    `hidden as (
  update holdfast.entries e set state = 'hidden', retired_seq = fence.base_seq + 1
  from fence where e.session_id = fence.session_id and e.transcript_no = fence.transcript_no and e.state = 'active'
    and e.seq between fence.hidden_from and fence.base_seq and e.kind <> 'summary'
)`,
  ];
}

function keptPart(values: Values, rows: (readonly [sha256: string, content: string])[]): string[] {
  if (rows.length === 0) return [];
  const table = values.table('snapshot', rows, {
    sha256: ['text', ([sha256]) => sha256],
    content: ['json', ([, content]) => content],
  });
  return [
    `inserted_snapshots as (
  insert into holdfast.snapshots (sha256, content)
  select * from ${table} on conflict do nothing
)`,
  ];
}
