// `open-turn`: the start of a turn; from then on a retry finds all of it again. The turn's row, the
// claim of its inputs, the consumed system events, the consumed hints and the assembled prompt are
// one statement (G13, G14). See journal.ts.
import type { Committed } from '../../queue/after-commit.ts';
import type { Lane } from '../../../config.ts';
import type { TurnKind } from '../../../core/statuses.ts';
import type { EntryId, MessageId, SystemEventId, TurnId } from '../../../core/ids.ts';
import type { ContentBlock } from '../../../core/content.ts';
import { estimateChars } from '../../../core/content-size.ts';
import type { Tags } from '../../../core/input-options.ts';
import type { EntryProvenance } from '../../../core/entry.ts';
import type { SessionView, TurnRequestSettings } from '../../../core/view.ts';
import { shareStatement, type RowSubmitter, cte, optional, rows, statement } from '../../../database/statement.ts';
import type { Database } from '../../../database/database.ts';
import { insertedEvents, type NewEvent } from '../../events/events.ts';
import type { Fence } from './journal.ts';
import { buildChange } from '../../queue/rings.ts';
import { VIEW_SQL, JOURNAL_EVENTS_SQL, newEvents } from './write-parts.ts';

export interface NewTurn {
  fence: Fence;
  turnId: TurnId;
  kind: TurnKind;
  lane: Lane;
  worker: string;
  model: string;
  thinking: string | null;
  /** The tags of its inputs. */
  tags?: Tags | undefined;
  /**
   * Null: it says nothing to the model. `parts`: what its text was assembled from, as JSON; null
   * when that is not known.
   */
  prompt: {
    id: EntryId;
    content: ContentBlock[];
    parts: readonly object[] | null;
    provenance?: EntryProvenance | null;
  } | null;
  /**
   * The first of the entries at the end of the active path that leave it: prompts without an
   * answer. Absent: there are none.
   */
  hiddenFromSeq?: number;
  view: TurnRequestSettings;
  /** The session's view when this turn changes it; null leaves it as it is. */
  sessionView: SessionView | null;
  inputIds: MessageId[];
  /**
   * Messages that were dropped over the cap and that the prompt reports: those that it names, and
   * how many it says there were.
   */
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
 * `ok`: the turn is open. `fenced`: this worker no longer holds the session. `stopped`: it was
 * stopped since the claim, and its inputs are cancelled; nothing is written.
 */
export type Opening = { kind: 'ok' } | { kind: 'fenced' } | { kind: 'stopped' };

/** Makes the function that opens a turn; openings of different sessions share statements. */
export function createOpenTurn(database: Database): RowSubmitter<NewTurn, Committed<Opening>> {
  return shareStatement(
    'open-turn',
    (turns) => openTurns(database, turns),
    ({ prompt }) => (prompt === null ? 0 : estimateChars([prompt])),
  );
}

type Turns = readonly NewTurn[];

const head = rows('head', (turns: Turns) => turns, {
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
  tags: ['json', ({ tags }) => (tags === undefined ? null : JSON.stringify(tags))],
});

const locked = cte(
  `locked as materialized (
  select s.id, s.epoch, s.turn_id, s.entry_seq, s.leaf_seq, s.transcript_no, s.stop_reason, s.scope
  from holdfast.sessions s where s.id = any ($sessions::uuid[]) order by s.id for no key update
)`,
  { binds: { sessions: (turns: Turns) => turns.map((turn) => turn.fence.sessionId) } },
);

const verdicts = cte(`verdict as materialized (
  select head.n, case
      when s.epoch <> head.epoch then 'fenced'
      when s.turn_id = head.turn_id then 'ok'
      when s.turn_id is not null or s.entry_seq <> head.base_seq then 'fenced'
      when s.stop_reason is not null then 'stopped'
      else 'new'
    end as verdict
  from head join locked s on s.id = head.session_id
)`);

const fence = cte(`fence as materialized (
  select head.*, s.transcript_no, s.leaf_seq, s.scope
  from head join verdict on verdict.n = head.n and verdict.verdict = 'new' join locked s on s.id = head.session_id
)`);

const openedTurns = cte(`opened_turns as (
  insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, thinking, prompt_seq, system_sha256,
    tools_sha256, queued_at, claimed_at, view, tags, scope)
  select turn_id, session_id, kind, lane, 'running', epoch, worker, model, thinking, base_seq + 1, system_sha256, tools_sha256,
    queued_at, claimed_at, view, tags::jsonb, scope from fence
)`);

const insertedPrompts = cte(`inserted_prompts as (
  insert into holdfast.entries (session_id, seq, id, transcript_no, parent_seq, kind, role, content, turn_id, parts, provenance)
  select session_id, base_seq + 1, prompt_id, transcript_no,
    case when hidden_from is null then leaf_seq
      else (select e.parent_seq from holdfast.entries e where e.session_id = fence.session_id and e.seq = hidden_from) end,
    'prompt', 'user', prompt, turn_id, parts, provenance
  from fence where prompt_id is not null
)`);

/** Rows of ids, each with the number of its turn. */
function pickIds(name: string, pick: (turn: NewTurn) => readonly string[]) {
  return rows(name, (turns: Turns) => turns.flatMap((turn, index) => pick(turn).map((id) => ({ n: index + 1, id }))), {
    n: ['int', ({ n }) => n],
    id: ['uuid', ({ id }) => id],
  });
}

// An input that was settled since the claim has left the count of the session already.
const claimedInputs = cte(`claimed_inputs as (
  update holdfast.inbox i set status = 'claimed', turn_id = fence.turn_id
  from input_ids join fence on fence.n = input_ids.n
  where i.id = input_ids.id and i.status = 'waiting'
  returning i.session_id
)`);

// An event that was dropped for the cap after it had been read is in the prompt all the same: it is
// consumed, not dropped.
const consumedEvents = optional('system_events', (turns: Turns) => turns.some((turn) => turn.eventIds.length > 0))(
  pickIds('system_event_ids', (turn) => turn.eventIds),
  cte(`consumed_events as (
  update holdfast.system_events e
  set state = 'consumed', turn_id = fence.turn_id, drop_reason = null, settled_at = clock_timestamp()
  from system_event_ids join fence on fence.n = system_event_ids.n
  where e.id = system_event_ids.id
)`),
);

const stampedOverflow = optional('overflow', (turns: Turns) =>
  turns.some((turn) => (turn.overflow?.ids ?? []).length > 0),
)(
  pickIds('overflow_ids', (turn) => turn.overflow?.ids ?? []),
  cte(`stamped_overflow as (
  update holdfast.inbox i set turn_id = fence.turn_id
  from overflow_ids join fence on fence.n = overflow_ids.n where i.id = overflow_ids.id
)`),
);

const insertedSnapshots = optional('snapshots', (turns: Turns) => turns.some((turn) => turn.snapshots.length > 0))(
  rows(
    'new_snapshots',
    (turns: Turns) => [
      ...new Map(turns.flatMap(({ snapshots }) => snapshots.map((one) => [one.sha256, one] as const))).values(),
    ],
    {
      sha256: ['text', ({ sha256 }) => sha256],
      content: ['json', ({ content }) => content],
    },
  ),
  cte(`inserted_snapshots as (
  insert into holdfast.snapshots (sha256, content)
  select * from new_snapshots on conflict do nothing
)`),
);

const hiddenEntries = optional('hidden_entries', (turns: Turns) =>
  turns.some((turn) => turn.hiddenFromSeq !== undefined),
)(
  cte(`hidden_entries as (
  update holdfast.entries e set state = 'hidden', retired_seq = fence.base_seq + 1
  from fence where e.session_id = fence.session_id and e.transcript_no = fence.transcript_no and e.state = 'active'
    and e.seq between fence.hidden_from and fence.base_seq and e.kind <> 'summary'
)`),
);

const updatedSessions = cte(`updated_sessions as (
  update holdfast.sessions s
  set turn_id = fence.turn_id, lost_claims = 0, crowd_claims = 0, updated_at = clock_timestamp(),
    waiting = s.waiting - (select count(*) from claimed_inputs c where c.session_id = s.id)::int,
    entry_seq = fence.base_seq + case when fence.prompt_id is null then 0 else 1 end,
    leaf_seq = case when fence.prompt_id is null then s.leaf_seq else fence.base_seq + 1 end,
    -- The hint and the memory of the last event are used up by a prompt.
    was_aborted = s.was_aborted and fence.prompt_id is null,
    last_event_text = case when fence.prompt_id is null then s.last_event_text end,
    ${VIEW_SQL}, overflowed = s.overflowed - fence.overflowed,
    transcript_version = s.transcript_version + case when fence.hidden_from is null then 0 else 1 end
  from fence where s.id = fence.session_id
)`);

export const OPEN_TURN = statement<Turns>({
  name: 'open-turn',
  purpose: 'Open each turn. Answers a verdict per turn.',
  locking: 'The session rows in the order of their ids, then the inputs that they are stamped on.',
  ctes: [
    head,
    locked,
    verdicts,
    fence,
    openedTurns,
    insertedPrompts,
    pickIds('input_ids', (turn) => turn.inputIds),
    claimedInputs,
    ...consumedEvents,
    ...stampedOverflow,
    ...insertedSnapshots,
    ...hiddenEntries,
    updatedSessions,
    newEvents,
    cte(`journal_events as (\n  ${JOURNAL_EVENTS_SQL}\n)`),
    insertedEvents('journal_events'),
  ],
  select: 'select n, verdict from verdict',
});

async function openTurns(database: Database, turns: NewTurn[]): Promise<Committed<Opening>[]> {
  const result = await database.hot.query(OPEN_TURN.prepared(turns));
  const byTurn = new Map(result.rows.map(({ n, verdict }: { n: number; verdict: string }) => [n, verdict]));
  return turns.map(({ fence: { sessionId } }, index) => {
    const verdict = byTurn.get(index + 1);
    if (verdict === 'new' || verdict === 'ok') return { kind: 'ok', after: buildChange(sessionId) };
    return { kind: verdict === 'stopped' ? 'stopped' : 'fenced' };
  });
}
