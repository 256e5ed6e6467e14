// The last check before a request leaves (G12): a malformed one is a bug here, never the provider's
// to find. It only judges; `prepare-history.ts` puts right.
import { isBlank, storableValue } from '../core/text.ts';
import { isThinking, listToolUses, type ContentBlock } from '../core/content.ts';
import type { ModelMessage } from '../core/model-request.ts';
import { isWholeToolCall } from './prepare-history.ts';
import { FAMILY_POLICIES, isCallId, type FamilyPolicy, type ProviderFamily } from './provider-family.ts';

export interface Violation {
  /** The code of the broken rule. */
  code: string;
  /** The index of the message; -1: the list itself. */
  at: number;
  detail: string;
}

/**
 * A function that returns everything that is wrong with a list of messages; nothing when it may be
 * sent to a provider of the family. Of a list that only grew at its end since the last call, it
 * checks only the new messages and the two before them. Any other list is checked completely. One
 * per turn; the messages must not be changed in place.
 */
export function createRequestCheck(
  family: ProviderFamily = 'anthropic',
): (messages: readonly ModelMessage[]) => Violation[] {
  const policy = FAMILY_POLICIES[family];
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
    for (; settledCount < settleTo; settledCount += 1) {
      found.push(...checkMessage(messages, settledCount, ids, policy));
    }
    settledLast = messages[settledCount - 1];
    const provisional = new Set(ids);
    const fresh: Violation[] = [];
    for (let at = settledCount; at < messages.length; at += 1) {
      fresh.push(...checkMessage(messages, at, provisional, policy));
    }
    return [...checkEnds(messages, policy), ...found, ...fresh];
  };
}

function checkEnds(messages: readonly ModelMessage[], policy: FamilyPolicy): Violation[] {
  const [first] = messages;
  if (first === undefined) return [{ code: 'no_messages', at: -1, detail: 'there is no message' }];
  const violations: Violation[] = [];
  const last = messages.length - 1;
  if (policy.beginsWithUser && first.role !== 'user')
    violations.push({ code: 'first_not_user', at: 0, detail: `the first is ${first.role}` });
  if (messages[last]?.role !== 'user')
    violations.push({ code: 'last_not_user', at: last, detail: 'the last is assistant' });
  return violations;
}

function checkMessage(
  messages: readonly ModelMessage[],
  at: number,
  ids: Set<string>,
  policy: FamilyPolicy,
): Violation[] {
  const message = messages[at];
  if (message === undefined) return NOTHING;
  const before = messages[at - 1];
  // Nearly every message is sound: the list is made with the first fault.
  let violations: Violation[] | null = null;
  const report: Report = (code, detail) => void (violations ??= []).push({ code, at, detail });
  for (const block of message.content) {
    checkBlock(block, message.role, policy, report);
    if (storableValue(block) !== block) report('torn_text', `half a character or a NUL in ${block.type}`);
  }
  if (message.content.length === 0) report('empty_message', `a ${message.role} message without blocks`);
  if (policy.alternates && before?.role === message.role) {
    report('not_alternating', `two ${message.role} messages in a row`);
  }
  checkIds(message, ids, report);
  checkPairs(message, before, report);
  if (message.role === 'assistant') {
    if (isThinking(message.content.at(-1))) report('trailing_thinking', 'thinking ends the message');
    // A last answer has no message after it; that is a fault of the ends.
    if (at === messages.length - 1) checkPairs({ role: 'user', content: [] }, message, report);
  }
  return violations ?? NOTHING;
}

const NOTHING: Violation[] = [];

type Report = (code: string, detail: string) => void;

function checkBlock(block: ContentBlock, role: ModelMessage['role'], policy: FamilyPolicy, report: Report): void {
  const wanted = ROLE_OF[block.type];
  if (wanted !== undefined && wanted !== role) report('block_of_other_role', `${block.type} in a ${role} message`);
  switch (block.type) {
    case 'text':
      if (isBlank(block.text)) report('empty_block', 'blank text');
      return;
    case 'image':
      if (block.source.data === '') report('empty_block', 'image without data');
      return;
    case 'tool_result':
      if (typeof block.content === 'string') return;
      for (const part of block.content) checkBlock(part, 'user', policy, report);
      return;
    case 'tool_use':
      if (!isWholeToolCall(block) || !isCallId(block.id, policy.callIds)) {
        report('bad_tool_use', `call ${block.id} of ${block.name}`);
      }
      return;
    case 'thinking':
    case 'redacted_thinking':
      return;
    default:
      return block satisfies never;
  }
}

/** Which role may contain which block; text is allowed in both. */
const ROLE_OF: Readonly<Partial<Record<ContentBlock['type'], ModelMessage['role']>>> = {
  image: 'user',
  tool_result: 'user',
  tool_use: 'assistant',
  thinking: 'assistant',
  redacted_thinking: 'assistant',
};

function checkIds({ content }: ModelMessage, ids: Set<string>, report: Report): void {
  for (const { id } of listToolUses(content)) {
    if (ids.has(id)) report('duplicate_tool_use_id', `tool_use ${id} occurs before`);
    ids.add(id);
  }
}

// The results of a message are those of the calls in the message before, each once, and come before
// all other content.
function checkPairs(message: ModelMessage, before: ModelMessage | undefined, report: Report): void {
  if (message.role !== 'user') return;
  const wanted = before?.role === 'assistant' ? listToolUses(before.content).map(({ id }) => id) : [];
  let isAfterOther = false;
  for (const block of message.content) {
    if (block.type !== 'tool_result') {
      isAfterOther = true;
      continue;
    }
    if (isAfterOther) report('tool_result_not_first', `result of ${block.tool_use_id}`);
    const at = wanted.indexOf(block.tool_use_id);
    if (at === -1) report('unexpected_tool_result', `result of ${block.tool_use_id}`);
    else wanted.splice(at, 1);
  }
  for (const id of wanted) report('missing_tool_result', `no result of ${id}`);
}
