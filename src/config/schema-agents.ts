// The shape of `agents`: what can be set for all of them, and for each.
import { z } from 'zod';
import { THINKING_LEVELS } from './choices.ts';
import {
  count,
  duration,
  httpUrl,
  LIST_MAX,
  names,
  path,
  promptText,
  ratio,
  seconds,
  STORED_MAX_MS,
  storedMs,
  text,
  TEXT_MAX,
  timeOfDay,
  timerMs,
  timeZone,
  toolPolicy,
  word,
} from './schema-scalars.ts';

const contextPruning = z.strictObject({
  mode: z.enum(['off', 'cache-ttl']).optional(),
  ttl: storedMs().optional(),
  keepLastAssistants: count(0, 1000).optional(),
  softTrimRatio: ratio.optional(),
  hardClearRatio: ratio.optional(),
  minPrunableToolChars: count(0, 100_000_000).optional(),
  softTrim: z
    .strictObject({
      maxChars: count(1, 100_000_000).optional(),
      headChars: count(0, 100_000_000).optional(),
      tailChars: count(0, 100_000_000).optional(),
    })
    .optional(),
  hardClear: z.strictObject({ enabled: z.boolean().optional(), placeholder: text.optional() }).optional(),
  tools: z.strictObject(toolPolicy).optional(),
});

const harnessId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '"built-in", "auto" or the id of a harness: 1 to 64 characters of a-z 0-9 _ -');

const POST_COMPACTION_SECTIONS_MAX = 20;
/** The words of a heading, without the marks in front. */
const heading = z
  .string()
  .trim()
  .regex(
    /^[^#\p{Cc}\p{Zl}\p{Zp}][^\p{Cc}\p{Zl}\p{Zp}]{0,199}$/u,
    'the words of a heading, without the "#" in front, on one line of at most 200 characters',
  );

/** A gate check must be short, because many agents are checked one after the other. */
const GATE_SECONDS = 10;
const POLL_MS_MIN = 1_000;
const GATE_MAX_MS = 30_000;

/** A turn that has asked this many models without an answer had better wait. */
const FALLBACKS_MAX = 10;

const agentShape = {
  model: word.optional(),
  fallbacks: z.array(word).max(FALLBACKS_MAX).optional(),
  models: z.record(word, word).optional(),
  promptMode: z.enum(['full', 'minimal', 'none']).optional(),
  thinking: z.enum(THINKING_LEVELS).optional(),
  userTimezone: timeZone.optional(),
  envelopeTimezone: z.union([z.enum(['utc', 'local', 'user']), timeZone]).optional(),
  timeoutSeconds: seconds().optional(),
  maxSteps: count(1, 100_000).optional(),
  bootstrapMaxChars: count(0, 10_000_000).optional(),
  bootstrapTotalMaxChars: count(0, 10_000_000).optional(),
  bootstrapWarning: z.enum(['once', 'always', 'off']).optional(),
  systemPromptOverride: promptText.optional(),
  promptContribution: z
    .strictObject({
      stablePrefix: promptText.optional(),
      dynamicSuffix: promptText.optional(),
      sectionOverrides: z
        .strictObject({
          interactionStyle: promptText.optional(),
          toolCallStyle: promptText.optional(),
          executionBias: promptText.optional(),
        })
        .optional(),
    })
    .optional(),
  chatContextPlace: z.enum(['stable', 'dynamic']).optional(),
  contextTokens: count(1000, 100_000_000).optional(),
  llm: z
    .strictObject({ idleTimeoutSeconds: seconds(0).optional(), cronIdleTimeoutSeconds: seconds(0).optional() })
    .optional(),
  contextPruning: contextPruning.optional(),
  compaction: z
    .strictObject({
      reserveTokens: count(0, 100_000_000).optional(),
      keepRecentTokens: count(0, 100_000_000).optional(),
      timeoutSeconds: seconds().optional(),
      aggregateWaitSeconds: seconds(0).optional(),
      maxAttempts: count(1, 10).optional(),
      model: word.optional(),
      memoryFlush: z.strictObject({ enabled: z.boolean().optional() }).optional(),
      postCompactionSections: z.array(heading).max(POST_COMPACTION_SECTIONS_MAX).optional(),
    })
    .optional(),
  harness: z
    .strictObject({
      pinned: harnessId.refine((id) => id !== 'auto', 'the id of a harness, which "auto" is not').optional(),
      runtime: harnessId.optional(),
      fallback: z.enum(['built-in', 'none']).optional(),
    })
    .optional(),
  heartbeat: z
    .strictObject({
      every: storedMs()
        .refine((ms) => ms === 0 || ms >= POLL_MS_MIN, '0 (off), or 1s and more')
        .optional(),
      prompt: text.optional(),
      ackMaxChars: count(0, TEXT_MAX).optional(),
      activeHours: z
        .strictObject({
          start: timeOfDay,
          end: timeOfDay,
          timezone: z.union([z.enum(['user', 'local']), timeZone]).default('user'),
        })
        .optional(),
      target: word.optional(),
      dedupeHours: duration(3_600_000, 0, STORED_MAX_MS).optional(),
      when: z
        .strictObject({
          command: text.optional(),
          url: httpUrl.optional(),
          file: path.optional(),
          timeoutSeconds: duration(1000, 1000, GATE_MAX_MS).default(GATE_SECONDS),
        })
        .refine(
          ({ command, url, file }) => [command, url, file].filter((one) => one !== undefined).length === 1,
          'exactly one of command, url and file',
        )
        .optional(),
    })
    .optional(),
  subagents: z
    .strictObject({
      maxSpawnDepth: count(0, 10).optional(),
      maxChildrenPerSession: count(0, 1000).optional(),
      maxDescendants: count(0, 10_000).optional(),
      maxConcurrent: count(0, 10_000).optional(),
      runTimeoutSeconds: seconds(0).optional(),
      model: word.optional(),
      thinking: z.enum(THINKING_LEVELS).optional(),
      allowAgents: names.optional(),
      announceDebounce: timerMs().optional(),
    })
    .optional(),
};

/** `agents` of the file. */
export const agentsSchema = z.strictObject({
  defaults: z.strictObject(agentShape).optional(),
  list: z
    .array(
      z.strictObject({
        id: z
          .string()
          .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '1 to 64 characters of a-z 0-9 _ -, beginning with a letter or digit'),
        workspace: path.optional(),
        tools: z.strictObject(toolPolicy).optional(),
        ...agentShape,
      }),
    )
    .min(1)
    .max(LIST_MAX)
    .optional(),
});
