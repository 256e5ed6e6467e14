// Harnesses and transports of plugins, checked when they are registered and watched when they run:
// a run always ends when it is aborted, and the answer is validated before it is used.
import { z } from 'zod';
import { deepFreeze } from '../core/json.ts';
import type { ContentBlock } from '../core/content.ts';
import { BUILT_IN_HARNESS } from '../core/harness-selection.ts';
import { createStorableFilter, storableValue } from '../core/text.ts';
import { orAborted } from '../clock.ts';
import { newId } from '../ids.ts';
import {
  HarnessError,
  type CheckedHarness,
  type Harness,
  type HarnessAttempt,
  type HarnessReading,
} from './harness.ts';
import { firstFault, messageOf, PluginError } from './plugin-error.ts';
import { ARGUMENT_ENCODINGS, PROVIDER_FAMILIES } from '../history/provider-family.ts';
import { RETRY_AFTER_MS_MAX } from '../network/retry-after.ts';
import { withOutputTool } from '../model/stream/fit-tools.ts';
import { malformed, StreamFault } from '../model/stream/stream-event.ts';
import { ModelError } from '../model/model.ts';
import type { Transport, TransportCall } from '../model/transport.ts';

const TEXT_CHARS_MAX = 1_000_000;
const BLOCKS_MAX = 200;
const COST_USD_MAX = 1_000_000;
const RESERVED: ReadonlySet<string> = new Set([BUILT_IN_HARNESS, 'auto']);

const harnessShape = z.object({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '1 to 64 of a-z 0-9 _ -')
    .refine((id) => !RESERVED.has(id), `neither ${[...RESERVED].join(' nor ')}`),
  priority: z.number().optional(),
  supports: z.custom<Harness['supports']>((value) => typeof value === 'function', 'must be a function'),
  run: z.custom<Harness['run']>((value) => typeof value === 'function', 'must be a function'),
});

const text = z.string().max(TEXT_CHARS_MAX);
const tokens = z.int().min(0).max(1_000_000_000).optional();

const answerShape = z.object({
  content: z.union([
    text,
    z
      .array(
        z.discriminatedUnion('type', [
          z.object({ type: z.literal('text'), text }),
          z.object({
            type: z.literal('tool_use'),
            name: z.string().min(1).max(200),
            input: z.record(z.string(), z.unknown()),
          }),
        ]),
      )
      .max(BLOCKS_MAX),
  ]),
  usage: z
    .object({ inputTokens: tokens, outputTokens: tokens, cacheReadTokens: tokens, cacheWriteTokens: tokens })
    .optional(),
  costUsd: z.number().min(0).max(COST_USD_MAX).optional(),
});

/** A harness that calls the plugin's. Throws `PluginError` when that is none. */
export function readHarness(path: string, value: unknown): CheckedHarness {
  const read = harnessShape.safeParse(value);
  if (!read.success) throw new PluginError(path, `registerHarness: ${firstFault(read.error)}`);
  // Checked just above. The object itself is asked: its functions may use `this`.
  const harness = value as Harness;
  const { id, priority = 0 } = read.data;
  return {
    id,
    priority,
    supports(target) {
      try {
        return harness.supports(target) === true;
      } catch {
        return false;
      }
    },
    run: (attempt) => run(harness, id, attempt),
  };
}

async function run(harness: Harness, id: string, attempt: HarnessAttempt): Promise<HarnessReading> {
  const { signal } = attempt;
  let isOver = false;
  const whole = createStorableFilter();
  const onText = (said: string): void => {
    if (!isOver && typeof said === 'string') attempt.onText(whole.push(said));
  };
  const { messages, tools, ...facts } = attempt;
  const frozen = Object.freeze({
    ...facts,
    messages: deepFreeze([...messages]),
    tools: deepFreeze([...tools]),
    onText,
  });
  try {
    return readAnswer(id, await orAborted<unknown>(signal, () => harness.run(frozen)));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error instanceof HarnessError ? error : new HarnessError(id, `failed: ${messageOf(error)}`, error);
  } finally {
    isOver = true;
  }
}

function readAnswer(id: string, value: unknown): HarnessReading {
  const read = answerShape.safeParse(typeof value === 'string' ? { content: value } : value);
  if (!read.success) throw new HarnessError(id, `gave no valid answer: ${firstFault(read.error)}`);
  const { usage = {}, costUsd = null } = read.data;
  const content = storableValue(read.data.content);
  const given = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  // Empty blocks are refused by providers that take the transcript up later.
  const blocks = given.flatMap((block): ContentBlock[] => {
    if (block.type === 'text') return block.text.trim() === '' ? [] : [block];
    return [
      { type: 'tool_use', id: `toolu_${newId<string>().replaceAll('-', '')}`, name: block.name, input: block.input },
    ];
  });
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  return {
    content: blocks,
    stopReason: blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    usage: { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens },
    costUsd,
  };
}

// Transports of plugins, checked when they are registered and watched when they are used: a call
// always ends when it is aborted, and any error of a transport becomes a fault of a model call,
// which the turn classifies.

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
