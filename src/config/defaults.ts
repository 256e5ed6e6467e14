// The defaults of every configuration key, as data: `holdfast config show` prints them, the merge starts from them.
import { join } from 'node:path';
import { CURRENT_MODEL } from '../core/models.ts';
import { IDLE_LIMITS_DEFAULT } from '../core/stream/idle-timeout.ts';
import type { FileSettings } from './config-type.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The workspace files that go into the prompt, in their order. */
const BOOTSTRAP_FILES = [
  'AGENTS.md',
  'SOUL.md',
  'TOOLS.md',
  'IDENTITY.md',
  'USER.md',
  'HEARTBEAT.md',
  'BOOTSTRAP.md',
  'MEMORY.md',
];

const HEARTBEAT_PROMPT =
  'Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Do not infer or repeat old tasks from prior chats. ' +
  'If nothing needs attention, reply HEARTBEAT_OK.';

/** The documentation that is installed with the sources. */
export const DOCS_PATH = join(import.meta.dirname, '..', '..', 'docs');

function batchDefaults(): FileSettings['batches'] {
  return {
    windowMs: 30_000,
    requestsMax: 10_000,
    bytesMax: 200 * 1024 * 1024,
    pollMs: { min: 10_000, max: 300_000 },
    settleMs: 120_000,
    unprovenMs: 4 * 3_600_000,
    isExclusive: false,
    deadlineSeconds: 26 * 3_600,
    retention: 90 * DAY,
  };
}

/** A fresh copy of all defaults; `workspace.path` is absolute. */
export function defaultSettings(defaultWorkspacePath: string): FileSettings {
  return {
    agents: { defaults: agentDefaults(), list: [{ id: 'main' }] },
    workspace: { path: defaultWorkspacePath, bootstrapFiles: [...BOOTSTRAP_FILES] },
    messages: {
      queue: { mode: 'collect', byChannel: {}, debounceMs: 1000, gatherMsMax: 10_000, cap: 20, drop: 'wait' },
    },
    session: {
      orphanedPrompts: 'hide',
      resetTriggers: ['/new', '/reset'],
      agentToAgent: { maxPingPongTurns: 5 },
      reset: { mode: 'none', atHour: 4, idleMinutes: 60 },
    },
    // A slot mostly waits for a model: all of these together cost 40 MB (docs/operations.md).
    lanes: { main: 64, subagent: 64, cron: 16, batch: 64 },
    cron: { enabled: true, misfire: 'run_once', maxCatchUp: 5, jobs: [] },
    models: {
      providers: { anthropic: anthropicDefaults() },
      outage: { giveUpAfter: DAY, probeMs: { min: 5_000, max: 30_000 } },
      prices: [],
      limits: [],
    },
    batches: batchDefaults(),
    tools: {
      deny: [],
      exec: { enabled: true, timeoutSeconds: 120, backgroundSeconds: 1800, sandbox: 'off' },
      fetch: { enabled: true, timeoutSeconds: 30, maxBytes: 2_097_152, allowPrivate: [] },
      message: { enabled: true, channels: [] },
      sessions: { visibility: 'tree' },
      agentToAgent: { enabled: false, allow: [] },
      loopDetection: { unknownToolThreshold: 3 },
    },
    owner: { ids: [], display: 'raw' },
    sandbox: { enabled: false, workspaceAccess: 'read-write' },
    docs: { enabled: true, path: DOCS_PATH },
    tts: { enabled: false },
    reactions: { mode: 'minimal' },
    reasoning: { enabled: false },
    memory: { citations: 'auto' },
    heartbeat: { enabled: true },
    channels: { webhook: { allowPrivate: [], timeoutMs: 10_000, maxAttempts: 10, expiresAfter: DAY }, platforms: {} },
    plugins: { modules: [], entries: {} },
    images: { roots: [], textOnlyModels: ['anthropic/claude-2*', 'anthropic/claude-instant*'] },
    api: { keys: [], hosts: [] },
    events: { retention: 7 * DAY },
    retention: { turns: 90 * DAY },
    limits: {
      waitingPerSession: 1000,
      waitingTotal: 100_000,
      bodyBytes: 1_048_576,
      jsonDepth: 64,
      waitSeconds: 300,
      waitingRequests: 1000,
      eventStreams: 1000,
      pageItems: 200,
      batchItems: 100_000,
      batchBytes: 268_435_456,
      batchLineBytes: 1_048_576,
      batchGzipRatio: 100,
    },
    telemetry: { content: false, trustParent: false },
    diagnostics: { payloadLog: { enabled: false }, cacheTrace: { enabled: false } },
    openai: { enabled: true, callerSeconds: 600, fileDays: 30 },
    shutdown: { graceMs: 30_000 },
  };
}

function anthropicDefaults(): FileSettings['models']['providers']['anthropic'] {
  return { headers: {}, maxRetries: 5, auditHeaders: true, streaming: true };
}

function agentDefaults(): FileSettings['agents']['defaults'] {
  return {
    model: CURRENT_MODEL,
    fallbacks: [],
    models: {},
    promptMode: 'full',
    thinking: 'off',
    // Not the machine's zone: workers in different zones must send the same bytes.
    userTimezone: 'UTC',
    envelopeTimezone: 'utc',
    timeoutSeconds: 600,
    maxSteps: 100,
    bootstrapMaxChars: 20_000,
    bootstrapTotalMaxChars: 150_000,
    bootstrapWarning: 'once',
    promptContribution: { sectionOverrides: {} },
    chatContextPlace: 'stable',
    contextTokens: 200_000,
    llm: { ...IDLE_LIMITS_DEFAULT },
    contextPruning: {
      mode: 'off',
      ttl: 5 * MINUTE,
      keepLastAssistants: 3,
      softTrimRatio: 0.3,
      hardClearRatio: 0.5,
      minPrunableToolChars: 50_000,
      softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
      hardClear: { enabled: true, placeholder: '[compacted: tool output removed to free context]' },
      tools: { allow: ['exec', 'bash', 'grep', 'find', 'glob', 'ls', 'read', 'web_fetch'], deny: ['memory_*'] },
    },
    compaction: {
      reserveTokens: 20_000,
      keepRecentTokens: 20_000,
      timeoutSeconds: 300,
      aggregateWaitSeconds: 60,
      maxAttempts: 2,
      memoryFlush: { enabled: true },
      postCompactionSections: ['Session Startup', 'Red Lines'],
    },
    harness: { runtime: 'auto', fallback: 'built-in' },
    heartbeat: { every: 0, prompt: HEARTBEAT_PROMPT, ackMaxChars: 300, target: 'none', dedupeHours: 24 },
    subagents: {
      maxSpawnDepth: 1,
      maxChildrenPerSession: 5,
      maxDescendants: 50,
      maxConcurrent: 64,
      runTimeoutSeconds: 0,
      allowAgents: [],
      announceDebounce: 1000,
    },
  };
}
