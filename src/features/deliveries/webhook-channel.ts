// Replies as webhooks, signed as Standard Webhooks asks: `webhook-id` is the delivery's id, the
// same at every attempt, so a receiver that has seen it answers 2xx and does nothing. A message or
// a cron may name the URL, so only the operator's own is trusted: every other reaches public
// addresses, and what its host answers is not kept.
import type { ClaimedDelivery } from './store/claims.ts';
import type { IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { cutHead } from '../../core/text.ts';
import { systemClock, type Clock } from '../../clock.ts';
import { secretsOf, type Config } from '../../config.ts';
import { createRedact, type Redact } from '../../config/secrets.ts';
import { readRetryAfter } from '../../network/retry-after.ts';
import { AddressRefusedError, isHostListed, sendGuarded } from '../../network/guarded-request.ts';
import { isLoopbackAddress, isLoopbackHost, isPublicAddress } from '../../network/public-address.ts';

/**
 * `sent`: acknowledged. `later`: it may succeed another time, not before `retryAfterMs` if the
 * receiver said so. `refused`: it will never succeed. An attempt whose answer was lost is `later`:
 * the receiver knows it by its dedupe key.
 */
export type DeliveryResult =
  | { kind: 'sent'; status: number }
  | { kind: 'later'; status: number | null; error: string; retryAfterMs: number | null }
  | { kind: 'refused'; status: number | null; error: string };

export interface Channel {
  /**
   * Sends once. Never rejects; ends within its own deadline. `traceparent`: the header of the
   * request; absent: nothing is traced.
   */
  send(
    delivery: Pick<ClaimedDelivery, 'id' | 'target' | 'payload'>,
    signal: AbortSignal,
    traceparent?: string,
  ): Promise<DeliveryResult>;
}

export interface WebhookOptions {
  /**
   * `whsec_...`; every delivery is signed with each of them, so that receivers can move from one to
   * the next.
   */
  secrets: readonly string[];
  timeoutMs: number;
  clock: Clock;
  /** The operator's own URL: it may be any address, and the beginning of a refusal is kept. */
  trustedUrl: string | undefined;
  /**
   * True: an operator names every URL, so the beginning of each refusal is kept; absent: of that of
   * the trusted one.
   */
  keepsAnswers?: boolean;
  /**
   * Further hosts that may have addresses that are not public: `hooks.lan`, or of one port only
   * `hooks.lan:8080`.
   */
  allowPrivate: readonly string[];
  /**
   * True: addresses of this machine are allowed, because no other machine can ask the service for a
   * delivery.
   */
  mayReachLoopback: boolean;
  /** Removes secrets from a receiver's answer and from the text about a failed attempt. */
  redact: Redact;
}

/**
 * What the configuration says of all webhooks. `secrets`: those that sign, which are also removed
 * from answers.
 */
export function webhookOptions(config: Config, secrets: readonly string[]): WebhookOptions {
  const { webhook } = config.channels;
  return {
    secrets,
    timeoutMs: webhook.timeoutMs,
    clock: systemClock,
    trustedUrl: webhook.url,
    allowPrivate: webhook.allowPrivate,
    mayReachLoopback: isLoopbackHost(config.runtime.host),
    redact: createRedact([...secretsOf(config), ...secrets]),
  };
}

/** The most of a refusal that is kept for the operator, in characters. */
const ERROR_CHARS_MAX = 500;
/** The minimum that is read of a body, if it has as much: secrets are removed before it is cut. */
const BODY_CHARS_READ = 4_096;

/** Statuses below 500 that ask to come back. */
const PASSING_STATUSES = new Set([408, 409, 425, 429]);

export function createWebhookChannel(options: WebhookOptions): Channel {
  const signers = options.secrets.map((secret) => new Webhook(secret));
  return {
    send: (delivery, signal, traceparent) => send(delivery, { signal, traceparent }, signers, options),
  };
}

async function send(
  delivery: Parameters<Channel['send']>[0],
  { signal, traceparent }: { signal: AbortSignal; traceparent: string | undefined },
  signers: readonly Webhook[],
  options: WebhookOptions,
): Promise<DeliveryResult> {
  const body = JSON.stringify({ ...(delivery.payload as object), deliveryId: delivery.id });
  const now = options.clock.now();
  const { url } = delivery.target as { url: string };
  try {
    const { address, authorization } = parseReceiver(url);
    const response = await sendGuarded({
      url: address,
      method: 'POST',
      headers: {
        ...authorization,
        'content-type': 'application/json',
        'user-agent': 'holdfast',
        'webhook-id': delivery.id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signers.map((signer) => signer.sign(delivery.id, now, body)).join(' '),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      body,
      mayReach: createReachCheck(url, address, options),
      signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    try {
      return await readResult(response, { now, isTrusted: isTrusted(address, options), redact: options.redact });
    } finally {
      response.destroy();
    }
  } catch (error) {
    if (error instanceof AddressRefusedError) return { kind: 'refused', status: null, error: explainRefusal(error) };
    return { kind: 'later', status: null, error: options.redact(describeError(error)), retryAfterMs: null };
  }
}

/** Which addresses a delivery may be sent to. */
function createReachCheck(url: string, address: URL, options: WebhookOptions): (address: string) => boolean {
  if (url === options.trustedUrl || isHostListed(address, options.allowPrivate)) return () => true;
  return (candidate) => isPublicAddress(candidate) || (options.mayReachLoopback && isLoopbackAddress(candidate));
}

function isTrusted({ host }: URL, { trustedUrl, keepsAnswers = false }: WebhookOptions): boolean {
  return keepsAnswers || (trustedUrl !== undefined && new URL(trustedUrl).host === host);
}

function explainRefusal({ message }: AddressRefusedError): string {
  return `Not sent: ${message}. Name a public URL, or add the host to \`channels.webhook.allowPrivate\`.`;
}

/**
 * User and password of a URL go into a header, as browsers do it, so that no error names them
 * (G31).
 */
function parseReceiver(url: string): { address: URL; authorization: Record<string, string> } {
  const address = new URL(url);
  const { username, password } = address;
  if (username === '' && password === '') return { address, authorization: {} };
  address.username = '';
  address.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, authorization: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
}

async function readResult(
  response: IncomingMessage,
  { now, isTrusted, redact }: { now: Date; isTrusted: boolean; redact: Redact },
): Promise<DeliveryResult> {
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return { kind: 'sent', status };
  // Cut last: a secret that a cut goes through is no longer recognised.
  const said = isTrusted ? `: ${cutHead(redact(await readBeginning(response)), ERROR_CHARS_MAX)}` : '';
  const error = `HTTP ${status}${said}`;
  const get = (name: string): string | null => response.headers[name]?.toString() ?? null;
  if (status >= 500 || PASSING_STATUSES.has(status)) {
    return { kind: 'later', status, error, retryAfterMs: readRetryAfter({ get }, now.getTime()) };
  }
  return { kind: 'refused', status, error };
}

/**
 * The beginning of a body of any size, as far as it arrives in time: the status has decided
 * already.
 */
async function readBeginning(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      text += chunk;
      if (text.length >= BODY_CHARS_READ) break;
    }
  } catch {
    // The connection broke, or the time is up.
  }
  return text;
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A host with several addresses: the error of each.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describeError).join('; ');
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
