// The `sessions_send` tool: sends a message to another session. It never waits for the answer: that returns as a message of its own,
// so no slot is held while another session works (G19).
import { z } from 'zod';
import { defineTool } from './define-tool.ts';
import type { SessionsPort } from './sessions-port.ts';
import { errorOutcome, type Tool } from './tool.ts';

const TEXT_CHARS_MAX = 100_000;
const TIMEOUT_SECONDS_MAX = 86_400;

export function createSessionsSendTool(port: Pick<SessionsPort, 'send'>): Tool {
  return defineTool({
    name: 'sessions_send',
    description:
      'Send a message to another session, by its key or label. Returns immediately; its answer arrives as a message. End your turn with sessions_yield if you have nothing to do until then.',
    summary: 'Write to another session',
    input: z.strictObject({
      sessionKey: z.string().min(1).max(211).optional().describe('As sessions_list shows it'),
      label: z.string().min(1).max(200).optional().describe('Instead of the key'),
      agentId: z.string().min(1).max(64).optional().describe('The agent of the session with that label'),
      message: z.string().trim().min(1).max(TEXT_CHARS_MAX),
      timeoutSeconds: z
        .int()
        .min(0)
        .max(TIMEOUT_SECONDS_MAX)
        .optional()
        .describe('0: you need no answer; otherwise it arrives when it is ready'),
    }),
    isIdempotent: true,
    isReadOnly: false,
    async run({ sessionKey, label, agentId, message: text, timeoutSeconds }, call) {
      if ((sessionKey === undefined) === (label === undefined)) {
        return errorOutcome('sessions_send: give sessionKey or label, one of them');
      }
      const to = label === undefined ? { key: sessionKey ?? '' } : { label, agentId };
      const sent = await port.send(call, { to, text, wantsAnswer: timeoutSeconds !== 0 });
      if (sent.kind === 'error') return errorOutcome(JSON.stringify({ status: 'forbidden', error: sent.text }));
      const note = timeoutSeconds === 0 ? 'No answer will be sent.' : 'Its answer will arrive as a message.';
      const { kind: _kind, ...what } = sent;
      return { content: JSON.stringify({ status: 'accepted', ...what, note }), isError: false };
    },
  });
}
