// The shape of the configuration file: which keys there are and what each may hold. Checks only; defaults are in `defaults.ts`, the
// merged type in `config-type.ts` (the last line of this file proves that the two agree). Every key is optional, none is unknown.
import { z } from 'zod';
import {
  QUEUE_DROPS,
  QUEUE_MODES,
  THINKING_LEVELS,
  type AgentDefaults,
  type DeepPartial,
  type FileSettings,
} from './config-type.ts';
import { channelsSchema } from './schema-channels.ts';
import { cronJob } from './schema-crons.ts';
import {
  count,
  duration,
  headerValue,
  host,
  httpUrl,
  key,
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

/** A look at what may have changed is short: many agents are looked at in turn. */
const GATE_SECONDS = 10;
const GATE_MAX_MS = 30_000;

const agentShape = {
  model: word.optional(),
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
  llm: z.strictObject({ idleTimeoutSeconds: seconds(0).optional() }).optional(),
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
    })
    .optional(),
  harness: z
    .strictObject({
      pinned: harnessId.optional(),
      runtime: harnessId.optional(),
      fallback: z.enum(['built-in', 'none']).optional(),
    })
    .optional(),
  heartbeat: z
    .strictObject({
      every: storedMs().optional(),
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

const agents = z.strictObject({
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

const messages = z.strictObject({
  queue: z
    .strictObject({
      mode: z.enum(QUEUE_MODES).optional(),
      byChannel: z.record(word, z.enum(QUEUE_MODES)).optional(),
      debounceMs: timerMs().optional(),
      gatherMsMax: timerMs().optional(),
      cap: count(1, 100_000).optional(),
      drop: z.enum(QUEUE_DROPS).optional(),
    })
    .optional(),
});

const session = z.strictObject({
  dmHistoryLimit: count(0, 1_000_000).optional(),
  historyLimit: count(0, 1_000_000).optional(),
  orphanedPrompts: z.enum(['hide', 'merge']).optional(),
  resetTriggers: names.optional(),
  agentToAgent: z.strictObject({ maxPingPongTurns: count(0, 5).optional() }).optional(),
  reset: z
    .strictObject({
      mode: z.enum(['none', 'daily', 'idle']).optional(),
      atHour: count(0, 23).optional(),
      idleMinutes: duration(60_000, 60_000, STORED_MAX_MS).optional(),
    })
    .optional(),
});

const laneSize = count(0, 1000).optional();

const anthropic = z.strictObject({
  baseUrl: httpUrl.optional(),
  apiKey: headerValue.optional(),
  headers: z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'an HTTP header name'), headerValue).optional(),
  maxRetries: count(0, 100).optional(),
  auditHeaders: z.boolean().optional(),
  streaming: z.boolean().optional(),
  toolCallArgumentsEncoding: z.enum(['none', 'html-entities']).optional(),
});

const tools = z.strictObject({
  ...toolPolicy,
  exec: z
    .strictObject({
      enabled: z.boolean().optional(),
      timeoutSeconds: seconds().optional(),
      backgroundSeconds: seconds().optional(),
      sandbox: z.literal('off').optional(),
    })
    .optional(),
  fetch: z
    .strictObject({
      enabled: z.boolean().optional(),
      timeoutSeconds: seconds().optional(),
      maxBytes: count(1, 100_000_000).optional(),
      allowPrivate: z.array(host).max(LIST_MAX).optional(),
    })
    .optional(),
  message: z.strictObject({ enabled: z.boolean().optional(), channels: names.optional() }).optional(),
  sessions: z.strictObject({ visibility: z.enum(['self', 'tree', 'agent', 'all']).optional() }).optional(),
  agentToAgent: z.strictObject({ enabled: z.boolean().optional(), allow: names.optional() }).optional(),
  loopDetection: z.strictObject({ unknownToolThreshold: count(1, 1000).optional() }).optional(),
});

const limits = z.strictObject({
  waitingPerSession: count(1, 1_000_000).optional(),
  waitingTotal: count(1, 100_000_000).optional(),
  bodyBytes: count(1024, 104_857_600).optional(),
  jsonDepth: count(4, 1000).optional(),
  waitSeconds: seconds(0).optional(),
  waitingRequests: count(0, 100_000).optional(),
  eventStreams: count(0, 100_000).optional(),
  pageItems: count(1, 10_000).optional(),
});

const jsonlFile = z.strictObject({ enabled: z.boolean().optional(), path: path.optional() });

const modules = z.array(path).max(100);

/** Plugins: their modules alone, or with what is said of each. */
const plugins = z.union([
  modules.transform((list) => ({ modules: list })),
  z.strictObject({
    modules: modules.optional(),
    entries: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'the id of a plugin'),
        z.strictObject({
          enabled: z.boolean().optional(),
          hooks: z.strictObject({ allowPromptInjection: z.boolean().optional() }).optional(),
          config: z.record(z.string(), z.unknown()).optional(),
        }),
      )
      .optional(),
  }),
]);

/** A key of the API: an object, or only the key, which is then named by its place. */
const apiKey = z.union([key, z.strictObject({ name: word, key })]);

/** The configuration file after aliases are resolved. Output: only what the file says, durations as numbers. */
export const fileSchema = z.strictObject({
  agents: agents.optional(),
  workspace: z.strictObject({ path: path.optional(), bootstrapFiles: z.array(path).max(64).optional() }).optional(),
  messages: messages.optional(),
  session: session.optional(),
  lanes: z.strictObject({ main: laneSize, subagent: laneSize, cron: laneSize, batch: laneSize }).optional(),
  cron: z
    .strictObject({
      enabled: z.boolean().optional(),
      misfire: z.enum(['run_once', 'run_all', 'skip']).optional(),
      maxCatchUp: count(0, 10_000).optional(),
      jobs: z.array(cronJob).max(LIST_MAX).optional(),
    })
    .optional(),
  models: z.strictObject({ providers: z.strictObject({ anthropic: anthropic.optional() }).optional() }).optional(),
  tools: tools.optional(),
  owner: z
    .strictObject({
      phone: word.optional(),
      ids: names.optional(),
      display: z.enum(['raw', 'hash']).optional(),
      displaySecret: z.string().min(1).max(512).optional(),
    })
    .optional(),
  sandbox: z
    .strictObject({
      enabled: z.boolean().optional(),
      workdir: path.optional(),
      hostMount: path.optional(),
      workspaceAccess: z.enum(['read-write', 'read-only', 'none']).optional(),
      browserUrl: httpUrl.optional(),
    })
    .optional(),
  docs: z.strictObject({ enabled: z.boolean().optional(), path: path.optional() }).optional(),
  tts: z.strictObject({ enabled: z.boolean().optional(), hint: text.optional() }).optional(),
  reactions: z.strictObject({ mode: z.enum(['off', 'minimal', 'extensive']).optional() }).optional(),
  reasoning: z.strictObject({ enabled: z.boolean().optional() }).optional(),
  memory: z.strictObject({ citations: z.enum(['auto', 'off']).optional() }).optional(),
  heartbeat: z.strictObject({ enabled: z.boolean().optional() }).optional(),
  channels: channelsSchema.optional(),
  plugins: plugins.optional(),
  images: z.strictObject({ roots: z.array(path).max(100).optional(), textOnlyModels: names.optional() }).optional(),
  api: z
    .strictObject({
      keys: z
        .array(apiKey)
        .max(LIST_MAX)
        .transform((keys) =>
          keys.map((each, at) => (typeof each === 'string' ? { name: `key-${at + 1}`, key: each } : each)),
        )
        .optional(),
    })
    .optional(),
  events: z.strictObject({ retention: storedMs(60_000).optional() }).optional(),
  limits: limits.optional(),
  diagnostics: z.strictObject({ payloadLog: jsonlFile.optional(), cacheTrace: jsonlFile.optional() }).optional(),
  shutdown: z.strictObject({ graceMs: timerMs().optional() }).optional(),
});

/** What a checked file says. */
export type FileInput = z.output<typeof fileSchema>;

// Fails to compile when the schema lets through what the merged type does not know.
const agreesWithType: (input: FileInput) => DeepPartial<FileSettings> = (input) => input;
void agreesWithType;
void ({} satisfies DeepPartial<AgentDefaults>);
