// The configuration file: every key with what it may hold, its default and its meaning. The types
// of the configuration and the reference (`docs/references/configuration.md`) are derived from
// this. Durations are milliseconds unless the name of the key ends in another unit.
import { join } from 'node:path';
import { z } from 'zod';
import { QUEUE_DROPS, QUEUE_MODES } from '../core/queue-mode.ts';
import { agentsSchema } from './schema-agents.ts';
import {
  budgetsSchema,
  apiSchema,
  batchesSchema,
  diagnosticsSchema,
  eventsSchema,
  limitsSchema,
  openaiSchema,
  retentionSchema,
  shutdownSchema,
  telemetrySchema,
} from './schema-service.ts';
import { bindingsSchema, channelsSchema } from './schema-channels.ts';
import { cronJob, MISFIRE_POLICIES } from '../features/crons/config.ts';
import type { RuntimeSettings } from './schema-environment.ts';
import { mcpSchema, toolsSchema } from './schema-tools.ts';
import { modelsSchema } from './schema-models.ts';
import {
  choice,
  count,
  duration,
  flag,
  httpUrl,
  LIST_MAX,
  names,
  optional,
  path,
  reachable,
  section,
  STORED_MAX_MS,
  text,
  timerMs,
  word,
} from './schema-scalars.ts';

/** The documentation that is installed with the sources. */
export const DOCS_PATH = join(import.meta.dirname, '..', '..', 'docs');

/** The default of `workspace.path`, which depends on the environment. */
export const WORKSPACE_PATH = '<data dir>/workspace';

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

const workspace = section({
  path: path.default(WORKSPACE_PATH).describe('the workspace folder of the first agent'),
  bootstrapFiles: z.array(path).max(64).default(BOOTSTRAP_FILES).describe('its files that go into prompts'),
});

const LATER_TURNS = { reload: 'used by turns that start later' };
const SCHEDULER = { reload: 'used in the process with the scheduler role' };

const messages = section({
  queue: section({
    mode: choice(QUEUE_MODES, 'collect').describe(
      'what happens to a message that arrives while its session is busy; see [queue modes](sessions.md#queue-modes)',
    ),
    byChannel: z.record(word, z.enum(QUEUE_MODES)).default({}).describe('queue modes by the name of the channel'),
    debounceMs: timerMs().default(1000).describe('how long a session must be quiet before a turn begins'),
    gatherMsMax: timerMs().default(10_000).describe('longest time that a message waits for its session to be quiet'),
    cap: count(1, 100_000).default(20).describe('maximum number of messages in a turn, never more than 200'),
    drop: choice(QUEUE_DROPS, 'wait').describe(
      'above `cap`: `wait` leaves the rest for the next turn; `summarize` and `old` drop the oldest, with or without a line in the next prompt; `new` drops the message that arrives',
    ),
  }),
}).meta(LATER_TURNS);

const session = section({
  dmHistoryLimit: optional(count(0, 1_000_000)).describe('turns of history shown in direct chats; none: all'),
  historyLimit: optional(count(0, 1_000_000)).describe('turns of history shown in groups; none: all'),
  orphanedPrompts: choice(['hide', 'merge'], 'hide').describe(
    'what model requests contain if the previous prompt has no answer: `hide` omits it, `merge` sends both. The row is kept',
  ),
  resetTriggers: names.default(['/new', '/reset']).describe('messages that begin a new transcript'),
  dmScope: choice(['main', 'peer', 'channel-peer', 'account-channel-peer'], 'channel-peer').describe(
    'which direct chats of channels share a session: all with the main session, those of a person id, those of a person on a channel, or none',
  ),
  agentToAgent: section({
    maxPingPongTurns: count(0, 5).default(5).describe('how many messages two agents exchange after the first answer'),
  }),
  reset: section({
    mode: choice(['none', 'daily', 'idle'], 'none').describe(
      'when sessions begin a new transcript: daily, or after an idle time',
    ),
    atHour: count(0, 23).default(4).describe("the hour of the daily reset, in the agent's `userTimezone`"),
    idleMinutes: duration(60_000, 60_000, STORED_MAX_MS).default(60).describe('the idle time'),
  }),
}).meta(LATER_TURNS);

const laneSize = count(0, 1000);

/** A slot mostly waits for a model: all of these together cost 40 MB (docs/operations.md). */
const lanes = section({
  main: laneSize.default(64).describe('how many turns of conversations one worker runs at the same time'),
  subagent: laneSize.default(64).describe('the same for turns of subagents'),
  cron: laneSize.default(16).describe('the same for turns of crons'),
  batch: laneSize.default(64).describe('the same for items of batches'),
});

const cron = section({
  enabled: flag(true).describe('`false`: no cron fires'),
  misfire: choice(MISFIRE_POLICIES, 'run_once').describe('what happens to [missed slots](schedule.md)'),
  maxCatchUp: count(0, 10_000).default(5).describe('maximum number of missed slots that `run_all` fires'),
  jobs: z.array(cronJob).max(LIST_MAX).default([]).describe('[crons](schedule.md) of the file; `name` is required'),
}).meta(SCHEDULER);

const owner = section({
  phone: optional(word).describe("the owner's phone number; counts as one of `owner.ids`"),
  ids: names
    .default([])
    .describe(
      "senders with the owner's authority; messages of other senders are never put into one turn with theirs. Empty: every sender can give chat commands",
    ),
  display: choice(['raw', 'hash'], 'raw').describe("how prompts show the owners' ids: unchanged, or as hashes"),
  displaySecret: z.string().min(1).max(512).exactOptional().describe('the key of those hashes (HMAC-SHA256)'),
}).meta(LATER_TURNS);

/**
 * Where `sandbox.enabled` is set without a sandbox that exists, prompts would say what is not true.
 */
export const SANDBOX_ENABLED =
  'true together with tools.exec.sandbox "required", or with sandbox.runtime "external", by which you state that the worker itself runs inside a container';

const GIB = 1_073_741_824;
const PETABYTE = 1e15;

const sandbox = section({
  enabled: flag(false).describe(
    'prompts state that commands run in a sandbox, or with `runtime: "external"` that the agent works in a container',
  ),
  runtime: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9_-]{0,63}$/,
      '"bubblewrap", "container", "external", or the name that a plugin has registered',
    )
    .default('bubblewrap')
    .describe(
      'what the [sandbox](sandbox.md) of commands is made by: `bubblewrap`, `container` (docker or podman, with `image`), the name of a runtime of a plugin, or `external`: you state that the worker itself runs in a container',
    ),
  network: z
    .union([z.literal('none'), z.array(reachable).max(LIST_MAX)])
    .default('none')
    .describe('the hosts that commands in the sandbox can reach, through a proxy: `none`, or a list'),
  readable: z
    .array(path)
    .max(LIST_MAX)
    .default([])
    .describe('paths that commands in the sandbox can read, besides the system and the workspace'),
  image: optional(word).describe('the image of the runtime `container`'),
  limits: section({
    cpuSeconds: count(1, 31_536_000).default(3600).describe('processor time of each process'),
    memoryBytes: count(16_777_216, PETABYTE)
      .default(4 * GIB)
      .describe('memory that each process can write to'),
    processes: count(8, 1_000_000)
      .default(512)
      .describe('processes and threads of one command; does not hold for root'),
    fileBytes: count(1_048_576, PETABYTE)
      .default(4 * GIB)
      .describe('size of each file'),
    tmpBytes: count(1_048_576, PETABYTE)
      .default(GIB / 2)
      .describe('size of the private `/tmp`, which is in memory'),
  }),
  hostMount: optional(path).describe('where the workspace is mounted from, for the prompt'),
  workspaceAccess: choice(['read-write', 'read-only', 'none'], 'read-write').describe(
    'the access to the workspace that the prompt states; `read-only` also holds for commands in the sandbox',
  ),
  browserUrl: optional(httpUrl).describe('the address of a browser in the container, for the prompt'),
});

const modules = z.array(path).max(100);
const paths = modules.default([]);

const pluginEntries = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'the id of a plugin'),
  z.strictObject({
    enabled: optional(z.boolean()).describe('`false`: none of its registrations takes effect; none: true'),
    hooks: z
      .strictObject({
        allowPromptInjection: optional(z.boolean()).describe('`false`: it may not add to prompts; none: true'),
      })
      .exactOptional(),
    config: optional(z.record(z.string(), z.unknown())).describe("the plugin's own settings"),
  }),
);

/** Plugins: their modules alone, or each with its settings. */
const plugins = z
  .union([
    modules.transform((list) => ({ modules: list, entries: {} as z.output<typeof pluginEntries> })),
    z.strictObject({
      modules: paths.describe(
        '[modules](plugins.md) in the order in which they are loaded; `plugins` may be only this list',
      ),
      entries: pluginEntries.default({}),
    }),
  ])
  .prefault({});

const TEXT_ONLY_MODELS = ['anthropic/claude-2*', 'anthropic/claude-instant*'];

/** The configuration file after aliases are resolved. */
export const fileSchema = z.strictObject({
  agents: agentsSchema,
  workspace,
  messages,
  session,
  lanes,
  cron,
  models: modelsSchema,
  batches: batchesSchema,
  tools: toolsSchema,
  mcp: mcpSchema,
  owner,
  sandbox,
  docs: section({
    enabled: flag(true).describe('`false`: prompts do not mention this documentation'),
    path: path.default(DOCS_PATH).describe('the folder in which agents can read this documentation'),
  }),
  tts: section({
    enabled: flag(false).describe('prompts state that replies are read aloud'),
    hint: optional(text).describe('instructions for spoken replies'),
  }).meta(LATER_TURNS),
  reactions: section({
    mode: choice(['off', 'minimal', 'extensive'], 'minimal').describe('how often agents react where they can'),
  }).meta(LATER_TURNS),
  reasoning: section({
    enabled: flag(false).describe('prompts ask for reasoning in tags, which are removed from replies'),
  }).meta(LATER_TURNS),
  memory: section({
    citations: choice(['auto', 'off'], 'auto').describe('whether replies name the memory file of a statement'),
  }).meta(LATER_TURNS),
  heartbeat: section({
    enabled: flag(true).describe('`false`: no agent is polled, and prompts do not describe polls'),
  }).meta(SCHEDULER),
  channels: channelsSchema,
  bindings: bindingsSchema
    .describe('which agent gets the messages of which chats, the most specific first; no binding: the first agent')
    .meta(LATER_TURNS),
  plugins,
  images: section({
    roots: paths.describe(
      'folders from which images named in prompts are read, in addition to the workspace and `media` in the data directory',
    ),
    textOnlyModels: names.default(TEXT_ONLY_MODELS).describe('models that receive no images; `*` matches any text'),
  }),
  api: apiSchema,
  events: eventsSchema,
  retention: retentionSchema,
  budgets: optional(budgetsSchema)
    .describe(
      'limits on the cost of model calls; their fields are in [costs](costs.md#budgets). None: the budgets that were configured before, by this or another process, stay in force; `[]`: ends all of them',
    )
    .meta({
      reload:
        'used by all processes. A file without this key changes no budget: those that it had before stay in force, which `config diff` and `config reload` say, and `GET /v1/config` shows `null`. `[]` ends them',
    }),
  limits: limitsSchema,
  telemetry: telemetrySchema,
  diagnostics: diagnosticsSchema,
  openai: openaiSchema,
  shutdown: shutdownSchema,
});

/** The contents of the configuration file, complete. */
export type FileSettings = z.output<typeof fileSchema>;

/** The whole configuration: complete, checked, frozen. */
export interface Config extends FileSettings {
  runtime: RuntimeSettings;
}
export type AgentDefaults = Config['agents']['defaults'];
export type AgentEntry = Config['agents']['list'][number];
export type PluginSettings = Config['plugins'];
