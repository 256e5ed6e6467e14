// The `session_status` tool: who and where the model is, and the only place where it is told the time. The system prompt does not
// say the time, so that its bytes stay the same.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { Tool, ToolCall } from './tool.ts';

/** What a call does not say of itself. */
export interface SessionStatus {
  /** The wall time. */
  now: Date;
  /** The user's time zone as an IANA name; the machine's own when absent or unknown. */
  timezone?: string | undefined;
}

/** Called once for each call of the tool. Must not throw. */
export type SessionStatusSource = (call: ToolCall) => SessionStatus;

export function createSessionStatusTool(source: SessionStatusSource): Tool {
  return defineTool({
    name: 'session_status',
    description: 'Show this session: key, agent, model, thinking level, and the current date and time.',
    summary: 'Show session status and the current date and time',
    input: z.strictObject({}),
    isIdempotent: true,
    isReadOnly: true,
    async run(_input, call) {
      const status = source(call);
      const lines = [
        `Session: ${call.sessionKey}`,
        `Agent: ${call.agentId}`,
        `Model: ${call.model}`,
        `Thinking: ${call.thinking}`,
        `Current time: ${localTime(status.now, status.timezone)}`,
        `UTC: ${status.now.toISOString()}`,
      ];
      return { content: lines.join('\n'), isError: false };
    },
  });
}

/** `Monday, 2026-09-28 14:05:09 (Europe/Berlin, GMT+02:00)`. */
function localTime(now: Date, timezone: string | undefined): string {
  const clock = clockFor(timezone);
  const second = Math.floor(now.getTime() / 1000);
  if (clock.second !== second) {
    clock.second = second;
    clock.text = write(clock.zone, now);
  }
  return clock.text;
}

function write(format: Intl.DateTimeFormat, now: Date): string {
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

/** A zone's format, and the second that it has written last. */
interface Clock {
  zone: Intl.DateTimeFormat;
  second: number;
  text: string;
}

/** A format and its texts cost more to make than everything else here, and there are as many as agents have zones. */
const clocks = new Map<string | undefined, Clock>();

function clockFor(timezone: string | undefined): Clock {
  let clock = clocks.get(timezone);
  if (clock === undefined) clocks.set(timezone, (clock = { zone: newFormat(timezone), second: Number.NaN, text: '' }));
  return clock;
}

function newFormat(timezone: string | undefined): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', { ...FORMAT, timeZone: timezone });
  } catch {
    // A zone that this machine does not know.
    return new Intl.DateTimeFormat('en-US', FORMAT);
  }
}
