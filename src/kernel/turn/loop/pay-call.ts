// Calls of models that are no answers of a turn: for its tools, and for the words of audio. Each
// passes the gate as every call does, is made once, and has a row with its cost. What was sent and
// has no answer may have been made and paid: its row says that its cost is an estimate.
import { hash } from 'node:crypto';
import { refOfModel, namedModel } from '../../../core/models.ts';
import type { ModelRequest, TokenCounts } from '../../../core/model-request.ts';
import { priceAt } from '../../../core/prices.ts';
import { estimateTokens } from '../../../core/content-size.ts';
import type { ModelError } from '../../../model/model.ts';
import {
  PaidCallError,
  type PaidAnswer,
  type PaidCall,
  type SendPaid,
  type ToolModels,
} from '../../../tools/paid-call.ts';
import { ToolTimeoutError } from '../../../tools/tool.ts';
import type { TurnContext } from '../context.ts';
import { modelEnded } from '../turn-log.ts';
import { askGate, withKey, type Pass } from '../gate/gate.ts';
import type { Wait } from '../gate-check.ts';
import type { ModelCallRow } from '../journal/journal.ts';
import { abortedBy, CallRecord, failedBy, toModelError, type BrokenCall } from '../model-call.ts';
import type { OpenedTurn } from '../opened-turn.ts';
import { TurnFailed, TurnStopped } from '../turn-stop.ts';

/** A call that passed the gate. */
export interface PassedCall extends PaidCall {
  pass: Pass;
  callNo: number;
  step: number;
  signal: AbortSignal;
}

/** How it ended. `isSent`: the provider may have done what was asked. */
export type PaidEnd<Result> =
  | { kind: 'answered'; result: Result; row: ModelCallRow }
  | { kind: 'failed'; fault: Pick<ModelError, 'message'>; isSent: boolean; row: ModelCallRow };

/**
 * Asks the gate for a call; its request then names the key that it uses. Throws `TurnFailed` when
 * it can never be made.
 */
export async function passGate(
  context: TurnContext,
  turn: OpenedTurn,
  { purpose, request, unitMicros, callNo }: PaidCall & { callNo: number },
): Promise<{ pass: Pass; request: ModelRequest } | { wait: Wait }> {
  const keyed = { ...request, ...withKey(context, turn.session.id, namedModel(request)) };
  const unit = unitMicros === undefined ? {} : { unitMicros };
  const coming = { turn, way: 'live' as const, model: keyed, callNo, purpose, request: () => keyed, ...unit };
  const entry = await askGate(context, coming);
  return 'reason' in entry ? { wait: entry } : { pass: entry, request: keyed };
}

/**
 * Makes a call that has passed the gate. Throws the reason of a stop of the turn, after its row is
 * left for the end of the turn.
 */
export async function makePaidCall<Result>(
  context: TurnContext,
  turn: OpenedTurn,
  { pass, callNo, step, signal, ...call }: PassedCall,
  send: SendPaid<Result>,
): Promise<PaidEnd<Result>> {
  const { purpose, request } = call;
  const record = new CallRecord(context, turn, { callNo, step, view: null, purpose, model: request });
  const { headers, beforeSend, observers = [] } = record.options();
  const ended = (row: ModelCallRow): ModelCallRow => {
    pass.used(row);
    return row;
  };
  pass.begun();
  try {
    const answer = await send({
      request,
      headers,
      signal,
      onSend(body) {
        beforeSend?.();
        for (const observer of observers) observer.sent?.(body, hash('sha256', body, 'hex'));
      },
      onBytes: (count) => observers.forEach((observer) => observer.bytes?.(count)),
    });
    pass.answered();
    return { kind: 'answered', result: answer.result, row: ended(rowOf(context, record, { call, callNo }, answer)) };
  } catch (error) {
    pass.left();
    const { end, fault } = toBroken(context, error);
    const row = ended(brokenRow(context, record, call, end));
    if (fault === null) {
      turn.journal.note({ unstoredCall: row });
      throw error;
    }
    // A request that was refused as a whole was answered.
    return { kind: 'failed', fault, isSent: row.requestSha256 !== null && end.usage === undefined, row };
  }
}

function rowOf(
  context: TurnContext,
  record: CallRecord,
  { call: { request, purpose, unitMicros }, callNo }: { call: PaidCall; callNo: number },
  { id, usage, unitMicros: answered = unitMicros }: PaidAnswer<unknown>,
): ModelCallRow {
  const answer = {
    id: id ?? `${purpose}_${callNo}`,
    model: request.model,
    content: [],
    stopReason: 'end_turn' as const,
    usage: usage ?? NO_TOKENS,
  };
  const isByTokens = unitMicros === undefined || (usage !== null && isPriced(context, request));
  return record.ended({ answer }, isByTokens ? {} : { costMicros: answered ?? null });
}

const NO_TOKENS: TokenCounts = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/**
 * The row of a call without an answer: one that may have been made costs what it was likely to
 * cost.
 */
function brokenRow(
  context: TurnContext,
  record: CallRecord,
  { request, unitMicros }: PaidCall,
  end: BrokenCall,
): ModelCallRow {
  if (unitMicros === undefined) return record.ended(end);
  if (end.usage !== undefined) return record.ended(end, { costMicros: 0 });
  const { requestSha256 } = record;
  if (requestSha256 === null) return record.ended({ ...end, usage: NO_TOKENS }, { costMicros: 0 });
  if (!isPriced(context, request)) return record.ended(end, { costMicros: unitMicros });
  const usage = { ...NO_TOKENS, inputTokens: estimateTokens(request.messages), outputTokens: request.maxTokens };
  return { ...record.ended({ ...end, usage }), isEstimated: true };
}

function isPriced({ models, clock }: TurnContext, request: ModelRequest): boolean {
  return (
    priceAt(models.prices.table, { model: refOfModel(request), day: clock.now().toISOString().slice(0, 10) }) !== null
  );
}

/** `fault` null: the turn stops. Rethrows what is no end of a call. */
function toBroken(
  context: TurnContext,
  error: unknown,
): { end: BrokenCall; fault: Pick<ModelError, 'message'> | null } {
  if (error instanceof TurnStopped) return { end: abortedBy(error.reason), fault: null };
  if (error instanceof ToolTimeoutError) {
    const { code, message } = error;
    return { end: { status: 'aborted', error: { code, message } }, fault: error };
  }
  const fault = toModelError(context, error);
  return { end: failedBy(fault), fault };
}

/** The models of a tool call, with the rows of the calls that it has made. */
export interface PaidCalls {
  models: ToolModels;
  rows: ModelCallRow[];
}

/** The models of a tool call of this step. */
export function createPaidCalls(context: TurnContext, turn: OpenedTurn, step: number): PaidCalls {
  const rows: ModelCallRow[] = [];
  const pay: ToolModels['pay'] = async ({ signal, ...call }, send) => {
    const callNo = takeNumber(turn);
    const passed = await passOrRefuse(context, turn, { ...call, callNo });
    const end = await makePaidCall(context, turn, { ...call, ...passed, callNo, step, signal }, send);
    rows.push(end.row);
    if (end.kind === 'answered') return end.result;
    throw new PaidCallError(end.isSent ? 'lost' : 'failed', end.fault.message, end.fault);
  };
  return {
    rows,
    models: {
      pay,
      ask: (call) =>
        pay(call, async ({ request, headers, onSend, onBytes, signal }) => {
          const answer = await context.models.client.ask(request, {
            headers,
            signal,
            beforeSend: () => turn.held.assertHeld(),
            observers: [{ sent: (body) => onSend(Buffer.from(body)), bytes: onBytes }],
          });
          return { result: answer, id: answer.id, usage: answer.usage };
        }),
    },
  };
}

/**
 * Several tools of an answer may call models at the same time; each call takes a number when it
 * begins.
 */
function takeNumber({ journal }: OpenedTurn): number {
  const paidCallNo = Math.max(journal.at.progress.calls, journal.attempt.paidCallNo) + 1;
  journal.note({ paidCallNo });
  return paidCallNo;
}

/** A tool does not wait for money or for a model that is away: its agent reads why, and decides. */
async function passOrRefuse(
  context: TurnContext,
  turn: OpenedTurn,
  call: PaidCall & { callNo: number },
): Promise<{ pass: Pass; request: ModelRequest }> {
  try {
    const entry = await passGate(context, turn, call);
    if ('pass' in entry) return entry;
    throw new PaidCallError('refused', entry.wait.reason.text);
  } catch (error) {
    if (error instanceof TurnFailed) throw new PaidCallError('refused', error.message, error);
    throw error;
  }
}

/** A tool call with the model calls that it has made and that are not stored; absent: none. */
export interface PayingCall {
  rows?: ModelCallRow[];
}

/**
 * What a write stores of the model calls of tools, and the number of calls of the turn with them.
 */
export function takePaid(turn: OpenedTurn, calls: readonly PayingCall[]) {
  const { at, attempt } = turn.journal;
  const modelCalls = calls.flatMap(({ rows = [] }) => rows.splice(0));
  return {
    modelCalls,
    events: modelCalls.map((row) => modelEnded(turn, row)),
    totals: { calls: Math.max(at.progress.calls, attempt.paidCallNo) },
  };
}

/** Leaves a paid call of a turn that was stopped to the end of the turn, which stores one. */
export function leavePaid({ held, journal }: OpenedTurn, calls: readonly PayingCall[]): void {
  if (!held.signal.aborted || journal.attempt.unstoredCall !== null) return;
  const [left = null] = calls.flatMap(({ rows = [] }) => rows.splice(0));
  journal.note({ unstoredCall: left });
}
