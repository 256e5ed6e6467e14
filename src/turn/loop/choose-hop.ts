// Which way the next call of a turn takes, and what its request in a batch of the provider is like.
import type { MessageVia } from '../../core/inbound.ts';
import { refOfModel } from '../../core/model-ref.ts';
import { priceAt } from '../../core/prices/price-table.ts';
import { cacheTokensMinOf } from '../../core/provider-batch/cache-markers.ts';
import { chooseMarkers, chooseWay, type ChosenWay, type NextCalls } from '../../core/provider-batch/choose-way.ts';
import { batchSettingsOf } from '../../core/provider-batch/message-via.ts';
import { prefixTokensOf } from '../../core/token-estimate.ts';
import type { WayFacts } from '../../store/provider-lane/way-facts.ts';
import { estimateNextRequest } from '../compact/request-tokens.ts';
import type { TurnContext } from '../context.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** Of a conversation of which nothing is known: its calls, the tokens of an answer, and those that its tools add. */
const CALLS_DEFAULT = 3;
const OUTPUT_TOKENS_DEFAULT = 300;
const RESULT_TOKENS_DEFAULT = 500;

export interface ChosenHop extends ChosenWay {
  /** The part of its prompt that the call before it has put into the cache, of a live conversation and of one in batches; null: it is not kept. */
  liveShare: number;
  laneShare: number | null;
}

/** Chooses for the next call. `via`: what its turn asks for; `facts`: what was measured. */
export function chooseHop(
  context: TurnContext,
  turn: OpenedTurn,
  { via, facts }: { via: Exclude<MessageVia, 'live'>; facts: WayFacts },
): ChosenHop {
  const { request } = turn.journal.attempt;
  const { cache, isProbe } = batchSettingsOf(turn.journal.at.inputs);
  const calls = nextCallsOf(turn, facts);
  const day = context.clock.now().toISOString().slice(0, 10);
  const price = priceAt(context.prices.table, { model: refOfModel(request), day });
  const about = { price, measured: facts.measured, cache, cacheTokensMin: cacheTokensMinOf(request.model) };
  const chosen: ChosenWay =
    via === 'auto'
      ? chooseWay(calls, about)
      : {
          way: 'provider-batch',
          markers: chooseMarkers(calls, about),
          reason: isProbe ? 'A probe: it measures what a batch reads from the cache.' : 'Asked for (via).',
        };
  const share = (tokens: number): number => Math.min(1, tokens / Math.max(1, calls.promptTokens));
  const { prefixTokens, previousTokens, previousWay } = calls;
  const laneTokens = previousWay === 'live' ? prefixTokens : Math.max(prefixTokens, previousTokens);
  return {
    ...chosen,
    liveShare: share(Math.max(prefixTokens, previousTokens)),
    laneShare: chosen.markers === 'off' ? null : share(laneTokens),
  };
}

function nextCallsOf(turn: OpenedTurn, { sample }: WayFacts): NextCalls {
  const { at, attempt } = turn.journal;
  const promptTokens = estimateNextRequest(turn);
  const { steps, outputTokens } = at.progress;
  const output = steps > 0 ? outputTokens / steps : (sample?.outputTokens ?? OUTPUT_TOKENS_DEFAULT);
  return {
    promptTokens,
    prefixTokens: Math.min(promptTokens, prefixTokensOf(attempt.request)),
    previousTokens: steps > 0 ? Math.max(0, promptTokens - at.tokens.added) : 0,
    previousWay: attempt.way?.way ?? null,
    addedTokens: output + (steps > 0 ? at.tokens.added : RESULT_TOKENS_DEFAULT),
    outputTokens: output,
    callsLeft: Math.max(1, Math.round(sample?.calls ?? CALLS_DEFAULT) - steps),
  };
}
