// Which model a turn asks when the one that it asks does not answer (G35): the next of its chain whose calls are let through, and whose window has
// room for the request. When there is none, the turn waits, and begins with the first model again.
import { factsOfModel } from '../../../config.ts';
import { thresholdTokens } from '../../../compaction/plan-compaction.ts';
import { modelOfRef, providerOf, refOfModel } from '../../../core/model-ref.ts';
import { cutHead } from '../../../core/text.ts';
import type { NewEvent } from '../../events/events.ts';
import type { TurnContext } from '../context.ts';
import type { Wait } from '../gate-check.ts';
import { isOpen } from '../gate/gate.ts';
import { modelFallback } from '../model-events.ts';
import { askInstead, fallbacksLeft, type NextModel } from '../open/asked-model.ts';
import { pickLogIds, type OpenedTurn } from '../opened-turn.ts';
import { estimateNextRequest } from '../request-tokens.ts';

/** Why a model is left. */
interface Cause {
  code: string;
  text: string;
}

/** The most characters of what a provider has said. */
const CAUSE_CHARS_MAX = 500;

/** The next model of a turn whose calls would be let through, and that has room for the request. */
function openFallback(context: TurnContext, turn: OpenedTurn): string | undefined {
  return fallbacksLeft(turn).find(
    (ref) => isOpen(context, modelOfRef(ref)) && findTooSmall(context, turn, ref) === null,
  );
}

/**
 * Steps down after a failed call; returns the events of it, to be committed with the call. Null: there is no model left that could be asked
 * now. `isRefused`: the model that was asked will not answer later either, so the turn steps down to one that is away, and waits for it, or to
 * one whose window is too small, and makes the prompt smaller.
 */
export function stepDown(
  context: TurnContext,
  turn: OpenedTurn,
  { isRefused, ...cause }: Cause & { isRefused: boolean },
): NewEvent[] | null {
  const { request } = turn.journal.attempt;
  const left = isRefused ? fallbacksLeft(turn) : [];
  const model = openFallback(context, turn) ?? left.find((ref) => findTooSmall(context, turn, ref) === null) ?? left[0];
  if (model === undefined) return null;
  context.logger.warn(
    { ...pickLogIds(context, turn), code: cause.code, fallback: model },
    'Turn falls back to another model',
  );
  const from = refOfModel(request);
  const reason = reasonFor(context, turn, { model, cause });
  stepTo(context, turn, { model, reason });
  const blocked = { model: from, provider: providerOf(request), ...cause, fallback: model };
  return [{ type: 'model.blocked', data: blocked }, modelFallback({ from, to: model, reason })];
}

/** Steps down without a failed call, because the model is not to be called; the event is stored with the first call of the next. False: there is none. */
export function stepAround(context: TurnContext, turn: OpenedTurn, cause: Cause): boolean {
  const model = openFallback(context, turn);
  if (model === undefined) return false;
  const { request, unstoredEvents } = turn.journal.attempt;
  const reason = reasonFor(context, turn, { model, cause });
  const event = modelFallback({ from: refOfModel(request), to: model, reason });
  askInstead(context, turn, { model, reason });
  turn.journal.note({ unstoredEvents: [...unstoredEvents, event] });
  return true;
}

/** Before a turn is parked: it begins with its first model again when it is resumed. */
export function stepBack(context: TurnContext, turn: OpenedTurn): void {
  const [model] = turn.chain;
  if (turn.journal.attempt.fallback !== null && model !== undefined) stepTo(context, turn, { model, reason: null });
}

/** A wait for a model, with the fallbacks that would be asked instead if their windows were larger. */
export function namingSmallWindows(context: TurnContext, turn: OpenedTurn, wait: Wait): Wait {
  const small = turn.chain.slice(1).flatMap((ref) => findTooSmall(context, turn, ref) ?? []);
  if (small.length === 0) return wait;
  return { ...wait, reason: { ...wait.reason, text: `${wait.reason.text} Skipped: ${small.join('; ')}.` } };
}

/** After a failed call: its row says which model is asked next, so that a worker that resumes the turn asks the same. */
function stepTo(context: TurnContext, turn: OpenedTurn, next: NextModel): void {
  const { journal } = turn;
  askInstead(context, turn, next);
  const { unstoredCall } = journal.attempt;
  if (unstoredCall === null) return;
  const { model: fallback, reason: fallbackReason } = next;
  journal.note({ unstoredCall: { ...unstoredCall, error: { ...unstoredCall.error, fallback, fallbackReason } } });
}

/** Says that the window of a model is too small for the next request; null: it has room for it, as far as is known. */
function findTooSmall({ config }: TurnContext, turn: OpenedTurn, ref: string): string | null {
  const contextTokens = factsOfModel(config, ref)?.contextTokens ?? null;
  const tokens = estimateNextRequest(turn);
  if (contextTokens === null || tokens <= thresholdTokens({ ...turn.agent.compaction, contextTokens })) return null;
  return `${ref}, whose window of ${contextTokens} tokens is too small for a request of about ${tokens}`;
}

function reasonFor(
  context: TurnContext,
  turn: OpenedTurn,
  { model, cause: { code, text } }: { model: string; cause: Cause },
): string {
  const left = fallbacksLeft(turn);
  const skipped = left
    .slice(0, left.indexOf(model))
    .map((ref) => findTooSmall(context, turn, ref) ?? `${ref}, which is not called now`);
  const what = `${code}: ${cutHead(text, CAUSE_CHARS_MAX)}`;
  return skipped.length === 0 ? what : `${what} Skipped: ${skipped.join('; ')}.`;
}
