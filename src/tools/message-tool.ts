// The `message` tool: says something in the middle of a turn. It only puts a row into the outbox, from where it leaves like every reply:
// in order, once, with retries. Where it may go is decided here, not by the model (G30).
import { z } from 'zod';
import type { DeliveryPayload } from '../core/delivery-payload.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { chatRouteOf, decideTarget, type OpenChannels } from '../core/message-route.ts';
import type { Recipient } from '../core/reply-address.ts';
import { defineTool } from './define-tool.ts';
import { errorOutcome, type Tool, type ToolCall } from './tool.ts';

/** What a message is in the outbox. */
export interface MessagePost {
  call: ToolCall;
  url: string;
  payload: DeliveryPayload & { buttons?: object };
}

export interface MessageToolOptions {
  channels: OpenChannels;
  /** The message that tells where the chat of a call is, null when no message was sent to its session; and what its turn answers. */
  chat: (call: ToolCall) => Promise<{ message: InboundMessage | null; messageIds: string[] }>;
  /** Puts a message into the outbox, once for each idempotency key. */
  post: (
    post: MessagePost,
  ) => Promise<{ kind: 'posted'; id: string } | { kind: 'closed' } | { kind: 'too-many'; max: number }>;
}

export const MESSAGE_TOOL = 'message';

const CHARS_MAX = 20_000;

const button = z.strictObject({
  text: z.string().min(1).max(100),
  callback_data: z.string().min(1).max(200),
  style: z.enum(['primary', 'success', 'danger']).optional(),
});

export function createMessageTool({ channels, chat, post }: MessageToolOptions): Tool {
  return defineTool({
    name: MESSAGE_TOOL,
    description:
      'Send a message now, before the turn ends. Without channel and to it goes to this chat; action reply quotes the message that you are answering, or the one named in replyTo.',
    summary: 'Send messages and channel actions',
    input: z.strictObject({
      action: z.enum(['send', 'reply']),
      message: z
        .string()
        .max(CHARS_MAX)
        .refine((text) => text.trim() !== '', 'must not be blank')
        .describe('The text'),
      to: z.string().min(1).max(200).optional().describe('Chat to write to; absent: this one'),
      channel: z.string().min(1).max(200).optional().describe('Channel of the chat; absent: that of this chat'),
      replyTo: z.string().min(1).max(200).optional().describe('Id of the message to quote'),
      buttons: z.array(z.array(button).min(1).max(8)).max(20).optional().describe('Rows of inline buttons'),
    }),
    // The outbox takes a call once, however often it is run.
    isIdempotent: true,
    async run({ action, message, to, channel, replyTo, buttons }, call) {
      const { message: last, messageIds } = await chat(call);
      const own = last === null ? null : chatRouteOf(last, channels.url);
      const target = decideTarget({ channel, to }, own, channels);
      if (target.kind === 'refused') return errorOutcome(`message: ${target.field}: ${target.reason}`);
      const quoted = replyTo ?? (action === 'reply' && target.isOwnChat ? own?.messageId : undefined);
      if (action === 'reply' && quoted === undefined) {
        return errorOutcome('message: replyTo: is needed: the message to be quoted is not known');
      }
      call.signal.throwIfAborted();
      const posted = await post({
        call,
        url: target.url,
        payload: {
          type: 'message',
          sessionKey: call.sessionKey,
          turnId: call.turnId,
          messageIds,
          text: message,
          ...target.address,
          ...(quoted === undefined ? {} : { replyToMessageId: quoted }),
          ...(buttons === undefined ? {} : { buttons }),
        },
      });
      switch (posted.kind) {
        case 'posted':
          return {
            content: `Queued for ${nameOf(target.address.recipient)} as delivery ${posted.id}.`,
            isError: false,
          };
        case 'closed':
          return errorOutcome('message: the turn is over; nothing was sent');
        case 'too-many':
          return errorOutcome(`message: this turn has sent ${posted.max} messages, which is the most it may`);
      }
    },
  });
}

function nameOf({ channel, chatId }: Recipient): string {
  return chatId === undefined ? channel : `${channel} ${chatId}`;
}
