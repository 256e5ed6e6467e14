// The `message` tool: says something in the middle of a turn. It only puts a row into the outbox,
// from where it leaves like every reply: in order, once, with retries. Where it may go is decided
// here, not by the model (G30). A file is copied when the tool is called, and the copy is sent.
import { z } from 'zod';
import type { MessageFeatures } from '../config/agent-settings.ts';
import type { DeliveryPayload } from '../core/delivery-payload.ts';
import type { DeliveryId } from '../core/ids.ts';
import type { InboundMessage } from '../core/inbound.ts';
import { buildChatRoute, decideTarget, type OpenChannels, type Recipient } from '../kernel/rules/message-route.ts';
import type { ToolSpec } from '../core/model-request.ts';
import { newId } from '../ids.ts';
import { defineTool } from './define-tool.ts';
import {
  digestFile,
  dropMedia,
  isUrl,
  takeMedia,
  type OutgoingMediaOptions,
  type MediaCall,
} from './outgoing-media.ts';
import { errorOutcome, type Tool, type ToolCall, type ToolOutcome, textOutcome } from './tool.ts';

/** The outbox row of a message. */
export interface MessagePost {
  id: DeliveryId;
  call: ToolCall;
  url: string;
  payload: DeliveryPayload & { buttons?: object };
}

export interface MessageToolOptions extends OutgoingMediaOptions {
  channels: OpenChannels;
  /** What messages on a channel may have in addition to text. */
  featuresOf: (channel: string) => MessageFeatures;
  /**
   * The message that names the chat of a call, null when no message was sent to its session; the
   * messages that its turn answers; and whether it may write to its own chat only.
   */
  chat: (call: ToolCall) => Promise<{ message: InboundMessage | null; messageIds: string[]; isConfined: boolean }>;
  /** Puts a message into the outbox, once for each idempotency key: `id` is that of the first. */
  post: (
    post: MessagePost,
  ) => Promise<{ kind: 'posted'; id: DeliveryId } | { kind: 'closed' } | { kind: 'too-many'; max: number }>;
}

export const MESSAGE_TOOL = 'message';

const CHARS_MAX = 20_000;
const PATH_CHARS_MAX = 2_000;
/** What Telegram takes; other platforms take more. */
const BUTTON_BYTES_MAX = 64;

const button = z.strictObject({
  text: z.string().min(1).max(100),
  callback_data: z
    .string()
    .min(1)
    .max(BUTTON_BYTES_MAX)
    .refine((data) => Buffer.byteLength(data) <= BUTTON_BYTES_MAX, `must have at most ${BUTTON_BYTES_MAX} bytes`)
    // A press counts as written by the person who presses.
    .refine((data) => !data.trimStart().startsWith('/'), 'must not begin with a slash: only people give chat commands'),
  style: z.enum(['primary', 'success', 'danger']).optional(),
});

const said = z
  .string()
  .max(CHARS_MAX)
  .refine((text) => text.trim() !== '', 'must not be blank')
  .describe('The text');

const address = {
  to: z.string().min(1).max(200).optional().describe('Chat to write to; absent: this one'),
  channel: z.string().min(1).max(200).optional().describe('Channel of the chat; absent: that of this chat'),
};
const quote = z.string().min(1).max(200).optional();
const buttons = z.array(z.array(button).min(1).max(8)).max(20).optional().describe('Rows of inline buttons');
const named = z.string().min(1).max(PATH_CHARS_MAX).optional();
const media = named.describe('A file to send with it: a path in your workspace, or a URL');
const emoji = z.string().min(1).max(50).optional().describe('For action react');

const plain = z.strictObject({
  action: z.enum(['send', 'reply']),
  message: said,
  ...address,
  replyTo: quote.describe('Id of the message to quote'),
  buttons,
});

/**
 * The fields on a channel with these features: a field that is of no use there is not shown to the
 * model.
 */
function fieldsOn({ media: canSend, reactions: canReact }: MessageFeatures): z.ZodObject {
  if (!canSend && !canReact) return plain;
  return z.strictObject({
    action: z.enum(canReact ? ['send', 'reply', 'react'] : ['send', 'reply']),
    message: said.optional().describe(canReact ? 'The text; not for action react' : 'The text'),
    ...address,
    replyTo: quote.describe(canReact ? 'Id of the message to quote, or to react to' : 'Id of the message to quote'),
    buttons,
    ...(canSend ? { media } : {}),
    ...(canReact ? { emoji } : {}),
  });
}

/** Everything that is understood. Whether the channel takes it is decided when it is known. */
const every = z.strictObject({
  action: z.enum(['send', 'reply', 'react']),
  message: said.optional(),
  ...address,
  replyTo: quote,
  buttons,
  media: named,
  // What models write instead.
  path: named,
  filePath: named,
  emoji,
});
type Args = z.output<typeof every>;

/** The content of a delivery, from the call. */
type Content = Pick<DeliveryPayload, 'text' | 'media' | 'react'>;

export function createMessageTool(options: MessageToolOptions): Tool {
  const definition = {
    name: MESSAGE_TOOL,
    description:
      'Send a message now, before the turn ends. Without channel and to it goes to this chat; action reply quotes the message that you are answering, or the one named in replyTo.',
    summary: 'Send messages and channel actions',
    // The outbox takes a call once, however often it is run.
    isIdempotent: true,
    isReadOnly: false,
  };
  const specs = new Map<string, ToolSpec>();
  const { spec } = defineTool({ ...definition, input: plain, run: unused });
  return {
    ...defineTool({ ...definition, input: every, run: (args, call) => send(options, args, call) }),
    spec,
    show: (input, at) => show(options, input, at),
    specOn(channel) {
      const features = options.featuresOf(channel);
      if (!features.media && !features.reactions) return spec;
      const name = `${features.media} ${features.reactions}`;
      const known = specs.get(name);
      if (known !== undefined) return known;
      const made = defineTool({ ...definition, input: fieldsOn(features), run: unused }).spec;
      specs.set(name, made);
      return made;
    },
  };
}

/** A definition whose spec alone is needed. */
const unused = (): never => {
  throw new Error('This definition is never run.');
};

/** The input with the file that it names; undefined: it names none. */
async function show(
  options: MessageToolOptions,
  input: unknown,
  at: Pick<ToolCall, 'workspaceDir' | 'signal'>,
): Promise<object | undefined> {
  const { data } = every.safeParse(input);
  const named = data && nameOfMedia(data);
  if (named === undefined || isUrl(named)) return undefined;
  return { ...data, file: await digestFile(options, named, at) };
}

async function send(options: MessageToolOptions, args: Args, call: ToolCall): Promise<ToolOutcome> {
  const { channels, featuresOf, chat, post } = options;
  const { action, to, channel, replyTo } = args;
  const hasContent = action === 'react' || [args.message, nameOfMedia(args)].some(Boolean);
  if (!hasContent) return errorOutcome('message: message: is needed: the text to send');
  const { message: last, messageIds, isConfined } = await chat(call);
  const own = last === null ? null : buildChatRoute(last, channels.url);
  const target = decideTarget({ channel, to }, own, isConfined ? { ...channels, open: [] } : channels);
  if (target.kind === 'refused') return errorOutcome(`message: ${target.field}: ${target.reason}`);
  const { recipient } = target.address;
  const current = target.isOwnChat ? own?.messageId : undefined;
  const quoted = replyTo ?? (action === 'reply' ? current : undefined);
  if (action === 'reply' && quoted === undefined) {
    return errorOutcome('message: replyTo: is needed: the message to be quoted is not known');
  }
  const features = featuresOf(recipient.channel);
  const id = newId<DeliveryId>();
  const content =
    action === 'react'
      ? toReaction(args, { messageId: replyTo ?? current, features, channel: recipient.channel })
      : await toContent(options, args, { id, features, channel: recipient.channel, call });
  if (typeof content === 'string') return errorOutcome(`message: ${content}`);
  call.signal.throwIfAborted();
  const posted = await post({
    id,
    call,
    url: target.url,
    payload: {
      type: 'message',
      sessionKey: call.sessionKey,
      turnId: call.turnId,
      messageIds,
      ...target.address,
      ...content,
      ...(quoted === undefined || action === 'react' ? {} : { replyToMessageId: quoted }),
      ...(args.buttons === undefined ? {} : { buttons: args.buttons }),
    },
  });
  // An earlier run of this call has its own copy in the outbox.
  if (posted.kind !== 'posted' || posted.id !== id) await dropMedia(options, id);
  return toOutcome(posted, recipient);
}

/** The message to send, or the fault of the call. */
async function toContent(
  options: MessageToolOptions,
  args: Args,
  posting: MediaCall & { features: MessageFeatures },
): Promise<Content | string> {
  const { message = '', emoji: reaction } = args;
  const named = nameOfMedia(args);
  if (reaction !== undefined) return 'emoji: is only for action react';
  if (named === undefined) return { text: message };
  if (!posting.features.media) return `media: ${posting.channel} takes no files; say in your reply where the file is`;
  const result = await takeMedia(options, named, posting);
  if (result.kind === 'refused') return `media: ${result.reason}`;
  return { text: message, media: [result.media] };
}

function nameOfMedia({ media: file, path, filePath }: Args): string | undefined {
  return file ?? path ?? filePath;
}

/** The reaction, or the fault of the call. */
function toReaction(
  { emoji: reaction, message }: Args,
  at: { messageId: string | undefined; features: MessageFeatures; channel: string },
): Content | string {
  if (!at.features.reactions) return `action: ${at.channel} takes no reactions; use send or reply`;
  if (reaction === undefined) return 'emoji: is needed for action react';
  if (message !== undefined) return 'message: a reaction has no text; send the text by itself';
  if (at.messageId === undefined) return 'replyTo: is needed: the message to react to is not known';
  return { text: '', react: { emoji: reaction, messageId: at.messageId } };
}

function toOutcome(posted: Awaited<ReturnType<MessageToolOptions['post']>>, recipient: Recipient): ToolOutcome {
  switch (posted.kind) {
    case 'posted':
      return textOutcome(`Queued for ${formatRecipient(recipient)} as delivery ${posted.id}.`);
    case 'closed':
      return errorOutcome('message: the turn has ended; nothing was sent');
    case 'too-many':
      return errorOutcome(`message: this turn has sent ${posted.max} messages, the limit of one turn`);
  }
}

function formatRecipient({ channel, chatId }: Recipient): string {
  return chatId === undefined ? channel : `${channel} ${chatId}`;
}
