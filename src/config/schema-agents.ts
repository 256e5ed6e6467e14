// The shape of `agents`: what can be set for all of them, and for each.
import { z } from 'zod';
import { CURRENT_MODEL, THINKING_LEVELS } from '../core/models.ts';
import { IDLE_LIMITS_DEFAULT } from '../model/stream/stop-reasons.ts';
import { chatDelivery, type ChatDelivery } from './schema-channels.ts';
import {
  choice,
  count,
  distinct,
  duration,
  flag,
  httpUrl,
  names,
  optional,
  path,
  promptText,
  ratio,
  seconds,
  section,
  STORED_MAX_MS,
  storedMs,
  text,
  TEXT_MAX,
  timeOfDay,
  timerMs,
  timeZone,
  word,
  withoutDefaults,
} from './schema-scalars.ts';

const HEARTBEAT_PROMPT =
  'Read HEARTBEAT.md if it exists (workspace context). Follow it strictly. Do not infer or repeat old tasks from prior chats. ' +
  'If nothing needs attention, reply HEARTBEAT_OK.';

const PRUNABLE_TOOLS = ['exec', 'bash', 'grep', 'find', 'glob', 'ls', 'read', 'web_fetch'];

const contextPruning = section({
  mode: choice(['off', 'cache-ttl'], 'off').describe(
    "with `cache-ttl`, old tool results are shortened in requests when the provider's cache has expired",
  ),
  ttl: storedMs().default(300_000).describe('how long the provider keeps its cache'),
  keepLastAssistants: count(0, 1000).default(3).describe('results after this number of latest answers stay'),
  softTrimRatio: ratio.default(0.3).describe('share of the window from which long results keep only head and tail'),
  hardClearRatio: ratio
    .default(0.5)
    .describe('share of the window from which the oldest results are replaced; at least `softTrimRatio`'),
  minPrunableToolChars: count(0, 100_000_000)
    .default(50_000)
    .describe('results are replaced only if they have so many in total'),
  softTrim: section({
    maxChars: count(1, 100_000_000).default(4000).describe('results up to this length are not trimmed'),
    headChars: count(0, 100_000_000).default(1500).describe('characters of a trimmed result kept at its beginning'),
    tailChars: count(0, 100_000_000).default(1500).describe('the same at its end; together at most `maxChars`'),
  }),
  hardClear: section({
    enabled: flag(true).describe('`false`: results are trimmed but never replaced'),
    placeholder: text
      .default('[compacted: tool output removed to free context]')
      .describe('the text in place of a result'),
  }),
  tools: section({
    allow: names.default(PRUNABLE_TOOLS).describe('names or patterns of the tools whose results may be shortened'),
    deny: names.default(['memory_*']).describe('exceptions from `allow`'),
  }),
});

const POST_COMPACTION_SECTIONS_MAX = 20;
/** The words of a heading, without the marks in front. */
const heading = z
  .string()
  .trim()
  .regex(
    /^[^#\p{Cc}\p{Zl}\p{Zp}][^\p{Cc}\p{Zl}\p{Zp}]{0,199}$/u,
    'the words of a heading, without the "#" in front, on one line of at most 200 characters',
  );

const compaction = section({
  reserveTokens: count(0, 100_000_000)
    .default(20_000)
    .describe('tokens of the window that stay free: a transcript that would use them is compacted'),
  keepRecentTokens: count(0, 100_000_000).default(20_000).describe('tokens of recent entries that stay as they are'),
  timeoutSeconds: seconds().default(300).describe('the deadline of one attempt'),
  aggregateWaitSeconds: seconds(0).default(60).describe('longest total wait of the attempts of one compaction'),
  maxAttempts: count(1, 10).default(2).describe('maximum number of attempts per compaction'),
  model: optional(word).describe("the model that writes the summary; none: the agent's"),
  memoryFlush: section({
    enabled: flag(true).describe("whether the model can write to the day's memory file before a compaction"),
  }),
  postCompactionSections: z
    .array(heading)
    .max(POST_COMPACTION_SECTIONS_MAX)
    .default(['Session Startup', 'Red Lines'])
    .describe('headings of AGENTS.md whose sections the next prompt repeats'),
});

const harnessId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '"built-in", "auto" or the id of a harness: 1 to 64 characters of a-z 0-9 _ -');

const harness = section({
  pinned: harnessId
    .refine((id) => id !== 'auto', 'the id of a harness, which "auto" is not')
    .exactOptional()
    .describe('the id of the harness that answers every turn; overrides `runtime`'),
  runtime: harnessId
    .default('auto')
    .describe("`built-in`, the id of a plugin's harness, or `auto`: a plugin's harness if one supports the model"),
  fallback: choice(['built-in', 'none'], 'built-in').describe('used if `runtime` is missing; `none`: the turn fails'),
});

/** A gate check must be short, because many agents are checked one after the other. */
const GATE_MAX_MS = 30_000;
const POLL_MS_MIN = 1_000;

export const ONE_SOURCE = 'exactly one of command, url and file';

/** The source that must have changed since the last check before the agent is called. */
const gate = z
  .strictObject({
    command: optional(text).describe(
      'a shell command; the agent is polled only if its exit code or output has changed. Set one of the three',
    ),
    url: optional(httpUrl).describe(
      'a URL; the agent is polled only if its status or body has changed. `tools.fetch.allowPrivate` lists private hosts',
    ),
    file: optional(path).describe(
      "a file, relative to the agent's workspace; the agent is polled only if its content has changed",
    ),
    timeoutSeconds: duration(1000, 1000, GATE_MAX_MS).default(10).describe('the deadline of that check, 1 to 30'),
  })
  .refine(hasOneSource, ONE_SOURCE);

export function hasOneSource({ command, url, file }: { command?: string; url?: string; file?: string }): boolean {
  return [command, url, file].filter((one) => one !== undefined).length === 1;
}

// `completeSettings` puts the address of the chat in place of the chat.
const alertTarget = z.union([word, chatDelivery]) as unknown as z.ZodType<string, string | ChatDelivery>;

const heartbeat = section({
  every: storedMs()
    .refine((ms) => ms === 0 || ms >= POLL_MS_MIN, '0 (off), or 1s and more')
    .default(0)
    .describe('the interval at which the agent is polled, at least `"1s"`; 0 is off. See [schedule](schedule.md)'),
  prompt: text.default(HEARTBEAT_PROMPT).describe('the text of a poll'),
  ackMaxChars: count(0, TEXT_MAX)
    .default(300)
    .describe('an answer with `HEARTBEAT_OK` and at most this many other characters is an acknowledgement'),
  activeHours: z
    .strictObject({
      start: timeOfDay.describe('`HH:MM`; required. Polls outside the hours are skipped'),
      end: timeOfDay.describe('`HH:MM`, at most `24:00`; required. The same as `start`: the whole day'),
      timezone: z
        .union([z.enum(['user', 'local']), timeZone])
        .default('user')
        .describe('`user` is `userTimezone`, `local` the zone of the machine, else an IANA zone'),
    })
    .exactOptional(),
  target: alertTarget
    .default('none')
    .describe(
      'where alerts go: `none`, `last`, `webhook`, the name of a channel, or a chat: `{mode: "channel", channel, accountId, chatId, threadId}`',
    ),
  dedupeHours: duration(3_600_000, 0, STORED_MAX_MS).default(24).describe('an alert is not repeated within this time'),
  when: optional(gate),
});

const subagents = section({
  maxSpawnDepth: count(0, 10).default(1).describe('how many levels of subagents are allowed; 0: no subagents'),
  maxChildrenPerSession: count(0, 1000).default(5).describe('maximum number of open runs of one session'),
  maxDescendants: count(0, 10_000).default(50).describe('maximum number of open runs below one top-level session'),
  maxConcurrent: count(0, 10_000)
    .default(64)
    .describe('maximum number of concurrent subagent turns in one worker, within `lanes.subagent`'),
  runTimeoutSeconds: seconds(0).default(0).describe('the deadline of a run; 0: none'),
  model: optional(word).describe("the model of subagents; none: the agent's"),
  thinking: optional(z.enum(THINKING_LEVELS)).describe("the thinking level of subagents; none: the agent's"),
  allowAgents: names.default([]).describe('other agents that may be spawned; `*`: every agent'),
  announceDebounce: timerMs().default(1000).describe('how long announcements for a busy session wait for others'),
});

/** Cron jobs have a shorter default, and follow the limit of the others where only that is set. */
const idleLimits = z
  .strictObject({
    idleTimeoutSeconds: seconds(0)
      .exactOptional()
      .describe('longest time without data from a model call; 0: no limit except the deadline of the turn'),
    cronIdleTimeoutSeconds: seconds(0)
      .exactOptional()
      .describe('the same for cron jobs; when only `idleTimeoutSeconds` is set, that value applies to cron jobs too'),
  })
  .transform((own) =>
    own.idleTimeoutSeconds === undefined ? own : { cronIdleTimeoutSeconds: own.idleTimeoutSeconds, ...own },
  );

/** A turn that has asked this many models without an answer had better wait. */
const fallbacks = z.array(word).max(10).default([]);

const agentShape = {
  model: word.default(CURRENT_MODEL).describe('the model as `provider/model`, or an alias of `models`'),
  fallbacks: fallbacks.describe(
    "models to fall back to, in this order, if the agent's model is unavailable or refuses a call for a reason that might not apply to another model. An outage of the whole provider needs a model of [another one](operations.md#a-model-is-unavailable)",
  ),
  models: z.record(word, word).default({}).describe('aliases: name to `provider/model`'),
  promptMode: choice(['full', 'minimal', 'none'], 'full').describe('how much of the [prompt](prompts.md) is sent'),
  thinking: choice(THINKING_LEVELS, 'off').describe(
    'the thinking level, sent in the [form that the model accepts](decisions/0033-models-as-data.md)',
  ),
  // Not the machine's zone: workers in different zones must send the same bytes.
  userTimezone: timeZone.default('UTC').describe('the IANA zone of the user'),
  envelopeTimezone: z
    .union([z.enum(['utc', 'local', 'user']), timeZone])
    .default('utc')
    .describe('the time zone of times in prompts: one of these three values, or an IANA zone'),
  timeoutSeconds: seconds().default(600).describe('the deadline of a turn; time in which it is parked does not count'),
  maxSteps: count(1, 100_000).default(100).describe('maximum number of model calls in a turn'),
  bootstrapMaxChars: count(0, 10_000_000).default(20_000).describe('maximum length of a workspace file in the prompt'),
  bootstrapTotalMaxChars: count(0, 10_000_000).default(150_000).describe('maximum length of all workspace files'),
  bootstrapWarning: choice(['once', 'always', 'off'], 'once').describe(
    'when to warn that workspace files are cut or close to their limit: once per state of the files in a session, in every turn, or never',
  ),
  systemPromptOverride: optional(promptText).describe('a text in place of the [system prompt](prompts.md)'),
  promptContribution: section({
    stablePrefix: optional(promptText).describe('text added above the cache boundary, before the safety section'),
    dynamicSuffix: optional(promptText).describe('text added below the cache boundary'),
    sectionOverrides: section({
      interactionStyle: optional(promptText).describe('replaces this section, heading included'),
      toolCallStyle: optional(promptText).describe('replaces this section, heading included'),
      executionBias: optional(promptText).describe('replaces this section, heading included'),
    }),
  }),
  chatContextPlace: choice(['stable', 'dynamic'], 'stable').describe(
    "`dynamic`: the chat's context is below the cache boundary",
  ),
  contextTokens: count(1000, 100_000_000).default(200_000).describe("the size of the model's context window"),
  llm: idleLimits.transform((own) => ({ ...IDLE_LIMITS_DEFAULT, ...own })).prefault({}),
  contextPruning,
  compaction,
  harness,
  heartbeat,
  subagents,
};

const toolPolicy = z.strictObject({ allow: optional(names), deny: optional(names) });

/** `agents` of the file: the settings of all, and for each agent those that differ. */
export const agentsSchema = section({
  defaults: section(agentShape),
  list: distinct(
    z.strictObject({
      id: z
        .string()
        .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, '1 to 64 characters of a-z 0-9 _ -, beginning with a letter or digit'),
      workspace: optional(path),
      tools: optional(toolPolicy),
      ...withoutDefaults(agentShape),
      llm: optional(idleLimits),
    }),
    { key: 'id', what: 'an id that no other agent has' },
  )
    .min(1)
    .default([{ id: 'main' }])
    .describe(
      'the agents: `{id, workspace, tools: {allow, deny}}` and any key of `agents.defaults`, which then applies to this agent only',
    ),
}).meta({
  reload:
    'used by turns that start later. All agents change together or none does: other ids, workspaces, or another default `subagents.maxConcurrent` need a restart',
});
