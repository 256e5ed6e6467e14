// What a try is made of: the message that repeats a turn, and what its tool calls are answered
// with.
import { announcementText, readAnnouncement } from '../../core/subagents.ts';
import { canonicalJson, given } from '../../core/json.ts';
import { listToolUses, type ContentBlock, type ToolResultBlock, type ToolUseBlock } from '../../core/content.ts';
import type { BatchInput, InboundMessage } from '../../core/inbound.ts';
import { inheritOptions, withOptions } from '../../core/input-options.ts';
import type { PromptMode } from '../../prompt/system-input.ts';
import type { ThinkingLevel } from '../../core/models.ts';

/**
 * The tag of a try, which is the name of its kind of session: the turn that it repeats, or its
 * agent.
 */
const TRY_TAG = 'try';

/** How long a try is kept after its last change. */
export const TRY_KEPT_DAYS = 7;

/** What may differ from what is tried. */
export interface TryChanges {
  text?: string;
  model?: string;
  thinking?: ThinkingLevel;
  systemPrompt?: string;
}

/**
 * The facts of a message that its try keeps. The others say where a reply goes, which message of a
 * platform it was, and when it was due.
 */
const KEPT = [
  'channel',
  'accountId',
  'chatId',
  'chatType',
  'provider',
  'surface',
  'timestamp',
  'sender',
  'group',
  'conversationLabel',
  'wasMentioned',
  'replyTo',
  'forwarded',
  'history',
  'thread',
  'media',
  'untrustedContext',
  'groupSystemPrompt',
  'extraSystemPrompt',
  'caller',
  'isConfined',
] as const satisfies readonly (keyof InboundMessage)[];

/**
 * The message that asks again what these inputs asked. Several become one, which has the facts of
 * the last.
 */
export function buildTry(
  bodies: readonly unknown[],
  { text = bodies.map(textOf).join('\n\n'), systemPrompt, ...changes }: TryChanges,
  { of, promptMode, tag }: { of: string | null; promptMode?: PromptMode; tag: string },
): InboundMessage {
  // Bodies of every kind have fields of this type, or none of them.
  const last = (bodies.at(-1) ?? {}) as Partial<BatchInput>;
  const kept = KEPT.filter((name) => last[name] !== undefined).map((name) => [name, last[name]]);
  const { tags, ...options } = inheritOptions({ tags: { [TRY_TAG]: tag } }, last.options ?? {});
  return {
    ...Object.fromEntries(kept),
    ...changes,
    text,
    deliver: null,
    ...withOptions({ ...options, tags: { ...tags, [TRY_TAG]: tag } }),
    tryOf: of,
    ...given({ promptMode: last.promptMode ?? promptMode, systemPrompt }),
  };
}

function textOf(body: unknown): string {
  const announcement = readAnnouncement(body);
  return announcement === null ? ((body as Partial<InboundMessage>).text ?? '') : announcementText(announcement);
}

/** A call that a turn has made, or that was written for it, and its result. */
export interface RecordedCall {
  name: string;
  input: unknown;
  result: Pick<ToolResultBlock, 'content' | 'is_error'>;
}

/** The calls of a turn that have results, in order. */
export function listRecorded(entries: readonly { content: readonly ContentBlock[] }[]): RecordedCall[] {
  const blocks = entries.flatMap(({ content }) => content);
  const results = new Map(
    blocks.flatMap((block) => (block.type === 'tool_result' ? [[block.tool_use_id, block]] : [])),
  );
  return listToolUses(blocks).flatMap(({ id, name, input }) => {
    const result = results.get(id);
    return result === undefined ? [] : [{ name, input, result }];
  });
}

type Call = Pick<ToolUseBlock, 'name' | 'input'>;

/**
 * What was recorded for each of these calls, null for none: the n-th call of a name and arguments
 * has the n-th that was recorded. `earlier`: the calls that the try has made before them.
 */
export function matchCalls<Recorded extends Call>(
  recorded: readonly Recorded[],
  earlier: readonly Call[],
  calls: readonly Call[],
): (Recorded | null)[] {
  const recordedByKey = Map.groupBy(recorded, keyOfCall);
  const madeByKey = new Map<string, number>();
  const found = [...earlier, ...calls].map((call) => {
    const key = keyOfCall(call);
    const made = madeByKey.get(key) ?? 0;
    madeByKey.set(key, made + 1);
    return recordedByKey.get(key)?.[made] ?? null;
  });
  return found.slice(earlier.length);
}

/** One text for all calls of the same tool with the same arguments, in any order. */
export function keyOfCall({ name, input }: Call): string {
  return canonicalJson([name, input]);
}

/** The result of a call that a try does not make. */
export function notRunText(name: string): string {
  return `Not run: this is a try. ${name} may change something, and the turn that is tried did not call it with these arguments.`;
}
