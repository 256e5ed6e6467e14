// Transports of plugins, checked when they are registered and watched when they are used: a call always ends when it is aborted, and
// any error of a transport becomes a fault of a model call, which the turn classifies.
import { z } from 'zod';
import { ARGUMENT_ENCODINGS, PROVIDER_FAMILIES } from '../history/provider-family.ts';
import { RETRY_AFTER_MS_MAX } from '../network/retry-after.ts';
import { withOutputTool } from '../model/stream/fit-tools.ts';
import { malformed, StreamFault } from '../model/stream/stream-event.ts';
import { ModelError } from '../model/model.ts';
import { orAborted } from '../clock.ts';
import type { Transport, TransportCall } from '../model/transport.ts';
import { firstFault, messageOf, PluginError } from './plugin-error.ts';

/** The required fields of a transport; its methods are not called here. */
const transportShape = z.object({
  name: z.string().regex(/^[\w.:-]{1,64}$/, '1 to 64 of a-z A-Z 0-9 _ . : -'),
  provider: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '1 to 64 of a-z 0-9 _ -, as in provider/model'),
  family: z.enum(PROVIDER_FAMILIES).optional(),
  toolCallArgumentsEncoding: z.enum(ARGUMENT_ENCODINGS).optional(),
  send: z.custom<Transport['send']>((value) => typeof value === 'function', 'must be a function'),
});

/** The fields that may be present in a fault that is not a `ModelError`. */
const faultShape = z.object({
  type: z.string().max(200).catch('transport_failed'),
  status: z.int().min(100).max(599).nullable().catch(null),
  retryAfterMs: z.number().min(0).max(RETRY_AFTER_MS_MAX).nullable().catch(null),
  errorCode: z.string().max(200).nullable().catch(null),
  requestId: z.string().max(200).nullable().catch(null),
});

/** A transport that calls the plugin's. Throws `PluginError` when that is none. */
export function readTransport(path: string, value: unknown): Transport {
  const read = transportShape.safeParse(value);
  if (!read.success) throw new PluginError(path, `registerTransport: ${firstFault(read.error)}`);
  // Checked just above. The object itself is asked: `send` may use `this`.
  const transport = value as Transport;
  const { name, provider, family, toolCallArgumentsEncoding } = read.data;
  return {
    name,
    provider,
    ...(family === undefined ? undefined : { family }),
    ...(toolCallArgumentsEncoding === undefined ? undefined : { toolCallArgumentsEncoding }),
    send: (call) => send(transport, name, call),
  };
}

async function send(transport: Transport, name: string, call: TransportCall): Promise<void> {
  let isOver = false;
  const onEvent: TransportCall['onEvent'] = (event) => {
    if (isOver) return true;
    // Plain JavaScript may break the promise of the types.
    const { type } = (event as unknown as { type?: unknown } | null) ?? {};
    if (typeof type !== 'string') throw malformed(`The transport ${name} sent an event without a type.`);
    return (isOver = call.onEvent(event));
  };
  try {
    await orAborted(call.signal, () => transport.send({ ...call, request: withOutputTool(call.request), onEvent }));
  } catch (error) {
    throw toFault(name, error);
  } finally {
    isOver = true;
  }
}

function toFault(name: string, error: unknown): unknown {
  if (error instanceof ModelError || error instanceof StreamFault) return error;
  const known = faultShape.safeParse(error);
  const fault = known.success ? known.data : faultShape.parse({});
  return new ModelError({ ...fault, message: `The transport ${name} failed: ${messageOf(error)}`, cause: error });
}
