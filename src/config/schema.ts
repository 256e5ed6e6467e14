// The shape of the configuration file: which keys there are and what each may hold. Checks only; defaults are in `defaults.ts`, the
// merged type in `config-type.ts` (the last lines of this file prove that the two agree). Every key is optional, none is unknown.
import { z } from 'zod';
import { retentionSchema } from './schema-retention.ts';
import { KEY_ROLES } from '../core/access/key-role.ts';
import { ARGUMENT_ENCODINGS, PROVIDER_FAMILIES } from '../core/history/provider-family.ts';
import type { AgentDefaults } from './agent-type.ts';
import { QUEUE_DROPS, QUEUE_MODES } from './choices.ts';
import type { FileSettings } from './config-type.ts';
import type { DeepPartial } from './deep-partial.ts';
import { SANDBOX_RUNTIMES } from './sandbox-runtimes.ts';
import { batches } from './schema-batches.ts';
import { agentsSchema } from './schema-agents.ts';
import { channelsSchema } from './schema-channels.ts';
import { cronJob } from './schema-crons.ts';
import { limitsSchema } from './schema-limits.ts';
import { pluginsSchema } from './schema-plugins.ts';
import { budgetsSchema } from './schema-budgets.ts';
import { pricesSchema } from './schema-prices.ts';
import {
  count,
  duration,
  headerValue,
  host,
  httpUrl,
  key,
  label,
  LIST_MAX,
  names,
  path,
  seconds,
  STORED_MAX_MS,
  storedMs,
  text,
  timerMs,
  word,
} from './schema-scalars.ts';
import { toolsSchema } from './schema-tools.ts';

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

const providerShape = {
  baseUrl: httpUrl.optional(),
  apiKey: headerValue.optional(),
  headers: z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'an HTTP header name'), headerValue).optional(),
  maxRetries: count(0, 100).optional(),
  family: z.enum(PROVIDER_FAMILIES).optional(),
  toolCallArgumentsEncoding: z.enum(ARGUMENT_ENCODINGS).optional(),
};

const anthropic = z.strictObject({
  auditHeaders: z.boolean().optional(),
  streaming: z.boolean().optional(),
  ...providerShape,
});

/** A provider that the built-in transport serves at its `baseUrl`; without one, a plugin serves it. */
const otherProvider = z.strictObject(providerShape);

const limits = z.strictObject({
  waitingPerSession: count(1, 1_000_000).optional(),
  waitingTotal: count(1, 100_000_000).optional(),
  bodyBytes: count(1024, 104_857_600).optional(),
  jsonDepth: count(4, 1000).optional(),
  waitSeconds: seconds(0).optional(),
  waitingRequests: count(0, 100_000).optional(),
  eventStreams: count(0, 100_000).optional(),
  pageItems: count(1, 10_000).optional(),
  batchItems: count(1, 10_000_000).optional(),
  batchBytes: count(1024, 10_737_418_240).optional(),
  batchLineBytes: count(64, 104_857_600).optional(),
  batchGzipRatio: count(1, 10_000).optional(),
});

const jsonlFile = z.strictObject({ enabled: z.boolean().optional(), path: path.optional() });

/** A key of the API: an object, or only the key, which is then named by its place. */
const apiKey = z.union([key, z.strictObject({ name: word, key, role: z.enum(KEY_ROLES).optional() })]);

/** The configuration file after aliases are resolved. Output: only the settings in the file, durations as numbers. */
export const fileSchema = z.strictObject({
  agents: agentsSchema.optional(),
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
  models: z
    .strictObject({
      providers: z.object({ anthropic: anthropic.optional() }).catchall(otherProvider).optional(),
      outage: z
        .strictObject({
          giveUpAfter: storedMs(1).optional(),
          probeMs: z.strictObject({ min: timerMs(1).optional(), max: timerMs(1).optional() }).optional(),
        })
        .optional(),
      prices: pricesSchema.optional(),
      limits: limitsSchema.optional(),
    })
    .optional(),
  batches: batches.optional(),
  tools: toolsSchema.optional(),
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
      runtime: z
        .string()
        .regex(/^external$/, SANDBOX_RUNTIMES)
        .transform(() => 'external' as const)
        .optional(),
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
  plugins: pluginsSchema.optional(),
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
      hosts: z.array(host).max(LIST_MAX).optional(),
      publicUrl: httpUrl.optional(),
      environment: label.optional(),
    })
    .optional(),
  events: z.strictObject({ retention: storedMs(60_000).optional() }).optional(),
  retention: retentionSchema.optional(),
  budgets: budgetsSchema.optional(),
  limits: limits.optional(),
  telemetry: z.strictObject({ content: z.boolean().optional(), trustParent: z.boolean().optional() }).optional(),
  diagnostics: z.strictObject({ payloadLog: jsonlFile.optional(), cacheTrace: jsonlFile.optional() }).optional(),
  openai: z
    .strictObject({
      enabled: z.boolean().optional(),
      callerSeconds: z.int().min(1).max(86_400).optional(),
      fileDays: z.int().min(1).max(3_650).optional(),
    })
    .optional(),
  shutdown: z.strictObject({ graceMs: timerMs().optional() }).optional(),
});

/** The contents of a checked file. */
export type FileInput = z.output<typeof fileSchema>;

// Fails to compile when the schema accepts keys that the merged type does not have.
const agreesWithType: (input: FileInput) => DeepPartial<FileSettings> = (input) => input;
void agreesWithType;
void ({} satisfies DeepPartial<AgentDefaults>);
