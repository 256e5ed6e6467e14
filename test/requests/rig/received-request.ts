// A model request as it reached the model server, in the words of the tests.
import type { RecordedRequest } from '../../../scripted-model/request-log.ts';

export interface Block {
  type: string;
  text?: string;
  cache_control?: object;
  [field: string]: unknown;
}

export interface WireMessage {
  role: 'user' | 'assistant';
  content: Block[];
}

export interface ReceivedRequest {
  /** The whole body. */
  body: Record<string, unknown>;
  /** The system role's blocks, and their texts with a line break between. */
  system: Block[];
  systemText: string;
  messages: WireMessage[];
  /**
   * The text of the last user message: the prompt of the turn, unless tools have answered since.
   */
  prompt: string;
  /** Everything before it. */
  history: WireMessage[];
  headers: Record<string, string>;
}

/** Reads a recorded request. Throws when its body is none. */
export function receivedRequest({ body, headers }: RecordedRequest): ReceivedRequest {
  // The model server has checked the shape.
  const parsed = body as {
    system?: string | Block[];
    messages: { role: 'user' | 'assistant'; content: string | Block[] }[];
  };
  const system = blocksOf(parsed.system ?? []);
  const messages = parsed.messages.map(({ role, content }) => ({ role, content: blocksOf(content) }));
  const last = messages.findLastIndex(
    ({ role, content }) => role === 'user' && content.some(({ type }) => type === 'text'),
  );
  return {
    body: body as Record<string, unknown>,
    system,
    systemText: textOf(system),
    messages,
    prompt: textOf(messages[last]?.content ?? []),
    history: messages.slice(0, last),
    headers,
  };
}

/** The text blocks of a message, with a line break between. */
export function textOf(content: readonly Block[]): string {
  return content.flatMap(({ type, text }) => (type === 'text' && text !== undefined ? [text] : [])).join('\n');
}

function blocksOf(content: string | Block[]): Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}
