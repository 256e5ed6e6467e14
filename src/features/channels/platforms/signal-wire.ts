// Requests to the daemon of signal-cli, and what their failures say about whether a message was
// sent.
import { given, isObject } from '../../../core/json.ts';
import { PlatformError } from '../platform.ts';
import { noAnswer, readBytes, refuseAborted } from './requests.ts';

const ANSWER_BYTES_MAX = 8 * 1024 * 1024;

/** Codes of its errors. */
const CODE = { badParams: -32_602, internal: -32_603, io: -3, rateLimit: -5 };

interface RpcError {
  code: number;
  message: string;
  data?: { response?: { results?: SendResult[] } } | null;
}

interface SendResult {
  type?: string;
  /** The challenge that a captcha answers. */
  token?: string | null;
  retryAfterSeconds?: number | null;
}

export type AskSignal = (
  method: string,
  params: Record<string, unknown>,
  signal: AbortSignal,
  bytesMax?: number,
) => Promise<unknown>;

/** Sends requests to the daemon at an address. Rejects with `PlatformError`. */
export function createAsk(baseUrl: string): AskSignal {
  const url = `${baseUrl.replace(/\/$/, '')}/api/v1/rpc`;
  return async (method, params, signal, bytesMax = ANSWER_BYTES_MAX) => {
    refuseAborted(method, signal);
    const { status, text } = await post(url, JSON.stringify({ jsonrpc: '2.0', id: method, method, params }), {
      method,
      bytesMax,
      signal,
    });
    const answer = readJson(text);
    if (status !== 200 || !isObject(answer))
      throw new PlatformError(status >= 500 ? 'unknown' : 'unauthorized', refusalText(method, status), { status });
    if (answer['error'] !== undefined) throw toPlatformError(method, answer['error'] as RpcError);
    return answer['result'];
  };
}

async function post(
  url: string,
  body: string,
  { method, bytesMax, signal }: { method: string; bytesMax: number; signal: AbortSignal },
): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body, signal });
    const bytes = answer.body === null ? Buffer.alloc(0) : await readBytes(answer.body, bytesMax);
    if (bytes === null) throw new PlatformError('refused', `The answer to ${method} has more than ${bytesMax} bytes`);
    return { status: answer.status, text: bytes.toString('utf8') };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    const { cause, name } = error as { cause?: { code?: string }; name?: string };
    throw noAnswer({ platform: 'signal-cli', method }, { code: cause?.code, name });
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function refusalText(method: string, status: number): string {
  const how = status === 421 ? ': start the daemon with --http and the host and port of baseUrl' : '';
  return `signal-cli answered ${method} with ${status}${how}`;
}

function toPlatformError(method: string, { code, message, data }: RpcError): PlatformError {
  const results = data?.response?.results ?? [];
  const has = (type: string) => results.some((result) => result.type === type);
  const text = `signal-cli refused ${method}: ${message}`;
  if (code === CODE.rateLimit || has('RATE_LIMIT_FAILURE')) return toRateLimit(text, results);
  if (code === CODE.badParams) return new PlatformError('unauthorized', text);
  // A failure on the way to Signal can come after Signal has the message.
  const isUnknown =
    code === CODE.io || has('NETWORK_FAILURE') || (code === CODE.internal && !message.includes('AttachmentInvalid'));
  return new PlatformError(isUnknown ? 'unknown' : 'refused', text);
}

/** Signal limits accounts, not chats. */
function toRateLimit(text: string, results: readonly SendResult[]): PlatformError {
  const seconds = Math.max(0, ...results.map(({ retryAfterSeconds }) => retryAfterSeconds ?? 0));
  const challenge = results.find(({ token }) => typeof token === 'string')?.token;
  const how =
    typeof challenge === 'string'
      ? `. Signal wants a captcha: signal-cli submitRateLimitChallenge --challenge ${challenge} --captcha <token>`
      : '';
  return new PlatformError('later', text + how, {
    status: 429,
    isOfAccount: true,
    ...given({ retryAfterMs: seconds === 0 ? undefined : seconds * 1_000 }),
  });
}

/** The daemon has one account, and does not take the parameter `account` with every method. */
export function isWithoutMethod(error: unknown): boolean {
  return error instanceof PlatformError && error.message.includes('Method not implemented');
}
