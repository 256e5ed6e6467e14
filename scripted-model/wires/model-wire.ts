// What a wire does: it reads a request of its API into that of the Messages API, and writes the
// answer and errors as its API does.
import type { ComposedAnswer } from '../compose-answer.ts';
import type { ScriptFault } from '../parse-script.ts';
import type { ProviderError } from '../provider-error.ts';
import type { MessagesRequest } from '../wire.ts';
import { tokensOf } from '../cache-figures.ts';

/** A call, besides its headers. */
export interface Exchange {
  /** The parsed body; an object once `read` has accepted it. */
  body: unknown;
  /**
   * What stands before the first dot of the key, hashed: what one organisation has signed, another
   * cannot read.
   */
  organisation: string;
  /** What the path says, where it does. */
  model?: string;
  isStream?: boolean;
}

type ErrorFacts = Pick<ScriptFault & { kind: 'error' }, 'status' | 'errorCode' | 'retryAfter'>;

export interface ModelWire {
  /** What the ids of its tool calls begin with. */
  readonly callIdStart: string;
  /** Throws `ProviderError` at the first thing that the API would refuse. */
  read(this: void, body: unknown, exchange: Exchange): MessagesRequest;
  tooLong(this: void, tokens: number, tokensMax: number): ProviderError;
  /** The message of a scripted error that gives none. */
  messageOf(this: void, fault: ErrorFacts, model: string): string;
  errorHeaders(this: void, error: ProviderError): Record<string, string>;
  errorBody(this: void, error: ProviderError, requestId: string): string;
  /** An error inside a stream. */
  errorFrame(
    this: void,
    error: ProviderError,
    place: { requestId: string; answer: ComposedAnswer; index: number },
  ): string;
  /** The events of a stream. */
  frames(this: void, answer: ComposedAnswer, exchange: Exchange): string[];
  /** The answer without a stream. */
  body(this: void, answer: ComposedAnswer, exchange: Exchange): string;
}

/**
 * The tokens of an answer as most APIs count them: cached ones are part of the input, and reasoning
 * is part of the output.
 */
export function totalsOf({ usage, blocks }: ComposedAnswer): {
  input: number;
  cached: number;
  output: number;
  reasoning: number;
} {
  const { input_tokens: fresh, cache_read_input_tokens: cached, cache_creation_input_tokens: written } = usage;
  const chars = blocks.reduce((sum, block) => sum + (block.type === 'thinking' ? block.thinking.length : 0), 0);
  const output = usage.output_tokens;
  return { input: fresh + cached + written, cached, output, reasoning: Math.min(tokensOf(chars), output) };
}

/**
 * A request whose whole prefix is cached up to the end of each message, as APIs do that cache by
 * themselves.
 */
export function cachedByItself(request: MessagesRequest): MessagesRequest {
  for (const { content } of [{ content: request.system ?? [] }, ...request.messages]) {
    const last = typeof content === 'string' ? undefined : content.at(-1);
    if (last) last.cache_control = true;
  }
  return request;
}
