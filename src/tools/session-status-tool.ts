// The `session_status` tool: what the session is, what it has used and what holds for it, and the
// only place where the model can read the time. The system prompt does not say the time, so that
// its bytes stay the same. With `model` it changes the session's model.
import { z } from 'zod';
import type { SourcedValue, SessionSettings } from '../config/agent-settings.ts';
import { defineTool } from './define-tool.ts';
import { errorOutcome, type Tool, type ToolCall, textOutcome } from './tool.ts';

/** Tokens, as the provider counts them. */
export interface SessionUsage {
  inputTokens: number;
  outputTokens: number;
  /** The tokens of the last request and its answer together; 0: not known. */
  contextTokens: number;
  contextTokensMax: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  /** The cache figures cover this many of the newest turns. */
  turns: number;
}

/** Facts that a call does not contain itself. */
export interface SessionStatus {
  /** The wall time. */
  now: Date;
  /** The user's time zone as an IANA name; the machine's own when absent or unknown. */
  timezone?: string | undefined;
  /** The settings of the session from its next turn on, and its usage; absent: unknown. */
  session?: { settings: SessionSettings; usage: SessionUsage } | undefined;
}

/** The source of the tool's facts, and the setting that it can change. */
export interface SessionStatusPort {
  status(call: Pick<ToolCall, 'sessionKey' | 'agentId' | 'tokens'>): Promise<SessionStatus>;
  /**
   * Sets the model of the session; null takes its own away. Answers why it cannot, null when it is
   * done.
   */
  setModel(call: ToolCall, model: string | null): Promise<string | null>;
}

const DEFAULT = 'default';

const input = z.strictObject({
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Sets the model of this session from its next turn on: provider/model, an alias, or "default"'),
});

export function createSessionStatusTool(port: SessionStatusPort): Tool {
  const tool = defineTool({
    name: 'session_status',
    description:
      'Show this session: key, agent, model, thinking, reasoning and queue mode with their sources, tokens used, cache reads, context size, ' +
      'and the current date and time. With model it sets the model of this session.',
    summary: 'Show session status and the current date and time; optionally set the model of this session',
    input,
    // The model is set to a value, however often.
    isIdempotent: true,
    isReadOnly: false,
    async run({ model }, call) {
      const fault = model === undefined ? null : await port.setModel(call, model === DEFAULT ? null : model);
      if (fault !== null) return errorOutcome(`session_status: model: ${fault}`);
      return textOutcome(formatLines(await port.status(call), call).join('\n'));
    },
  });
  return { ...tool, onlyReads: (asked) => input.safeParse(asked).data?.model === undefined };
}

function formatLines({ session, now, timezone }: SessionStatus, call: ToolCall): string[] {
  return [
    `Session: ${call.sessionKey}`,
    `Agent: ${call.agentId}`,
    `Model: ${inUse(call.model, session?.settings.model)}`,
    `Thinking: ${inUse(call.thinking, session?.settings.thinking)}`,
    ...(session === undefined ? [] : sessionLines(session)),
    `Current time: ${localTime(now, timezone)}`,
    `UTC: ${now.toISOString()}`,
  ];
}

/** The model of this turn and its source; and the next turn's if it differs. */
function inUse(value: string, next: SourcedValue<string> | undefined): string {
  if (next === undefined) return value;
  return value === next.value
    ? `${value} (${next.source})`
    : `${value} (this turn; then ${next.value}, ${next.source})`;
}

function sessionLines({ settings, usage }: NonNullable<SessionStatus['session']>): string[] {
  const { reasoning, queueMode, queueDebounceMs, queueCap, queueDrop } = settings;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, contextTokens, contextTokensMax, turns } =
    usage;
  const share = Math.round((contextTokens / contextTokensMax) * 100);
  return [
    `Reasoning: ${reasoning}`,
    `Queue: ${queueMode.value} (${queueMode.source}), debounce ${queueDebounceMs} ms, cap ${queueCap}, drop ${queueDrop}`,
    `Usage: ${inputTokens} tokens in, ${outputTokens} out`,
    `Cache: ${cacheReadTokens} tokens read, ${cacheWriteTokens} written (last ${turns} ${turns === 1 ? 'turn' : 'turns'})`,
    `Context: ${contextTokens === 0 ? 'not known' : `${contextTokens} tokens`} of ${contextTokensMax}${contextTokens === 0 ? '' : ` (${share} %)`}`,
  ];
}

/** `Monday, 2026-09-28 14:05:09 (Europe/Berlin, GMT+02:00)`. */
function localTime(now: Date, timezone: string | undefined): string {
  let format = formats.get(timezone);
  if (format === undefined) formats.set(timezone, (format = newFormat(timezone)));
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const date = `${parts['weekday']}, ${parts['year']}-${parts['month']}-${parts['day']}`;
  const time = `${parts['hour']}:${parts['minute']}:${parts['second']}`;
  return `${date} ${time} (${format.resolvedOptions().timeZone}, ${parts['timeZoneName']})`;
}

const FORMAT = {
  weekday: 'long',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
  timeZoneName: 'longOffset',
} as const;

/** A format costs more to make than everything else here, and there is one per time zone in use. */
const formats = new Map<string | undefined, Intl.DateTimeFormat>();

function newFormat(timezone: string | undefined): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', { ...FORMAT, timeZone: timezone });
  } catch {
    // A zone that this machine does not know.
    return new Intl.DateTimeFormat('en-US', FORMAT);
  }
}
