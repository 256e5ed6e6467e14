// Turns as the outside sees them, newest first, with their steps and with the times that they spent on what. A list shows the
// last steps of each turn only; a turn by itself shows all.
import type { ListedTurn, SpanView, StepView, TurnView } from '../../contract/views.ts';
import { pieceOf } from '../../core/cut-text.ts';
import { modelName, modelOfRef } from '../../core/model-ref.ts';
import type { WaitFacts } from '../../core/waiting/explain-wait.ts';
import { costFactsOf } from '../cost-sql.ts';
import { desc, eq, getTableColumns, inArray, sql } from '../drizzle.ts';
import { sessions, turns } from '../schema.ts';
import { harnessSql } from '../settlement-sql.ts';
import { LANE_FACTS_SQL, openWhyOf, waitFactsSql, type LanesRow } from '../why-sql.ts';
import { isoOf, isoOrNull, type Page, type PageRequest, type ViewDatabase } from './page.ts';
import { findTurnIds, type TurnFilter } from './turn-filter.ts';
import { viewWaits, type TurnWaits } from './turn-waits.ts';
import { viewSteps } from './turn-steps.ts';

/** The most steps of one turn in a list, the newest. */
const LISTED_STEPS_MAX = 20;

/** The turn of this id with all its steps, its attempts and its waits; null when it does not exist. */
export async function viewTurn(db: ViewDatabase, id: string): Promise<TurnView | null> {
  const [turn] = await viewTurns(db, [id]);
  return turn ?? null;
}

/** The same for several turns, in no order; an unknown id has no row. */
export async function viewTurns(db: ViewDatabase, ids: string[]): Promise<TurnView[]> {
  const [rows, steps] = await Promise.all([selectTurns(db).where(inArray(turns.id, ids)), viewSteps(db, ids)]);
  const facts = rows.map((row) => turnSummaryOf(db, row));
  const waits = await viewWaits(db, facts);
  return facts.map((turn) => withSteps(turn, steps.get(turn.id) ?? [], waits.get(turn.id)));
}

/** The turn's session, and whether it has ended; null when there is no such turn. */
export async function findTurn(
  db: ViewDatabase,
  id: string,
): Promise<{ sessionId: string; startedAt: Date; isEnded: boolean } | null> {
  const rows = await db
    .select({ sessionId: turns.sessionId, startedAt: turns.startedAt, endedAt: turns.endedAt })
    .from(turns)
    .where(eq(turns.id, id));
  const row = rows[0];
  return row === undefined
    ? null
    : { sessionId: row.sessionId, startedAt: row.startedAt, isEnded: row.endedAt !== null };
}

export interface TurnListing extends TurnFilter {
  /** False: steps are not read. */
  hasSteps: boolean;
  /** At most this many characters of a longer reply are read. */
  textCharsMax?: number | undefined;
}

/** Turns, newest first; a filter that names no session of ours finds none. */
export async function listTurns(
  db: ViewDatabase,
  { hasSteps, textCharsMax, ...filter }: TurnListing,
  page: PageRequest,
): Promise<Page<ListedTurn>> {
  const { items: ids, next } = await findTurnIds(db, filter, page);
  if (ids.length === 0) return { items: [], next };
  const [rows, steps] = await Promise.all([
    selectTurns(db, textCharsMax).where(inArray(turns.id, ids)).orderBy(desc(turns.id)),
    hasSteps ? viewSteps(db, ids) : null,
  ]);
  const summaries = rows.map((row) => turnSummaryOf(db, row));
  const waits = hasSteps ? await viewWaits(db, summaries) : null;
  const items = summaries.map((summary): ListedTurn => {
    // The database counts a pair of units as one.
    if (summary.reply !== null && textCharsMax !== undefined) summary.reply = pieceOf(summary.reply, 0, textCharsMax);
    if (steps === null) return summary;
    const whole = withSteps(summary, steps.get(summary.id) ?? [], waits?.get(summary.id));
    return { ...whole, steps: whole.steps.slice(-LISTED_STEPS_MAX), spans: whole.spans.slice(-3 * LISTED_STEPS_MAX) };
  });
  return { items, next };
}

const TURN_HARNESS = harnessSql('"holdfast"."turns"');
const TURN_WAIT = waitFactsSql('"holdfast"."turns"."session_id"', '"holdfast"."turns"."claimed_at"');

function selectTurns(db: ViewDatabase, replyCharsMax?: number) {
  const reply = replyCharsMax === undefined ? turns.reply : sql<string | null>`left(${turns.reply}, ${replyCharsMax})`;
  return db
    .select({
      turn: { ...getTableColumns(turns), reply },
      sessionKey: sessions.key,
      wait: sql<WaitFacts | null>`case when ${turns.endedAt} is null then ${sql.raw(TURN_WAIT)} end`,
      lanes: sql<LanesRow | null>`case when ${turns.endedAt} is null then ${sql.raw(LANE_FACTS_SQL)} end`,
      harness: sql<TurnView['harness']>`${sql.raw(TURN_HARNESS)}`,
    })
    .from(turns)
    .innerJoin(sessions, eq(sessions.id, turns.sessionId))
    .$dynamic();
}

interface TurnRow {
  turn: typeof turns.$inferSelect;
  sessionKey: string;
  wait: WaitFacts | null;
  lanes: LanesRow | null;
  harness: TurnView['harness'];
}

function turnSummaryOf(db: ViewDatabase, row: TurnRow): TurnSummary {
  const { turn } = row;
  return {
    id: turn.id,
    sessionKey: row.sessionKey,
    kind: turn.kind,
    lane: turn.lane,
    status: turn.status,
    attempt: turn.attempt,
    epoch: turn.epoch,
    worker: turn.worker,
    model: turn.model,
    askedModel: turn.askedModel,
    tags: turn.tags ?? {},
    harness: row.harness,
    reply: turn.reply,
    error: turn.error,
    why: openWhyOf(db, row.wait, row.lanes),
    usage: {
      inputTokens: turn.inputTokens,
      outputTokens: turn.outputTokens,
      cacheReadTokens: turn.cacheReadTokens,
      cacheWriteTokens: turn.cacheWriteTokens,
    },
    ...costFactsOf(turn),
    queuedAt: isoOf(turn.queuedAt),
    claimedAt: isoOf(turn.claimedAt),
    startedAt: isoOf(turn.startedAt),
    endedAt: isoOrNull(turn.endedAt),
    stepCount: turn.steps,
  };
}

/** A turn without its steps; `stepCount` is what its row says. */
export type TurnSummary = Omit<TurnView, 'steps' | 'spans'>;

/** A turn with its steps, and the spans of its time that follow from them. */
export function withSteps(facts: TurnSummary, steps: StepView[], waits?: TurnWaits): TurnView {
  const spans = spansOf({ ...facts, claimedAt: waits?.attempts[0]?.claimedAt ?? facts.claimedAt }, steps);
  return {
    ...facts,
    ...neighboursOf(waits),
    stepCount: Math.max(facts.stepCount, steps.length),
    steps,
    spans: (waits === undefined ? spans : inOrder([...waits.spans, ...spans])).map(neverNegative),
  };
}

function neighboursOf(waits: TurnWaits | undefined): Pick<TurnView, 'attempts' | 'previousTurnId' | 'nextTurnId'> {
  if (waits === undefined) return {};
  const { attempts, previousTurnId, nextTurnId } = waits;
  return { attempts, previousTurnId, nextTurnId };
}

function spansOf(turn: TurnSummary, steps: StepView[]): SpanView[] {
  const { queuedAt, claimedAt, startedAt } = turn;
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
      spans.push({ kind, name: asked, n: call.n, startedAt: call.startedAt, endedAt: call.endedAt });
    }
    for (const tool of step.tools) {
      spans.push({ kind: 'tool.exec', name: tool.name, n: step.n, startedAt: tool.startedAt, endedAt: tool.endedAt });
    }
  }
  return spans;
}

function inOrder(spans: SpanView[]): SpanView[] {
  return spans.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : Number(a.startedAt > b.startedAt)));
}

/** The database's clock may have been set back in between; a span is then empty, not negative. */
function neverNegative(span: SpanView): SpanView {
  return span.endedAt !== null && span.endedAt < span.startedAt ? { ...span, endedAt: span.startedAt } : span;
}
