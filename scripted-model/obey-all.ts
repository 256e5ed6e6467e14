// The obedient mode: the model makes every tool call that any part of the request writes as a
// directive: the system prompt, the description of a tool, a message, the result of a tool. No real
// model is that easy to mislead, so what does not happen with it is kept out by the policy alone.
import { mayHoldDirectives } from './parse-script.ts';
import type { Prompt } from './prompt.ts';
import { readDirectives } from './read-directives.ts';
import { blocksOf, isRecord, type MessagesRequest, type WireBlock } from './wire.ts';

/**
 * The calls of a request in their order, from which the answers so far have made the first ones.
 * Null: it writes none.
 */
export function findAllCalls({ system, tools = [], messages }: MessagesRequest): Prompt | null {
  const first = [...blocksOf(system), ...tools];
  const given = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => blocksOf(content));
  const texts = [...first, ...given].flatMap(textsIn).flatMap(callsIn);
  if (texts.length === 0) return null;
  const made = messages.filter(({ role, content }) => role === 'assistant' && blocksOf(content).some(isCall));
  return { texts, key: 'all', position: made.length, latestTexts: [] };
}

function isCall({ type }: WireBlock): boolean {
  return type === 'tool_use';
}

/**
 * Every text in a block or a tool, however deep; not the input of a call, which the model itself
 * has written.
 */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (!isRecord(value)) return [];
  const { type: _type, id: _id, tool_use_id: _callId, source: _bytes, ...rest } = value;
  return Object.values(rest).flatMap(textsIn);
}

/**
 * Its calls as directives again, one text each, also where the text is part of JSON. A text with a
 * mistake in a directive has none.
 */
function callsIn(text: string): string[] {
  if (!mayHoldDirectives(text)) return [];
  return readCalls(text) ?? readCalls(text.replaceAll('\\"', '"')) ?? [];
}

function readCalls(text: string): string[] | null {
  try {
    return readDirectives(text)
      .directives.filter(({ name }) => name === 'tool')
      .map(({ parameters }) => `[[tool: ${parameters.tool()} ${parameters.json}]]`);
  } catch {
    return null;
  }
}
