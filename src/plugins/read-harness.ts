// Harnesses of plugins, checked when they are registered and watched when they run: a run always ends when it is aborted, and the
// answer is validated before it is used.
import { z } from 'zod';
import { deepFreeze } from '../config/walk-schema.ts';
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
