// The `sessions_list` tool: which sessions there are, as far as the calling one may see them.
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { SeenSession, SessionsPort } from './sessions-port.ts';
import type { Tool, ToolCall } from './tool.ts';

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 200;
const MESSAGES_MAX = 20;
const ACTIVE_MINUTES_MAX = 525_600;
/** This many sessions are shown with their last messages. */
const WITH_MESSAGES_MAX = 20;
const MINUTE_MS = 60_000;

const KINDS = ['main', 'direct', 'group', 'subagent', 'cron', 'heartbeat', 'other'] as const;

export function createSessionsListTool(port: Pick<SessionsPort, 'list' | 'history'>): Tool {
  return defineTool({
    name: 'sessions_list',
    description:
      'List the sessions that you may see, newest first, with their state and optionally their last messages.',
    summary: 'List other sessions, subagents among them',
    input: z.strictObject({
      kinds: z.array(z.enum(KINDS)).max(KINDS.length).optional().describe('Only of these kinds'),
      limit: z.int().min(1).max(LIMIT_MAX).optional().describe(`Largest number of sessions; default ${LIMIT_DEFAULT}`),
      activeMinutes: z
        .int()
        .min(1)
        .max(ACTIVE_MINUTES_MAX)
        .optional()
        .describe('Only those that changed in the last minutes'),
      messageLimit: z
        .int()
        .min(0)
        .max(MESSAGES_MAX)
        .optional()
        .describe(`The last messages of each, of the first ${WITH_MESSAGES_MAX}; default 0`),
    }),
    isIdempotent: true,
    isReadOnly: true,
    async run({ kinds, limit = LIMIT_DEFAULT, activeMinutes, messageLimit = 0 }, call) {
      const seen = await port.list(call);
      const since = activeMinutes === undefined ? 0 : Date.now() - activeMinutes * MINUTE_MS;
      const chosen = seen
        .filter(({ kind }) => kinds === undefined || (kinds as readonly string[]).includes(kind))
        .filter(({ updatedAt }) => Date.parse(updatedAt) >= since)
        .slice(0, limit);
      const sessions = messageLimit === 0 ? chosen : await withMessages(port, call, chosen, messageLimit);
      return { content: JSON.stringify({ count: sessions.length, sessions }), isError: false };
    },
  });
}

async function withMessages(
  port: Pick<SessionsPort, 'history'>,
  call: ToolCall,
  sessions: SeenSession[],
  limit: number,
): Promise<object[]> {
  const [first, rest] = [sessions.slice(0, WITH_MESSAGES_MAX), sessions.slice(WITH_MESSAGES_MAX)];
  const shown = await Promise.all(
    first.map(async (session) => {
      const history = await port.history(call, session.key, { limit, includeTools: false });
      return { ...session, messages: history.kind === 'ok' ? history.items : [] };
    }),
  );
  return [...shown, ...rest];
}
