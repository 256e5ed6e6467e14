// Asks the model through a batch of the provider. One round is a hop: one write charges the call
// and stores its request, the next one parks the turn; a later claim of the turn finds the answer
// and uses it as if it had been streamed. What becomes of the request in between is not the turn's
// business (src/features/provider-batches/provider-lane.ts).
import { gzipSync } from 'node:zlib';
import { hash } from 'node:crypto';
import { withMarkers } from '../../core/cache-markers.ts';
import { classifyFailure } from '../../core/failure.ts';
import { providerErrorFault } from './rules/request-end.ts';
import { readBatchSettings, readVia } from '../../core/inbound.ts';
import { leaveAtMs, leaveMsBeforeDeadline } from './rules/leave-lane.ts';
import { estimatePrefixTokens } from '../../core/content-size.ts';
import { ModelError } from '../../model/model.ts';
import type { ModelCallRow } from '../../kernel/turn/journal/journal.ts';
import type { OpenHop } from '../../kernel/sessions/claim-session.ts';
import { type NewProviderRequest, type StoreRequest, createStoreRequest } from './store/store-request.ts';
import { readTookMs } from './store/submissions.ts';
import { compactAfterOverflow, compactWhenFull } from '../../kernel/turn/compact/compact-when-full.ts';
import { estimateNextRequest, type OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import type { TurnContext, TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import { takeKey } from '../../kernel/turn/open/asked-model.ts';
import { TurnFailed, type TurnStopped } from '../../kernel/turn/turn-stop.ts';
import { assertRetryable, chargeNext } from '../../kernel/turn/loop/after-failed-call.ts';
import { enterNextGate, nextRequest, pruneWhenCold, askOnce, sampled } from '../../kernel/turn/loop/ask-model.ts';
import { NO_ROWS, type AnsweredCall, nextCallNo } from '../../kernel/turn/position.ts';
import { waitStop } from '../../kernel/turn/gate/gate.ts';
import { providerBatch } from '../../kernel/rules/why.ts';
import { createInputTransform } from '../../model/stream/replace-text.ts';
import { CallRecord, failedBy } from '../../kernel/turn/model-call.ts';
import { modelStarted, turnResumed } from '../../kernel/turn/turn-log.ts';

interface LaneContext extends TurnContext {
  storeRequest: StoreRequest;
}

/**
 * Resolves with the answer of a batch, or with null for a call that is made live. Throws
 * `TurnStopped` (parked) while there is no answer, `TurnFailed` when there will be none.
 */
export async function askByBatch(context: LaneContext, turn: OpenedTurn): Promise<AnsweredCall | null> {
  const { hop } = turn.journal.attempt;
  if (hop === null ? readVia(turn.journal.at.inputs) !== 'live' : hop.status === 'answered')
    takeKey(context, turn, 'batch');
  if (hop === null) {
    await parkForHop(context, turn);
    return null;
  }
  switch (hop.status) {
    case 'queued':
    case 'assigned':
    case 'canceled':
      throw parked(turn, { hasCalled: false });
    case 'live':
      turn.journal.note({ hop: null });
      return null;
    case 'expired':
      throw unansweredFailure();
    case 'errored':
      return await afterRefusal(context, turn, hop);
    case 'answered':
      return await receive(context, turn, hop);
  }
}

/**
 * Stores the request of the next call, and parks the turn. Returns when that call is made live;
 * throws `TurnFailed` when it may not be.
 */
async function parkForHop(context: LaneContext, turn: OpenedTurn): Promise<void> {
  const { inputs } = turn.journal.at;
  if (readVia(inputs) === 'live') return;
  const { batchId, fallback, cache, viaReason } = readBatchSettings(inputs);
  const { deadlineSeconds } = context.config.batches;
  const leaveMs = leaveMsBeforeDeadline(await readTookMs(context.store.database));
  const leaveAt = leaveAtMs(inputs, { deadlineSeconds, leaveMs });
  const isLate = context.clock.now().getTime() >= leaveAt;
  if (isLate && fallback === 'live') return;
  pruneWhenCold(context, turn);
  await compactWhenFull(context, turn);
  const { messages } = nextRequest(turn);
  const { request, requests } = turn.journal.attempt;
  const transformed = createInputTransform(requests.rules.view)({ system: request.system, messages: [...messages] });
  const params = context.models.client.batchParams(
    withMarkers({ ...sampled(request, turn.journal.at.progress.steps + 1), ...transformed }, cache),
  );
  if (params === null) return;
  if (isLate) throw unansweredFailure();
  const body = JSON.stringify(params);
  await enterNextGate(context, turn, 'batch');
  await store(context, turn, {
    callNo: nextCallNo(turn.journal.at),
    model: request.model,
    batchId,
    fallback,
    hop: turn.journal.at.progress.steps + 1,
    reason: viaReason ?? 'Asked for (via).',
    cache,
    liveShare: computeLiveShare(turn),
    params: gzipSync(body),
    paramsBytes: Buffer.byteLength(body),
    paramsSha256: hash('sha256', body, 'hex'),
    leaveAt: new Date(leaveAt),
  });
  throw parked(turn, { hasCalled: true });
}

/** Charges the call, unless it is charged, and stores its request. */
async function store(
  { storeRequest }: LaneContext,
  { id, journal }: OpenedTurn,
  request: NewProviderRequest,
): Promise<void> {
  const { callNo } = request;
  const events = callNo > journal.at.progress.calls ? [modelStarted(id, callNo)] : [];
  await journal.store({ ...NO_ROWS, totals: { calls: callNo }, events }, (rows) => storeRequest({ ...rows, request }));
}

/**
 * The part of the next prompt that the call before it, or another conversation of the agent, has
 * put into the cache of live calls.
 */
function computeLiveShare(turn: OpenedTurn): number {
  const { at, attempt } = turn.journal;
  const promptTokens = Math.max(1, estimateNextRequest(turn));
  const previousTokens = at.progress.steps > 0 ? promptTokens - at.tokens.added : 0;
  return Math.min(1, Math.max(estimatePrefixTokens(attempt.request), previousTokens) / promptTokens);
}

function unansweredFailure(): TurnFailed {
  return new TurnFailed('expired', 'No batch of the provider answered before the deadline (deadlineSeconds).');
}

function parked(turn: OpenedTurn, { hasCalled }: { hasCalled: boolean }): TurnStopped {
  return waitStop({ reason: providerBatch(turn.journal.attempt.request), delayMs: null, notBeforeMs: 0, hasCalled });
}

async function receive(context: LaneContext, turn: OpenedTurn, hop: OpenHop): Promise<AnsweredCall | null> {
  const { park } = turn.journal.at;
  const result = await askOnce(context, turn, { hop });
  if ('fault' in result) return await afterFault(context, turn, result);
  turn.journal.note({ hop: null });
  return park === null ? result : { ...result, resumed: [turnResumed(park)] };
}

async function afterRefusal(context: LaneContext, turn: OpenedTurn, hop: OpenHop): Promise<null> {
  const record = new CallRecord(context, turn, {
    callNo: hop.callNo,
    view: null,
    model: turn.journal.attempt.request,
    tier: 'batch',
  });
  const fault = new ModelError({ ...providerErrorFault(hop.error), status: null, retryAfterMs: null });
  return await afterFault(context, turn, { fault, row: record.ended(failedBy(fault)) });
}

/**
 * Decides as after a failed live call, but nothing is waited for in the worker: the next hop is the
 * wait. The failed call and the charge of the next one are stored first, because the next one may
 * be a live call or a compaction.
 */
async function afterFault(
  context: LaneContext,
  turn: OpenedTurn,
  { fault, row }: { fault: ModelError; row: ModelCallRow },
): Promise<null> {
  turn.journal.note({ unstoredCall: row, hop: null });
  assertRetryable(context, turn, fault);
  const isTooLong = classifyFailure(fault).kind === 'overflow';
  await chargeNext(context, turn, { retries: turn.journal.at.progress.retries + (isTooLong ? 0 : 1), delayMs: 0 });
  if (isTooLong) await compactAfterOverflow(context, turn, fault);
  await parkForHop(context, turn);
  return null;
}

// The part of the provider lane in a turn: it gets answers from batches, and drops what an ended
// turn has left.

export function turnsByBatch({ database }: TurnParts): TurnFeature {
  const storeRequest = createStoreRequest(database);
  return {
    ask: (context, turn) => askByBatch({ ...context, storeRequest }, turn),
    effects: ({ id: turnId, journal }) =>
      readVia(journal.at.inputs) === 'live' ? [] : [{ kind: 'requests-left', turnId }],
  };
}
