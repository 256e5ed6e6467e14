// The transport port: how one request is sent to a provider and the events of its answer are returned. Which transport serves a
// model is chosen per call, by the model's provider; plugins may provide transports of their own. Details of a provider (a prompt
// cache that must be created first, a socket instead of a request) stay inside its transport.
import type { ArgumentEncoding, ProviderFamily } from '../history/provider-family.ts';
import type { Amounts } from '../core/rate-limit.ts';
import { DEFAULT_PROVIDER } from '../core/model-ref.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { ModelError, type Addressee } from './model.ts';
import type { StreamEvent } from './stream/stream-event.ts';

export interface TransportCall {
  request: ModelRequest;
  /** The session of the call: the same key for all requests that begin alike; absent: none. */
  sessionKey?: string;
  /** The first message that is new since the last answer of this model and key; absent: not known. */
  newFrom?: number;
  /** Extra headers, for audit. */
  headers: Record<string, string>;
  /** Aborts the call; `send` then rejects, with anything. */
  signal: AbortSignal;
  /** Call it once, right before the request is sent: the body as it is sent, and its hash in hex where that is known. */
  onSent: (body: string | Uint8Array, sha256?: string) => void;
  /**
   * Call it, where that is possible, when the connection is made and the request is about to be written: throws when nothing may be sent
   * any more, because the lease of the call has ended in the meantime (G7).
   */
  onWrite: () => void;
  /** Call it with what is left of the provider's rate limits, if the provider reports it. */
  onRemaining?: (remaining: Amounts) => void;
  /** Call it for each received chunk, with its number of bytes. */
  onBytes: (count: number) => void;
  /**
   * Call it with each event, in order. Returns true when the answer is complete: the rest is not read. It throws `StreamFault` when
   * the events are not a valid answer; `send` then closes the connection and rejects with that error.
   */
  onEvent: (event: StreamEvent) => boolean;
}

export interface Transport {
  /** For logs and traces: `anthropic-stream`. */
  readonly name: string;
  /** The provider whose models it serves, as in `provider/model`. */
  readonly provider: string;
  /** Whose limits its calls count against; absent: the provider's name. */
  readonly account?: string;
  /** The key that it uses; absent: its provider has none by name. A provider with several keys has a transport for each. */
  readonly key?: { name: string; scope: string };
  /** Of which family the provider is: decides in what form it takes the history of a conversation. Absent: anthropic. */
  readonly family?: ProviderFamily;
  /** How it writes the arguments of tool calls; absent: as they are. */
  readonly toolCallArgumentsEncoding?: ArgumentEncoding;
  /** The body of a call in a batch of the provider; absent: it has no batches. */
  batchParams?(request: ModelRequest): object;
  /** The body that `send` would send; nothing is sent. Absent: it is that of the Messages API, or only the transport knows it. */
  writeBody?(call: Pick<TransportCall, 'request' | 'sessionKey'>): Promise<Uint8Array>;
  /** The names of the models that the provider lists; absent: it has no list that is known. Throws `ModelError`. */
  readonly listModels?: ((signal: AbortSignal) => Promise<string[]>) | undefined;
  /**
   * Sends one request, without retries of its own, and resolves when `onEvent` has said that the answer is complete. Throws
   * `ModelError` for anything the provider or the network did wrong, a stream that ends too early included.
   */
  send(call: TransportCall): Promise<void>;
}

/** The first of `transports` that serves the provider of a request, with its key where there is one. */
export function findTransport(
  transports: readonly Transport[],
  { provider = DEFAULT_PROVIDER, key }: Addressee,
): Transport | undefined {
  const first = transports.find((transport) => transport.provider === provider);
  // One of a plugin comes first, and takes all requests of its provider.
  if (key === undefined || first?.key === undefined) return first;
  return transports.find((transport) => transport.provider === provider && transport.key?.name === key) ?? first;
}

/** The same. Throws `ModelError`, as for a model that does not exist: the provider may have been removed while a turn was open. */
export function selectTransport(transports: readonly Transport[], request: Addressee): Transport {
  const { provider = DEFAULT_PROVIDER } = request;
  const found = findTransport(transports, request);
  if (found !== undefined) return found;
  const known = [...new Set(transports.map((transport) => transport.provider))].join(', ') || 'none';
  const message = `no transport serves the provider ${JSON.stringify(provider)}; known: ${known}`;
  throw new ModelError({
    type: 'not_found_error',
    status: null,
    retryAfterMs: null,
    errorCode: 'no_transport',
    message,
  });
}
