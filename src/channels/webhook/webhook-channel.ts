// Replies as webhooks, signed as Standard Webhooks asks: `webhook-id` is the delivery's id, the same at every attempt, so a
// receiver that has seen it answers 2xx and does nothing.
import { Webhook } from 'standardwebhooks';
import type { Clock } from '../../clock.ts';
import type { ClaimedDelivery } from '../../store/outbox.ts';
import type { Channel, DeliveryResult } from '../channel.ts';

export interface WebhookOptions {
  /** `whsec_...` */
  secret: string;
  timeoutMs: number;
  clock: Clock;
}

/** The most of a refusal that is kept for the operator, in characters. */
const ERROR_CHARS_MAX = 500;

/** Statuses below 500 that ask to come back. */
const PASSING_STATUSES = new Set([408, 409, 425, 429]);

/** Makes the webhook channel. */
export function createWebhookChannel(options: WebhookOptions): Channel {
  const signer = new Webhook(options.secret);
  return {
    name: 'webhook',
    send: (delivery, signal) => send(delivery, signal, signer, options),
  };
}

async function send(
  delivery: ClaimedDelivery,
  signal: AbortSignal,
  signer: Webhook,
  options: WebhookOptions,
): Promise<DeliveryResult> {
  const body = JSON.stringify({ ...(delivery.payload as object), deliveryId: delivery.id });
  const now = options.clock.now();
  try {
    const { address, authorization } = receiverOf((delivery.target as { url: string }).url);
    const response = await fetch(address, {
      method: 'POST',
      headers: {
        ...authorization,
        'content-type': 'application/json',
        'user-agent': 'holdfast',
        'webhook-id': delivery.id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': signer.sign(delivery.id, now, body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    return await resultOf(response, now);
  } catch (error) {
    return { kind: 'later', status: null, error: messageOf(error), retryAfterMs: null };
  }
}

/** User and password of a URL go into a header, as browsers do it: `fetch` refuses them in the URL, and names them in its error (G31). */
function receiverOf(url: string): { address: URL; authorization: Record<string, string> } {
  const address = new URL(url);
  const { username, password } = address;
  if (username === '' && password === '') return { address, authorization: {} };
  address.username = '';
  address.password = '';
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { address, authorization: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } };
}

async function resultOf(response: Response, now: Date): Promise<DeliveryResult> {
  if (response.ok) {
    await response.body?.cancel();
    return { kind: 'sent', status: response.status };
  }
  const error = `HTTP ${response.status}: ${await beginningOf(response)}`;
  if (response.status >= 500 || PASSING_STATUSES.has(response.status)) {
    return { kind: 'later', status: response.status, error, retryAfterMs: retryAfterMs(response, now) };
  }
  return { kind: 'refused', status: response.status, error };
}

/** The beginning of a body, whatever its size. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const decoder = new TextDecoder();
  let text = '';
  while (text.length < ERROR_CHARS_MAX) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  await reader.cancel();
  return text.slice(0, ERROR_CHARS_MAX);
}

function retryAfterMs(response: Response, now: Date): number | null {
  const header = response.headers.get('retry-after');
  if (header === null) return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now.getTime());
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  return cause instanceof Error ? `${error.message}: ${cause.message}` : error.message;
}
