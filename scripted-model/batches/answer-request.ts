// The answer to one request of a batch: that of a call without a stream, with the usage of a batch.
// Its parameters are validated only here.
import { composeAnswer, type Situation } from '../compose-answer.ts';
import type { InputFigures, PromptCache } from '../cache-figures.ts';
import { invalidRequest, ProviderError, typeOf } from '../provider-error.ts';
import { messageBody, MESSAGES_WIRE } from '../wires/messages-wire.ts';
import { scriptedError } from '../stream-answer.ts';
import { validateRequest } from '../validate-request.ts';
import type { MessagesRequest } from '../wire.ts';
import type { RequestResult } from './message-batches.ts';

export interface RequestAnswering extends Omit<Situation, 'figures' | 'turn' | 'isBatch'> {
  cache: PromptCache;
  /**
   * The part of prefixes in the cache that requests of batches find there, 0 to 1; null: as with
   * live calls.
   */
  cacheHits: number | null;
}

/** Answers requests; null: the result of this one is missing. */
export function createRequestAnswering(
  parts: RequestAnswering,
): (params: Record<string, unknown>) => RequestResult | null {
  let prefixes = 0;
  // Of 10 prefixes at a rate of 0.9 the last is a miss.
  const isHit = (): boolean => {
    prefixes += 1;
    const { cacheHits } = parts;
    return cacheHits === null || Math.floor(prefixes * cacheHits) > Math.floor((prefixes - 1) * cacheHits);
  };
  return (params) => {
    try {
      if ('stream' in params) throw invalidRequest('stream: Extra inputs are not permitted');
      return answer(parts, validateRequest(params), isHit);
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error;
      return errored(error);
    }
  };
}

function answer(parts: RequestAnswering, request: MessagesRequest, isHit: () => boolean): RequestResult | null {
  const measured = parts.cache.measure(request);
  const figures = parts.cacheHits === null ? measured : withHits(measured, isHit);
  const composed = composeAnswer(request, { ...parts, figures, turn: '', isBatch: true });
  const { fault } = composed;
  if (fault?.kind === 'error') return errored(scriptedError(fault, MESSAGES_WIRE, request.model));
  if (fault?.kind === 'batch') {
    switch (fault.outcome) {
      case 'missing':
        return null;
      case 'errored':
        return errored(new ProviderError({ status: 400, type: fault.type, message: `Scripted ${fault.type}` }));
      case 'expired':
      case 'canceled':
      case 'broken':
        return { type: fault.outcome };
    }
  }
  const message = JSON.parse(messageBody(composed)) as Record<string, unknown>;
  const write = composed.usage.cache_creation_input_tokens;
  const isHour = JSON.stringify(request.system ?? '').includes('"ttl":"1h"');
  const usage = {
    ...composed.usage,
    service_tier: 'batch',
    cache_creation: {
      ephemeral_1h_input_tokens: isHour ? write : 0,
      ephemeral_5m_input_tokens: isHour ? 0 : write,
    },
  };
  return { type: 'succeeded', message: { ...message, usage } };
}

/** A prefix that an earlier request has put into the cache is found there, or written again. */
function withHits(figures: InputFigures, isHit: () => boolean): InputFigures {
  const { cacheReadTokens, cacheWriteTokens } = figures;
  if (cacheReadTokens === 0 || isHit()) return figures;
  return { ...figures, cacheReadTokens: 0, cacheWriteTokens: cacheReadTokens + cacheWriteTokens };
}

function errored(error: ProviderError): RequestResult {
  const { message } = error;
  return { type: 'errored', error: { type: 'error', error: { type: typeOf(error), message }, request_id: null } };
}
