// What requests to all platforms have in common: what it means for a message that a request has no
// answer, how long the history of a gap is asked for, and downloads within a bound.
import { pause } from '../../../clock.ts';
import { given } from '../../../core/json.ts';
import { PlatformError, tooLarge } from '../platform.ts';

/** Faults before a byte was sent: of the name, the connection or the certificate. */
const BEFORE_SENDING =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const ABORTS = new Set(['AbortError', 'TimeoutError']);

/** A request that is not begun may be sent again. */
export function refuseAborted(method: string, signal: AbortSignal): void {
  if (signal.aborted) throw new PlatformError('later', `${method} was not sent: ${String(signal.reason)}`);
}

/**
 * The error of a request without an answer: it may have been carried out, unless nothing of it was
 * sent. The cause is not passed on: its text can contain the request.
 */
export function noAnswer(
  what: { platform: string; method: string },
  { code, name = '' }: { code?: string | undefined; name?: string | undefined },
): PlatformError {
  const isUnsent = code !== undefined && BEFORE_SENDING.test(code);
  const why = code ?? (ABORTS.has(name) ? 'it was aborted' : 'no answer');
  return new PlatformError(isUnsent ? 'later' : 'unknown', `${what.platform} did not answer ${what.method}: ${why}`);
}

/**
 * The bounds of what is read of the history of a platform after a gap, in which its events did not
 * arrive.
 */
export const GAP = { chatsMax: 200, messagesMax: 1_000, msMax: 24 * 60 * 60_000 };
/** Events of the last seconds before a gap can be missing, too. */
const OVERLAP_MS = 60_000;
const TRIES_MAX = 20;

/**
 * From when on messages are read, in epoch milliseconds. `lastAtMs`: when the last was sent that is
 * known.
 */
export function startOfGap(lastAtMs: number): number {
  return Math.max(lastAtMs - OVERLAP_MS, Date.now() - GAP.msMax);
}

/** Waits as long as the platform says: to begin the history anew would ask for the same again. */
export async function patiently<Result>(signal: AbortSignal, request: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      if (!(error instanceof PlatformError) || error.retryAfterMs === undefined || tries === TRIES_MAX) throw error;
      await pause(error.retryAfterMs, signal);
    }
  }
}

/**
 * False for an address outside the platform. A file can be a link to elsewhere, which is given
 * neither a request nor a token.
 */
export function isOfPlatform(url: string | undefined, baseUrl: string | undefined, hosts: RegExp): url is string {
  if (url === undefined) return false;
  const { protocol, hostname, origin } = new URL(url);
  return baseUrl === undefined ? protocol === 'https:' && hosts.test(hostname) : origin === new URL(baseUrl).origin;
}

/** The bytes that a platform has at an address. Rejects with `PlatformError`. */
export async function fetchFile(
  url: string,
  from: { platform: string; bytesMax: number; signal: AbortSignal; headers?: Record<string, string> },
): Promise<{ bytes: Buffer; type?: string }> {
  const { platform, bytesMax, signal, headers = {} } = from;
  const answer = await fetch(url, { headers, signal, redirect: 'error' }).catch(() => null);
  if (answer?.ok !== true || answer.body === null)
    throw new PlatformError('later', `${platform} did not send the file: ${answer?.status ?? 'no answer'}`);
  const bytes = await readBytes(answer.body, bytesMax);
  if (bytes === null) throw tooLarge(bytesMax);
  return { bytes, ...given({ type: answer.headers.get('content-type') ?? undefined }) };
}

/** Null: there are more than `bytesMax`; the rest is not read. */
export async function readBytes(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
