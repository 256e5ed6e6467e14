// Checks the items of a submission one by one, from lines or from the list of a JSON body. What is
// wrong with an item is listed with its place; what makes the whole submission unreadable is
// thrown.
import { isUtf8 } from 'node:buffer';
import type { ReadItem } from './rules/check-items.ts';
import { ForeignLineError, mapLine, type LineFormat, type MappedLine } from './rules/foreign-lines.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { nestOptions } from '../../core/input-options.ts';
import { isKeptInteger } from '../../core/json.ts';
import { canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import type { ReadResult } from './submit-batch.ts';
import type { Line } from '../../api/batch-lines.ts';
import { checkFields, parseJson } from '../../api/parse-json.ts';
import { fieldProblem, Problem } from '../../api/problem.ts';
import { batchItem } from '../../contract/inbound-message.ts';

/** How the place of an item and a path within it are written together. */
interface Place {
  name: string;
  at: (path: string) => string;
}

/** The items of lines. Throws when the body is one JSON list. */
export async function* itemsOfLines(
  lines: AsyncIterable<Line>,
  rules: { depthMax: number; format: LineFormat | null },
): AsyncGenerator<ReadResult> {
  let isFirst = true;
  for await (const { number, bytes } of lines) {
    const name = `line ${number}`;
    if (isFirst && startsList(bytes)) throw isList(name);
    isFirst = false;
    yield itemOfLine(bytes, { name, at: (path) => (path === '' ? name : `${name}: ${path}`) }, rules);
  }
}

/** The items of the list of a JSON body. */
export async function* itemsOfList(items: readonly unknown[]): AsyncGenerator<ReadResult> {
  for (const [index, item] of items.entries()) {
    const name = `items[${index}]`;
    yield checkItem(item, { name, at: (path) => (path === '' ? name : `${name}.${path}`) });
  }
}

function itemOfLine(
  bytes: Buffer,
  place: Place,
  { depthMax, format }: { depthMax: number; format: LineFormat | null },
): ReadResult {
  let value: unknown;
  try {
    if (!isUtf8(bytes)) return [{ path: place.at(''), message: 'the line is not valid UTF-8' }];
    value = parseJson(bytes, depthMax);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [first] = error.errors ?? [];
    if (first !== undefined) return [{ path: place.at(first.path), message: first.message }];
    return [{ path: place.at(''), message: error.message.replace('The body', 'the line') }];
  }
  return checkItem(value, place, format);
}

function checkItem(value: unknown, place: Place, format: LineFormat | null = null): ReadResult {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isKeptInteger(value)) {
    return [{ path: place.at(''), message: 'expected an object such as {"text": "…"}' }];
  }
  try {
    // An object of JSON has string names.
    const { item, ...further } = mapLine(value as Record<string, unknown>, format);
    const checked = checkFields(batchItem, item);
    if (!checked.isValid) return checked.errors.map(({ path, message }) => ({ path: place.at(path), message }));
    return buildItem(checked.data, further, place);
  } catch (error) {
    if (error instanceof ForeignLineError) return [{ path: place.at(error.path), message: error.message }];
    if (error instanceof InvalidSessionKeyError) return [{ path: place.at('sessionKey'), message: error.message }];
    throw error;
  }
}

function buildItem(
  checked: (typeof batchItem)['_output'],
  { system, caller }: Omit<MappedLine, 'item'>,
  place: Place,
): ReadItem {
  const { customId, sessionKey, agentId, ...message } = nestOptions(checked);
  const body: InboundMessage = {
    ...message,
    ...(system === null ? {} : { extraSystemPrompt: system }),
    ...(caller === null ? {} : { caller }),
  };
  return {
    place: place.name,
    customId: customId ?? null,
    sessionKey: sessionKey === undefined ? null : canonicalSessionKey(keyWithAgent(sessionKey, agentId)),
    agentId: agentId ?? null,
    body,
  };
}

/** A key without an agent belongs to the agent that the item names. */
function keyWithAgent(sessionKey: string, agentId: string | undefined): string {
  return agentId === undefined || sessionKey.toLowerCase().startsWith('agent:')
    ? sessionKey
    : `agent:${agentId}:${sessionKey}`;
}

function startsList(bytes: Buffer): boolean {
  return /^\s*\[/.test(bytes.subarray(0, 100).toString('latin1'));
}

function isList(path: string): Problem {
  const message = 'the body is a JSON list; send one item per line, or {"items": […]} as application/json';
  return fieldProblem(path, message, 'invalid_items');
}
