// The names of requests in a submission, and their ends, from the lines of a batch's results. A
// name begins with that of its submission, so the first line of the results proves whose they are.
// Format: `hf_<22 characters base64url>_<base36>`, within the `^[a-zA-Z0-9_-]{1,64}$` of
// Anthropic's Message Batches API.
import { isObject, parseExactly } from '../../../core/json.ts';
import { CALL_TOKENS_MAX } from '../../../model/stream/stop-reasons.ts';
import { callCostMicros, type ReportedTokens, priceAt, type PriceTable } from '../../../core/prices.ts';
import { refOfModel } from '../../../core/models.ts';
import { cachedCallMicros, cacheTokensMinOf } from '../../../core/cache-markers.ts';

/** The result of one request in a batch. */
export interface RequestResult {
  /** Its number in the submission. */
  requestNo: number;
  /** `queued`: the provider has not answered it, so it goes into another submission. */
  status: 'answered' | 'errored' | 'queued';
  /** The provider's message. */
  result: { model?: unknown; usage?: unknown } | null;
  /** The provider's error. */
  error: { type: string; message: string } | null;
}

/**
 * The meaning of a line. `foreign`: its name is not one of this submission. `unreadable`: it is not
 * a line of results.
 */
export type ResultLine = ({ kind: 'result' } & RequestResult) | { kind: 'foreign' | 'unreadable' };

/** Reads a line of the results of a submission. */
export function readResultLine(submissionId: string, line: string): ResultLine {
  const parsed = parseLine(line);
  if (!isObject(parsed) || typeof parsed['custom_id'] !== 'string' || !isObject(parsed['result']))
    return { kind: 'unreadable' };
  const requestNo = parseRequestNo(submissionId, parsed['custom_id']);
  if (requestNo === null) return { kind: 'foreign' };
  const { type, message, error } = parsed['result'];
  const ended = { kind: 'result', requestNo, result: null, error: null } as const;
  if (type === 'succeeded' && isObject(message)) return { ...ended, status: 'answered', result: message };
  if (type === 'errored') return { ...ended, status: 'errored', error: readError(error) };
  return { ...ended, status: 'queued' };
}

/** The API nests the error in an error response. */
function readError(error: unknown): { type: string; message: string } {
  const inner = isObject(error) && isObject(error['error']) ? error['error'] : error;
  const { type, message } = isObject(inner) ? inner : {};
  return providerErrorFault({
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  });
}

/**
 * The fault of a request that the provider has refused, as `classifyFailure` takes it; a batch
 * gives the type of the error and no status.
 */
export function providerErrorFault(error: { type?: string; message?: string } | null): {
  type: string;
  message: string;
} {
  return {
    type: error?.type ?? 'api_error',
    message: error?.message ?? 'The provider gave no reason.',
  };
}

function parseLine(line: string): unknown {
  try {
    return parseExactly(line);
  } catch {
    return null;
  }
}

/** The prefix of the names of all requests of a submission: its 128 bits. */
export function formatPrefix(submissionId: string): string {
  return `hf_${Buffer.from(submissionId.replaceAll('-', ''), 'hex').toString('base64url')}_`;
}

/** The name of a request, from its number in the submission. */
export function formatCustomId(submissionId: string, requestNo: number): string {
  return `${formatPrefix(submissionId)}${requestNo.toString(36)}`;
}

/** The number of a request; null for a name of another submission. */
export function parseRequestNo(submissionId: string, customId: string): number | null {
  const prefix = formatPrefix(submissionId);
  if (!customId.startsWith(prefix)) return null;
  const rest = customId.slice(prefix.length);
  return /^(?:0|[1-9a-z][0-9a-z]{0,5})$/.test(rest) ? Number.parseInt(rest, 36) : null;
}

// The tokens and the cost of an answer in the results of a batch: read from its line before any
// turn uses it.

/**
 * The tokens that the provider reports with an answer; missing ones, and those that no request can
 * have, are 0.
 */
export function tokensOfUsage(usage: unknown): ReportedTokens & { cacheWrite1hTokens: number } {
  const count = (of: unknown, name: string): number => {
    const value = (of as Record<string, unknown> | null | undefined)?.[name];
    return typeof value === 'number' && value >= 0 && value <= CALL_TOKENS_MAX ? value : 0;
  };
  return {
    inputTokens: count(usage, 'input_tokens'),
    outputTokens: count(usage, 'output_tokens'),
    cacheReadTokens: count(usage, 'cache_read_input_tokens'),
    cacheWriteTokens: count(usage, 'cache_creation_input_tokens'),
    cacheWrite1hTokens: count(
      (usage as { cache_creation?: unknown } | null)?.cache_creation,
      'ephemeral_1h_input_tokens',
    ),
  };
}

/**
 * The cost of an answer in a batch, and of the same in a live call, in micro-dollars; null: the
 * model has no price. A live call reads `liveShare` of its prompt from the cache and writes the
 * rest; a prompt that is too short for the cache is neither read nor written.
 */
export function answerCosts(
  table: PriceTable,
  { model, day, usage, liveShare }: { model: string; day: string; usage: unknown; liveShare: number | null },
): { costMicros: number | null; liveMicros: number | null } {
  const price = priceAt(table, { model: refOfModel({ model }), day });
  if (price === null) return { costMicros: null, liveMicros: null };
  const tokens = tokensOfUsage(usage);
  const { outputTokens } = tokens;
  const promptTokens = tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens;
  const markers = promptTokens >= cacheTokensMinOf(model) ? '5m' : 'off';
  const live = { promptTokens, prefixTokens: 0, readTokens: promptTokens * (liveShare ?? 0), outputTokens };
  return {
    costMicros: callCostMicros(price, tokens, 'batch'),
    liveMicros: cachedCallMicros(price, live, { tier: 'standard', markers }),
  };
}
