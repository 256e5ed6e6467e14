// The `sessions_yield` tool: ends the turn to wait. A session that waits holds no lock and no slot; any input wakes it, and when none
// arrives, an input after the timeout says so (G19).
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { SessionsPort } from './sessions-port.ts';
import type { Tool } from './tool.ts';

const SECONDS_DEFAULT = 3_600;
const SECONDS_MAX = 86_400;
const NOTE_CHARS_MAX = 4_000;

export function createSessionsYieldTool(port: Pick<SessionsPort, 'noteYield'>): Tool {
  return defineTool({
    name: 'sessions_yield',
    description:
      'End your turn now, without an answer, and wait: for the results of subagents, an answer of another session, or any other message. The next message starts your next turn.',
    summary: 'End your turn and wait for the next message',
    input: z.strictObject({
      message: z
        .string()
        .max(NOTE_CHARS_MAX)
        .optional()
        .describe('A note to yourself: what you wait for, and what to do then'),
      timeoutSeconds: z
        .int()
        .min(1)
        .max(SECONDS_MAX)
        .optional()
        .describe(`You get a message when nothing has arrived for this long; default ${SECONDS_DEFAULT}`),
    }),
    isIdempotent: true,
    isReadOnly: false,
    async run({ message = '', timeoutSeconds = SECONDS_DEFAULT }, call) {
      await port.noteYield(call, timeoutSeconds);
      const note = message.trim() === '' ? '' : ` Your note: ${message.trim()}`;
      const content = `Your turn ended here. You wait for at most ${timeoutSeconds} s; the next message starts your next turn.${note}`;
      return { content, isError: false, endsTurn: true };
    },
  });
}
