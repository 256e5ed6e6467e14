// Turns as the outside sees them, newest first, with their steps and with the times that they spent
// on what, and how messages were settled. A list shows the last steps of each turn only; a turn by
// itself shows all.
import { CALLS_SQL, toolsSql, toolWaitSql, turnSql, toolStatusSql, messageSql } from './settlement-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { Page, PageRequest, ViewDatabase } from '../../database/page.ts';
import type { ToolCallView } from '../../contract/tool-calls.ts';
import type {
  AttemptView,
  ListedTurn,
  SpanView,
  StepView,
  TurnView,
  ModelCallView,
  MessageView,
} from '../../contract/views.ts';
import { cutPiece } from '../../core/text.ts';
import { modelName, modelOfRef } from '../../core/models.ts';
import { turnStep } from '../../core/failure.ts';
import { describeOpenWait, waitSql, type WaitRow } from './why-sql.ts';
import { titleOfWorker, wordsOfInput, type WordedInput } from '../../core/words.ts';
import { INPUT_SQL, PERSON_SQL, sessionNamesSql, sessionTitle, turnTitle, type NamesRow } from './words.ts';
import { findTurnIds, type SeenTurns } from './turn-filter.ts';
import { scoreSql } from './score-sql.ts';
import { viewWaits, type TurnWaits } from './turn-waits.ts';
import type { ToolCallDetail } from '../../contract/details.ts';
import { isObject, parseKeepingIntegers } from '../../core/json.ts';
import { readPartText, type StoredBlock } from '../../core/entry.ts';
import { isoSql } from '../sessions/session-facts.ts';
import type { ScoreView } from '../../contract/scores.ts';
import type { SettledMessage } from '../../contract/answers.ts';

/** The most scores of one turn, the newest. */
const SCORES_MAX = 20;

/** The most steps of one turn in a list, the newest. */
const LISTED_STEPS_MAX = 20;

export const readTurnRows = viewQuery({
  name: 'view-turns',
  purpose: 'Read turns ($1), newest first. $2: with their calls. $3: at most this many characters of each reply.',
  text: `select ${turnSql('case when $3::int is null then t.reply else left(t.reply, $3) end')} as turn,
  case when $2::boolean then ${CALLS_SQL} end as calls,
  case when $2::boolean then ${toolsSql(toolWaitSql('x'))} end as tools,
  case when t.ended_at is null then ${waitSql('t.session_id', 't.claimed_at')} end as wait,
  ${sessionNamesSql('s')} as names, (select json_build_object('input', ${INPUT_SQL}, 'person', ${PERSON_SQL}, 'channel', i.body ->> 'channel')
    from holdfast.inbox i where i.turn_id = t.id order by i.seq limit 1) as words,
  array(select ${scoreSql('r', 's.key')} from holdfast.turn_scores r where r.turn_id = t.id order by r.id desc limit ${SCORES_MAX}) as scores
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = any ($1::uuid[]) order by t.id desc`,
  values: (ids: string[], { hasSteps, textCharsMax = null }: TurnParts) => [ids, hasSteps, textCharsMax],
  answer: (turns: ReadTurn[]) => turns,
});

interface TurnParts {
  hasSteps: boolean;
  textCharsMax?: number | null | undefined;
}

interface ReadTurn extends TurnRow {
  wait: WaitRow | null;
  names: NamesRow;
  scores: ScoreView[];
  /** Of its first message; null: it has none. */
  words: (Pick<ListedTurn, 'person' | 'channel'> & { input: WordedInput }) | null;
}

async function readTurns(db: ViewDatabase, ids: string[], parts: TurnParts): Promise<ReadTurn[]> {
  const { textCharsMax = null } = parts;
  const rows = await readTurnRows(db, ids, parts);
  for (const row of rows) {
    const { turn, wait, scores } = row;
    Object.assign(turn, nameTurn(row), { scores });
    turn.why = describeOpenWait(db, wait);
    turn.nextStep = turnStep(turn);
    fillOutput(turn);
    // The database counts a pair of units as one.
    if (turn.reply !== null && textCharsMax !== null) turn.reply = cutPiece(turn.reply, 0, textCharsMax);
  }
  return rows;
}

/**
 * The turn of this id with all its steps, its attempts and its waits; null when it does not exist.
 */
export async function viewTurn(db: ViewDatabase, id: string, leaseMs?: number): Promise<TurnView | null> {
  const [turn] = await viewTurns(db, [id], leaseMs);
  return turn ?? null;
}

/**
 * The same for several turns, in no order; an unknown id has no row. `leaseMs`: how long the leases
 * of their workers are.
 */
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

/**
 * The turn's session, whether it has ended, and where its entries are; null when there is no such
 * turn.
 */
export const findTurn = viewQuery({
  name: 'find-turn',
  purpose: 'Read the session of a turn ($1), whether it has ended, and where its entries are.',
  text: `select t.session_id as "sessionId", t.started_at as "startedAt", t.ended_at is not null as "isEnded", s.key as "sessionKey", t.prompt_seq::float8 as "promptSeq",
  (select e.transcript_no from holdfast.entries e where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id order by e.seq limit 1)::float8 as "transcriptNo"
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1`,
  values: (id: string) => [id],
  answer: ([turn]: FoundTurn[]) => turn ?? null,
});

export type TurnListing = SeenTurns & {
  /** False: steps are not read. */
  hasSteps: boolean;
  /** At most this many characters of a longer reply are read. */
  textCharsMax?: number | undefined;
  /** How long the leases of their workers are. */
  leaseMs?: number;
};

/** Turns, newest first; a filter that names no session of ours finds none. */
export async function listTurns(
  db: ViewDatabase,
  { hasSteps, textCharsMax, leaseMs, ...filter }: TurnListing,
  page: PageRequest,
): Promise<Page<ListedTurn>> {
  const { items: ids, next } = await findTurnIds(db, filter, page);
  if (ids.length === 0) return { items: [], next };
  const rows = await readTurns(db, ids, { hasSteps, textCharsMax });
  if (!hasSteps) return { items: rows.map((row) => ({ ...row.turn, ...pickWords(row) })), next };
  const waits = await viewWaits(
    db,
    rows.map(({ turn }) => turn),
    leaseMs,
  );
  const items = rows.map((row): ListedTurn =>
    cutSteps({ ...withSteps(row.turn, buildSteps(row), waits.get(row.turn.id)), ...pickWords(row) }),
  );
  return { items, next };
}

type TurnNames = Pick<ListedTurn, 'title' | 'sessionTitle' | 'workerTitle'>;

function nameTurn({ turn, names, words }: ReadTurn): TurnNames {
  const title = turnTitle(turn.kind, words?.input ?? null);
  return { title, sessionTitle: sessionTitle(names), workerTitle: turn.worker && titleOfWorker(turn.worker) };
}

/** A turn among others: with its last steps and spans. */
export function cutSteps<Turn extends Pick<TurnView, 'steps' | 'spans'>>(turn: Turn): Turn {
  return { ...turn, steps: turn.steps.slice(-LISTED_STEPS_MAX), spans: turn.spans.slice(-3 * LISTED_STEPS_MAX) };
}

function pickWords(row: ReadTurn): TurnNames & Pick<ListedTurn, 'firstWords' | 'person' | 'channel'> {
  const { words } = row;
  return {
    ...nameTurn(row),
    firstWords: words === null ? null : wordsOfInput(words.input),
    person: words?.person ?? null,
    channel: words?.channel ?? null,
  };
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

/**
 * A call with an unknown outcome is settled when the next worker finds it: nothing is known of it
 * since the lost worker renewed its lease last.
 */
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

// What a turn did, step by step, from its journal: the model calls with their tokens and the tool
// calls with their ends. Payloads are in the transcript; one tool call is shown with what it was
// given and what came back.

/** A turn without its steps; `stepCount` is what its row says. */
export type TurnSummary = Omit<TurnView, 'steps' | 'spans'>;

/** A turn and its calls, as `settlement-sql.ts` makes them. */
export interface TurnRow {
  turn: TurnSummary;
  calls: { step: number; call: ModelCallView }[] | null;
  tools: { step: number; tool: ToolCallView }[] | null;
}

/** Puts the value of its reply into a turn as it was read. A reply that is cut has none. */
export function fillOutput(turn: Pick<TurnSummary, 'output' | 'reply'>): void {
  turn.output = turn.output === null || turn.reply === null ? null : readOutput(turn.reply);
}

function readOutput(reply: string): TurnSummary['output'] {
  try {
    const value = parseKeepingIntegers(reply);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The steps of a turn, in order. */
export function buildSteps({ calls, tools }: Pick<TurnRow, 'calls' | 'tools'>): StepView[] {
  const steps = new Map<number, StepView>();
  const buildStep = (n: number): StepView => {
    const step = steps.get(n) ?? { n, calls: [], tools: [] };
    steps.set(n, step);
    return step;
  };
  for (const { step, call } of calls ?? []) buildStep(step).calls.push(call);
  for (const { step, tool } of tools ?? []) buildStep(step).tools.push(tool);
  return [...steps.values()].sort((one, other) => one.n - other.n);
}

// One call of a tool, with what it was given and what came back. Both are in the transcript; a
// result whose batch has not ended is in the ledger.

/** Null: the turn has no call with this id. */
export const viewToolCall = viewQuery({
  name: 'find-tool-call',
  purpose:
    'Read a call of a tool ($2) of a turn ($1), with the entries of the turn that name it. $3: its id as JSON. An id that was used twice: the last.',
  text: `select c.step, c.call_id as "callId", c.name, ${toolStatusSql('c')} as status, ${toolWaitSql('c')} as "waitsFor", c.is_idempotent as "isIdempotent", c.runs, ${isoSql('c.intent_at')} as "startedAt",
  ${isoSql('c.ended_at')} as "endedAt", c.result, s.key as "sessionKey", (
    select coalesce(json_agg(e.content order by e.seq), '[]') from holdfast.entries e
    where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id and e.kind in ('answer', 'results')
      and strpos(e.content::text, $3) > 0
  ) as contents
from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id join holdfast.sessions s on s.id = t.session_id
where c.turn_id = $1 and c.call_id = $2 order by c.step desc limit 1`,
  values: (turnId: string, callId: string) => [turnId, callId, JSON.stringify(callId)],
  answer([row]: ToolCallRow[], turnId, callId): ToolCallDetail | null {
    if (row === undefined) return null;
    const { contents, result, ...call } = row;
    const blocks = contents.flat();
    const use = blocks.findLast(({ type, id }) => type === 'tool_use' && id === callId);
    const known = blocks.findLast((block) => block['type'] === 'tool_result' && block['tool_use_id'] === callId);
    const kept = known ?? (result === null ? undefined : { content: result.content, is_error: result.isError });
    return {
      turnId,
      ...call,
      arguments: use === undefined ? null : JSON.stringify(use['input']),
      result: kept === undefined ? null : { text: readPartText(kept), isError: kept['is_error'] === true },
    };
  },
});

type ToolCallRow = Omit<ToolCallDetail, 'turnId' | 'arguments' | 'result'> & {
  result: { content: unknown; isError?: boolean } | null;
  contents: StoredBlock[][];
};

// How messages ended, for requests that wait for them. Every waiting request uses it, so it is one
// statement for all of them, and the database builds its JSON.

export type SettlementView = Omit<SettledMessage, 'reply' | 'output'>;

// Prepared under a name, for the pool `hot`: planning it costs more than running it.
export const readSettlements = viewQuery({
  name: 'settlements',
  purpose: 'Read how messages ended, with their turns and steps.',
  text: `select ${messageSql()} as message, case when t.id is not null then ${turnSql()} end as turn,
  ${CALLS_SQL} as calls, ${toolsSql()} as tools
from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
where i.id = any ($1::uuid[]) and i.status not in ('delayed', 'waiting', 'claimed')`,
  values: (messageIds: string[]) => [messageIds],
  answer: (rows: SettlementRow[]) => new Map(rows.map((row) => [row.message.id, toSettlement(row)])),
});

interface SettlementRow extends Omit<TurnRow, 'turn'> {
  message: MessageView;
  turn: TurnSummary | null;
}

/**
 * How these messages ended, by their ids; a message that is not settled, or does not exist, is
 * absent.
 */
export async function viewSettlements(db: ViewDatabase, messageIds: string[]): Promise<Map<string, SettlementView>> {
  if (messageIds.length === 0) return new Map();
  return readSettlements(db, messageIds);
}

function toSettlement({ message, turn, calls, tools }: SettlementRow): SettlementView {
  if (turn === null) return { message, turn };
  fillOutput(turn);
  return { message, turn: withSteps(turn, buildSteps({ calls, tools })) };
}
