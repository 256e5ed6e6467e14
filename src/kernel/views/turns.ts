// Turns as the outside sees them, newest first, with their steps and with the times that they spent on what. A list shows the
// last steps of each turn only; a turn by itself shows all.
import { CALLS_SQL, toolsSql, toolWaitSql, turnSql } from './settlement-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import { buildSteps, fillOutput, type TurnRow, type TurnSummary } from './turn-steps.ts';
import type { ToolCallView } from '../../contract/tool-calls.ts';
import type { AttemptView, ListedTurn, SpanView, StepView, TurnView } from '../../contract/views.ts';
import { cutPiece } from '../../core/text.ts';
import { modelName, modelOfRef } from '../../core/model-ref.ts';
import { turnStep } from '../rules/failure-steps.ts';
import { describeOpenWait, waitSql, type WaitRow } from './why-sql.ts';
import { PERSON_SQL, WORDS_SQL, wordsOf, type StoredWords } from './words.ts';
import { findTurnIds, type TurnFilter } from './turn-filter.ts';
import { viewWaits, type TurnWaits } from './turn-waits.ts';

/** The most steps of one turn in a list, the newest. */
const LISTED_STEPS_MAX = 20;

export const readTurnRows = viewQuery({
  name: 'view-turns',
  purpose:
    'Read turns ($1), newest first. $2: with their calls. $3: at most this many characters of each reply. $4: with the beginnings of what they answer.',
  text: `select ${turnSql('case when $3::int is null then t.reply else left(t.reply, $3) end')} as turn,
  case when $2::boolean then ${CALLS_SQL} end as calls,
  case when $2::boolean then ${toolsSql(toolWaitSql('x'))} end as tools,
  case when t.ended_at is null then ${waitSql('t.session_id', 't.claimed_at')} end as wait,
  case when $4::boolean then (select json_build_object('text', ${WORDS_SQL}, 'announcement', i.body -> 'announcement',
      'person', ${PERSON_SQL}, 'channel', i.body ->> 'channel')
    from holdfast.inbox i where i.turn_id = t.id order by i.seq limit 1) end as words
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = any ($1::uuid[]) order by t.id desc`,
  values: (ids: string[], { hasSteps, textCharsMax = null, hasWords = false }: TurnParts) => [
    ids,
    hasSteps,
    textCharsMax,
    hasWords,
  ],
  answer: (turns: ReadTurn[]) => turns,
});

interface TurnParts {
  hasSteps: boolean;
  textCharsMax?: number | null | undefined;
  hasWords?: boolean;
}

interface ReadTurn extends TurnRow {
  wait: WaitRow | null;
  /** Of the first message; null: it was not asked for, or there is none. */
  words: (StoredWords & Pick<ListedTurn, 'person' | 'channel'>) | null;
}

async function readTurns(db: ViewDatabase, ids: string[], parts: TurnParts): Promise<ReadTurn[]> {
  const { textCharsMax = null } = parts;
  const rows = await readTurnRows(db, ids, parts);
  for (const { turn, wait } of rows) {
    turn.why = describeOpenWait(db, wait);
    turn.nextStep = turnStep(turn);
    fillOutput(turn);
    // The database counts a pair of units as one.
    if (turn.reply !== null && textCharsMax !== null) turn.reply = cutPiece(turn.reply, 0, textCharsMax);
  }
  return rows;
}

/** The turn of this id with all its steps, its attempts and its waits; null when it does not exist. */
export async function viewTurn(db: ViewDatabase, id: string, leaseMs?: number): Promise<TurnView | null> {
  const [turn] = await viewTurns(db, [id], leaseMs);
  return turn ?? null;
}

/** The same for several turns, in no order; an unknown id has no row. `leaseMs`: how long the leases of their workers are. */
export async function viewTurns(db: ViewDatabase, ids: string[], leaseMs?: number): Promise<TurnView[]> {
  const rows = await readTurns(db, ids, { hasSteps: true });
  const waits = await viewWaits(
    db,
    rows.map(({ turn }) => turn),
    leaseMs,
  );
  return rows.map((row) => withSteps(row.turn, buildSteps(row), waits.get(row.turn.id)));
}

interface FoundTurn {
  sessionId: string;
  sessionKey: string;
  startedAt: Date;
  isEnded: boolean;
  /** Where its entries begin. */
  promptSeq: number;
  /** The transcript that has them; null: it has none. */
  transcriptNo: number | null;
}

/** The turn's session, whether it has ended, and where its entries are; null when there is no such turn. */
export const findTurn = viewQuery({
  name: 'find-turn',
  purpose: 'Read the session of a turn ($1), whether it has ended, and where its entries are.',
  text: `select t.session_id as "sessionId", t.started_at as "startedAt", t.ended_at is not null as "isEnded", s.key as "sessionKey", t.prompt_seq::float8 as "promptSeq",
  (select e.transcript_no from holdfast.entries e where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id order by e.seq limit 1)::float8 as "transcriptNo"
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1`,
  values: (id: string) => [id],
  answer: ([turn]: FoundTurn[]) => turn ?? null,
});

export interface TurnListing extends TurnFilter {
  /** False: steps are not read. */
  hasSteps: boolean;
  /** At most this many characters of a longer reply are read. */
  textCharsMax?: number | undefined;
  /** How long the leases of their workers are. */
  leaseMs?: number;
}

/** Turns, newest first; a filter that names no session of ours finds none. */
export async function listTurns(
  db: ViewDatabase,
  { hasSteps, textCharsMax, leaseMs, ...filter }: TurnListing,
  page: PageRequest,
): Promise<Page<ListedTurn>> {
  const { items: ids, next } = await findTurnIds(db, filter, page);
  if (ids.length === 0) return { items: [], next };
  const rows = await readTurns(db, ids, { hasSteps, textCharsMax, hasWords: true });
  if (!hasSteps) return { items: rows.map((row) => ({ ...row.turn, ...pickWords(row) })), next };
  const waits = await viewWaits(
    db,
    rows.map(({ turn }) => turn),
    leaseMs,
  );
  const items = rows.map((row): ListedTurn => {
    const whole = { ...withSteps(row.turn, buildSteps(row), waits.get(row.turn.id)), ...pickWords(row) };
    return { ...whole, steps: whole.steps.slice(-LISTED_STEPS_MAX), spans: whole.spans.slice(-3 * LISTED_STEPS_MAX) };
  });
  return { items, next };
}

function pickWords({ words }: ReadTurn): Pick<ListedTurn, 'firstWords' | 'person' | 'channel'> {
  return { firstWords: wordsOf(words), person: words?.person ?? null, channel: words?.channel ?? null };
}

/** A turn with its steps, and the spans of its time that follow from them. */
export function withSteps(facts: TurnSummary, steps: StepView[], waits?: TurnWaits): TurnView {
  const spans = buildSpans(facts, steps, waits?.attempts ?? []);
  return {
    ...facts,
    ...pickNeighbours(waits),
    nextStep: turnStep(facts),
    stepCount: Math.max(facts.stepCount, steps.length),
    steps,
    spans: (waits === undefined ? spans : inOrder([...waits.spans, ...spans])).map(neverNegative),
  };
}

function pickNeighbours(waits: TurnWaits | undefined): Pick<TurnView, 'attempts' | 'previousTurnId' | 'nextTurnId'> {
  if (waits === undefined) return {};
  const { attempts, previousTurnId, nextTurnId } = waits;
  return { attempts, previousTurnId, nextTurnId };
}

function buildSpans(turn: TurnSummary, steps: StepView[], attempts: readonly AttemptView[]): SpanView[] {
  const { queuedAt, firstClaimedAt: claimedAt, startedAt } = turn;
  const spans: SpanView[] = [
    { kind: 'queue.wait', name: 'waiting', n: null, startedAt: queuedAt, endedAt: claimedAt },
    { kind: 'prompt.assemble', name: 'prompt', n: null, startedAt: claimedAt, endedAt: startedAt },
  ];
  for (const step of steps) {
    for (const call of step.calls) {
      const rateWaitMs = call.notes?.rateWaitMs ?? 0;
      if (rateWaitMs > 0) {
        const beganAt = new Date(Date.parse(call.startedAt) - rateWaitMs).toISOString();
        const name = call.model ?? turn.model;
        spans.push({ kind: 'rate.wait', name, n: call.n, startedAt: beganAt, endedAt: call.startedAt });
      }
      const kind = call.purpose === 'compaction' ? 'compaction' : 'model.call';
      const asked = call.model === null ? turn.model : modelName(modelOfRef(call.model));
      const { startedAt: beganAt, endedAt, status } = call;
      spans.push({ kind, name: asked, n: call.n, startedAt: beganAt, endedAt, status });
    }
    for (const tool of step.tools) {
      const { startedAt: beganAt, status } = tool;
      const endedAt = status === 'unknown' ? lastSignOf(tool, attempts) : tool.endedAt;
      spans.push({ kind: 'tool.exec', name: tool.name, n: step.n, startedAt: beganAt, endedAt, status });
    }
  }
  return spans;
}

/** A call with an unknown outcome is settled when the next worker finds it: nothing is known of it since the lost worker renewed its lease last. */
function lastSignOf({ startedAt, endedAt }: ToolCallView, attempts: readonly AttemptView[]): string | null {
  const lost = attempts.find((one) => one.renewedAt !== null && one.endedAt !== null && one.endedAt > startedAt);
  return lost?.renewedAt ?? endedAt;
}

function inOrder(spans: SpanView[]): SpanView[] {
  return spans.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : Number(a.startedAt > b.startedAt)));
}

/** The database's clock may have been set back in between; a span is then empty, not negative. */
function neverNegative(span: SpanView): SpanView {
  return span.endedAt !== null && span.endedAt < span.startedAt ? { ...span, endedAt: span.startedAt } : span;
}
