// What a conversation means that a client of OpenAI sends whole: instructions, a history, and what
// is new. A message of a known session is never stored twice: of the request, only what follows its
// last answer is new.
import type { ContentBlock, ImageBlock, ToolResultBlock } from '../../../core/content.ts';

/** A picture or a text of a message, in the order of the message. */
export type ClientPart = { type: 'text'; text: string } | ImageBlock;

/** One message of a request, in either of OpenAI's forms, checked. */
export type ClientMessage =
  | { role: 'system'; text: string }
  | { role: 'user'; parts: ClientPart[] }
  | { role: 'assistant'; text: string; calls: ClientCall[] }
  | ({ role: 'tool' } & ClientResult);

export interface ClientCall {
  id: string;
  name: string;
  /** The arguments as an object. */
  input: object;
}

/** An entry of the transcript that a fresh session begins with. */
export interface ClientEntry {
  kind: 'prompt' | 'answer' | 'results';
  role: 'user' | 'assistant';
  content: ContentBlock[];
}

export interface Conversation {
  /** All system messages, one below the other; null: there are none. */
  instructions: string | null;
  history: ClientEntry[];
  /**
   * `message`: a text to be answered. `results`: those of the last answer's tool calls, in the
   * order in which they were sent.
   */
  fresh: { kind: 'message'; text: string; images: ImageBlock[] } | { kind: 'results'; results: ClientResult[] };
  /**
   * The results between the last answer and the message, which are also in `history`, and the place
   * of the message; null: there is no message.
   */
  late: { results: ClientResult[]; path: string } | null;
}

export interface ClientResult {
  callId: string;
  content: ToolResultBlock['content'];
}

/** A fault of a conversation, and its place: `messages[2]`. */
export class ConversationFault extends Error {
  readonly path: string;

  constructor(path: string, message: string) {
    super(message);
    this.name = 'ConversationFault';
    this.path = path;
  }
}

/**
 * Reads a conversation; `list` is the name of the messages in paths. Throws `ConversationFault`.
 */
export function readConversation(messages: readonly ClientMessage[], list: string): Conversation {
  const at = askBySystem(messages.map((message, index) => ({ ...message, path: `${list}[${index}]` })));
  const instructions = at.flatMap((message) => (message.role === 'system' ? [message.text] : []));
  const spoken = at.filter((message) => message.role !== 'system');
  if (spoken.length === 0) throw new ConversationFault(list, 'there is no message to answer');
  checkCalls(spoken, list);
  const answerAt = spoken.findLastIndex(({ role }) => role === 'assistant');
  const after = spoken.slice(answerAt + 1);
  if (after.length === 0)
    throw new ConversationFault(
      `${list}[${at.length - 1}]`,
      'the last message must be of the user or of a tool, not of the assistant',
    );
  const said = after.filter((message) => message.role === 'user');
  const [first] = said;
  const results = after.filter((message) => message.role === 'tool');
  const text = instructions.join('\n\n').trim();
  // Results before a new message are of the past.
  const past = first === undefined ? spoken.slice(0, answerAt + 1) : spoken.slice(0, spoken.indexOf(first));
  return {
    instructions: text === '' ? null : text,
    history: toHistory(past, first !== undefined),
    fresh: first === undefined ? { kind: 'results', results } : toMessage(said, first.path),
    late: first === undefined ? null : { results, path: first.path },
  };
}

/**
 * A system message at the end, which no message of the user follows or precedes since the last
 * answer, is what is to be answered.
 */
function askBySystem(messages: readonly PlacedMessage[]): PlacedMessage[] {
  const last = messages.at(-1);
  const before = messages.findLast(({ role }) => role !== 'system');
  if (last?.role !== 'system' || (before !== undefined && before.role !== 'assistant')) return [...messages];
  const { path, text } = last;
  return [...messages.slice(0, -1), { role: 'user', parts: [{ type: 'text', text }], path }];
}

type PlacedMessage = ClientMessage & { path: string };
type Placed = Exclude<ClientMessage, { role: 'system' }> & { path: string };

/** The result of a call that has none: the user wrote something else instead. */
const GIVEN_UP = 'No result: a new message came instead.';

/**
 * Each result follows its call. An answer has results for all of its calls, or a message of the
 * user instead of those that are missing.
 */
function checkCalls(spoken: readonly Placed[], list: string): void {
  // Results alone: the calls are stored.
  if (spoken.every(({ role }) => role === 'tool')) return;
  let open = new Set<string>();
  const refuseMissing = (): void => {
    if (open.size > 0)
      throw new ConversationFault(list, `results are missing for the tool calls ${[...open].join(', ')}`);
  };
  for (const message of spoken) {
    if (message.role === 'user') open = new Set();
    else if (message.role === 'tool') {
      if (!open.delete(message.callId))
        throw new ConversationFault(
          `${message.path}.tool_call_id`,
          `no call ${message.callId} is open: the answer before has none of this id, or it has a result already`,
        );
    } else {
      refuseMissing();
      open = new Set(message.calls.map(({ id }) => id));
      if (open.size < message.calls.length)
        throw new ConversationFault(`${message.path}.tool_calls`, 'two calls have the same id');
    }
  }
  refuseMissing();
}

function toMessage(said: readonly Extract<Placed, { role: 'user' }>[], path: string): Conversation['fresh'] {
  const parts = said.flatMap((message) => message.parts);
  const images = parts.filter((part): part is ImageBlock => part.type === 'image');
  const texts = said.map((message) => textOfParts(message.parts)).filter((text) => text !== '');
  if (texts.length === 0 && images.length === 0) throw new ConversationFault(path, 'the message is empty');
  return { kind: 'message', text: texts.join('\n\n'), images };
}

/** `isAnswered`: what follows is a message, so that no result of the last answer comes any more. */
function toHistory(messages: readonly Placed[], isAnswered: boolean): ClientEntry[] {
  const entries: ClientEntry[] = [];
  let open: string[] = [];
  const addResult = (block: ToolResultBlock): void => {
    const last = entries.at(-1);
    if (last?.kind === 'results') last.content.push(block);
    else entries.push({ kind: 'results', role: 'user', content: [block] });
    open = open.filter((id) => id !== block.tool_use_id);
  };
  const giveUp = (): void => {
    for (const id of open) addResult({ type: 'tool_result', tool_use_id: id, content: GIVEN_UP, is_error: true });
  };
  for (const message of messages) {
    if (message.role === 'tool') {
      addResult({ type: 'tool_result', tool_use_id: message.callId, content: message.content });
    } else if (message.role === 'user') {
      giveUp();
      const content = message.parts.filter((part) => part.type === 'image' || part.text !== '');
      if (content.length > 0) entries.push({ kind: 'prompt', role: 'user', content });
    } else {
      const text: ContentBlock[] = message.text === '' ? [] : [{ type: 'text', text: message.text }];
      const calls = message.calls.map(({ id, name, input }): ContentBlock => ({ type: 'tool_use', id, name, input }));
      if (text.length + calls.length > 0)
        entries.push({ kind: 'answer', role: 'assistant', content: [...text, ...calls] });
      open = message.calls.map(({ id }) => id);
    }
  }
  if (isAnswered) giveUp();
  return entries;
}

function textOfParts(parts: readonly ClientPart[]): string {
  return parts
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join('\n')
    .trim();
}
