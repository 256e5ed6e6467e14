// What it means for a message that the network has failed between Holdfast and a platform.
import { PlatformError } from '../platform.ts';

/** Faults before a byte was sent: of the name, the connection or the certificate. */
const BEFORE_SENDING =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;
const ABORTS = new Set(['AbortError', 'TimeoutError']);

/** The error of a request without an answer: it may have been carried out, unless nothing of it was sent. The cause is not passed on: its text can contain the request. */
export function noAnswer(
  what: { platform: string; method: string },
  { code, name = '' }: { code?: string | undefined; name?: string | undefined },
): PlatformError {
  const isUnsent = code !== undefined && BEFORE_SENDING.test(code);
  const why = code ?? (ABORTS.has(name) ? 'it was aborted' : 'no answer');
  return new PlatformError(isUnsent ? 'later' : 'unknown', `${what.platform} did not answer ${what.method}: ${why}`);
}
