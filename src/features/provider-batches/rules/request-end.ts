// The names of requests in a submission, and their ends, from the lines of a batch's results. A
// name begins with that of its submission, so the first line of the results proves whose they are.
// Format: `hf_<22 characters base64url>_<base36>`, within the `^[a-zA-Z0-9_-]{1,64}$` of
// Anthropic's Message Batches API.
import { parseExactly } from '../../../core/json.ts';
import { CALL_TOKENS_MAX } from '../../../model/stream/stop-reasons.ts';
import { callCostMicros, type ReportedTokens, priceAt, type PriceTable } from '../../../core/prices.ts';
import { refOfModel } from '../../../core/models.ts';
import { cachedCallMicros, cacheTokensMinOf } from '../../../core/cache-markers.ts';

/**
 * The meaning of a line. `foreign`: its name is not one of this submission. `unreadable`: it is not
 * a line of results.
 */
export type ResultLine =
  | { kind: 'answered'; requestNo: number; message: object; usage: unknown }
  | { kind: 'errored'; requestNo: number; error: { type: string; message: string } }
  /** The provider has not answered it: it goes into another submission. */
  | { kind: 'returned'; requestNo: number; reason: string }
  | { kind: 'foreign' }
  | { kind: 'unreadable' };

/** Reads a line of the results of a submission. */
export function readResultLine(submissionId: string, line: string): ResultLine {
  const parsed = parseLine(line);
  if (!isRecord(parsed) || typeof parsed['custom_id'] !== 'string' || !isRecord(parsed['result']))
    return { kind: 'unreadable' };
  const requestNo = parseRequestNo(submissionId, parsed['custom_id']);
  if (requestNo === null) return { kind: 'foreign' };
  const { type, message, error } = parsed['result'];
  if (type === 'succeeded' && isRecord(message))
    return { kind: 'answered', requestNo, message, usage: message['usage'] };
  if (type === 'errored') return { kind: 'errored', requestNo, error: readError(error) };
  return { kind: 'returned', requestNo, reason: typeof type === 'string' ? type : 'unknown' };
}

/** The API nests the error in an error response. */
function readError(error: unknown): { type: string; message: string } {
  const inner = isRecord(error) && isRecord(error['error']) ? error['error'] : error;
  const { type, message } = isRecord(inner) ? inner : {};
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The prefix of the names of all requests of a submission. */
export function formatPrefix(submissionId: string): string {
  return `hf_${encodeBase64url(submissionId)}_`;
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

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** 128 bits as 22 digits of 6 bits. */
function encodeBase64url(uuid: string): string {
  let bits = BigInt(`0x${uuid.replaceAll('-', '')}`) << 4n;
  let text = '';
  for (let digit = 0; digit < 22; digit += 1) {
    text = (DIGITS[Number(bits & 63n)] ?? '') + text;
    bits >>= 6n;
  }
  return text;
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
