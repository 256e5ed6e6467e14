// The last look before a request leaves (G12): a malformed one is a bug here, never the provider's to find. It only judges;
// `prepare-history.ts` puts right.
import { isBlank } from '../blank-text.ts';
import type { ContentBlock } from '../content.ts';
import type { ModelMessage } from '../model-request.ts';
import { isWholeToolCall } from './clean-content.ts';

type ViolationCode =
  | 'no_messages'
  | 'first_not_user'
  | 'last_not_user'
  | 'not_alternating'
  | 'empty_message'
  | 'empty_block'
  | 'block_of_other_role'
  | 'bad_tool_use'
  | 'duplicate_tool_use_id'
  | 'missing_tool_result'
  | 'unexpected_tool_result'
  | 'tool_result_not_first'
  | 'trailing_thinking';

export interface Violation {
  code: ViolationCode;
  /** The index of the message; -1: the list itself. */
  at: number;
  detail: string;
}

/** Everything that is wrong with a list of messages; empty when it may be sent. */
export function checkRequest(messages: readonly ModelMessage[]): Violation[] {
  return createRequestCheck()(messages);
}

/**
 * A checking function that remembers: of a list that only grew at its end since the last call it looks at the new messages and the
 * two before them alone. Any other list is looked at as a whole. One per turn; the messages must not be changed in place.
 */
export function createRequestCheck(): (messages: readonly ModelMessage[]) => Violation[] {
  let settledCount = 0;
  let settledLast: ModelMessage | undefined;
  const ids = new Set<string>();
  let found: Violation[] = [];

  return (messages) => {
    const isGrown = settledCount <= messages.length && messages[settledCount - 1] === settledLast;
    if (!isGrown) {
      settledCount = 0;
      ids.clear();
      found = [];
    }
    // The last two may still be replaced: their ids are not remembered.
    const settleTo = Math.max(settledCount, messages.length - 2);
    for (; settledCount < settleTo; settledCount += 1) found.push(...checkMessage(messages, settledCount, ids));
    settledLast = messages[settledCount - 1];
    const provisional = new ProvisionalIds(ids);
    const fresh: Violation[] = [];
    for (let at = settledCount; at < messages.length; at += 1) fresh.push(...checkMessage(messages, at, provisional));
    return [...checkEnds(messages), ...found, ...fresh];
  };
}

/** Ids seen so far. */
interface SeenIds {
  has(id: string): boolean;
  add(id: string): unknown;
}

class ProvisionalIds implements SeenIds {
  readonly #base: ReadonlySet<string>;
  readonly #own = new Set<string>();

  constructor(base: ReadonlySet<string>) {
    this.#base = base;
  }

  has(id: string): boolean {
    return this.#base.has(id) || this.#own.has(id);
  }

  add(id: string): void {
    this.#own.add(id);
  }
}

function checkEnds(messages: readonly ModelMessage[]): Violation[] {
  const [first] = messages;
  if (first === undefined) return [{ code: 'no_messages', at: -1, detail: 'there is no message' }];
  const violations: Violation[] = [];
  const last = messages.length - 1;
  if (first.role !== 'user') violations.push({ code: 'first_not_user', at: 0, detail: `the first is ${first.role}` });
  if (messages[last]?.role !== 'user')
    violations.push({ code: 'last_not_user', at: last, detail: 'the last is assistant' });
  return violations;
}

function checkMessage(messages: readonly ModelMessage[], at: number, ids: SeenIds): Violation[] {
  const message = messages[at];
  if (message === undefined) return [];
  const before = messages[at - 1];
  const violations = message.content.flatMap((block) => checkBlock(block, message.role));
  if (message.content.length === 0)
    violations.push({ code: 'empty_message', detail: `a ${message.role} message without blocks` });
  if (before?.role === message.role)
    violations.push({ code: 'not_alternating', detail: `two ${message.role} messages in a row` });
  violations.push(...checkIds(message, ids), ...checkPairs(message, before));
  if (message.role === 'assistant') {
    if (isThinking(message.content.at(-1)))
      violations.push({ code: 'trailing_thinking', detail: 'thinking ends the message' });
    // A last answer has no message after it; that is a fault of the ends.
    if (at === messages.length - 1) violations.push(...checkPairs({ role: 'user', content: [] }, message));
  }
  return violations.map((violation) => ({ ...violation, at }));
}

type Fault = Omit<Violation, 'at'>;

function checkBlock(block: ContentBlock, role: ModelMessage['role']): Fault[] {
  const ofOther = (isOther: boolean): Fault[] =>
    isOther ? [{ code: 'block_of_other_role', detail: `${block.type} in a ${role} message` }] : [];
  switch (block.type) {
    case 'text':
      return isBlank(block.text) ? [{ code: 'empty_block', detail: 'blank text' }] : [];
    case 'image':
      return [...ofOther(role !== 'user'), ...emptyImage(block.source.data)];
    case 'tool_result':
      return [...ofOther(role !== 'user'), ...emptyParts(block.content)];
    case 'thinking':
    case 'redacted_thinking':
      return ofOther(role !== 'assistant');
    case 'tool_use': {
      const isBad = !isWholeToolCall(block);
      const bad: Fault[] = isBad ? [{ code: 'bad_tool_use', detail: `call ${block.id} of ${block.name}` }] : [];
      return [...ofOther(role !== 'assistant'), ...bad];
    }
    default:
      return block satisfies never;
  }
}

function emptyImage(data: string): Fault[] {
  return data === '' ? [{ code: 'empty_block', detail: 'image without data' }] : [];
}

function emptyParts(content: Extract<ContentBlock, { type: 'tool_result' }>['content']): Fault[] {
  if (typeof content === 'string') return [];
  return content.flatMap((part) => checkBlock(part, 'user'));
}

function checkIds({ content }: ModelMessage, ids: SeenIds): Fault[] {
  return content.flatMap((block): Fault[] => {
    if (block.type !== 'tool_use') return [];
    const isDuplicate = ids.has(block.id);
    ids.add(block.id);
    return isDuplicate ? [{ code: 'duplicate_tool_use_id', detail: `tool_use ${block.id} occurs before` }] : [];
  });
}

// The results of a message are those of the calls of the message before, each once, in front of everything else.
function checkPairs(message: ModelMessage, before: ModelMessage | undefined): Fault[] {
  if (message.role !== 'user') return [];
  const wanted = new Set((before?.role === 'assistant' ? before.content : []).flatMap(callIdsOf));
  const faults: Fault[] = [];
  let isAfterOther = false;
  for (const block of message.content) {
    if (block.type !== 'tool_result') {
      isAfterOther = true;
      continue;
    }
    if (isAfterOther) faults.push({ code: 'tool_result_not_first', detail: `result of ${block.tool_use_id}` });
    if (!wanted.delete(block.tool_use_id))
      faults.push({ code: 'unexpected_tool_result', detail: `result of ${block.tool_use_id}` });
  }
  return [
    ...faults,
    ...[...wanted].map((id): Fault => ({ code: 'missing_tool_result', detail: `no result of ${id}` })),
  ];
}

function callIdsOf(block: ContentBlock): string[] {
  return block.type === 'tool_use' ? [block.id] : [];
}

function isThinking(block: ContentBlock | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking';
}
