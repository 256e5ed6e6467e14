// Reads the items of a submission one by one, from lines or from the list of a JSON body, and
// numbers them. What is wrong with an item is listed with its place, also what is wrong together
// with others or for this configuration. What makes the whole submission unreadable is thrown.
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import { isAgent, modelFault, toolPolicyFault, type Config } from '../../config.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { nestOptions, readOptions } from '../../core/input-options.ts';
import { given, isKeptInteger } from '../../core/json.ts';
import type { SessionKey } from '../../core/ids.ts';
import { agentIdOf, canonicalSessionKey, InvalidSessionKeyError } from '../../core/session-key.ts';
import type { Line } from '../../api/upload.ts';
import { checkFields, parseJson } from '../../api/parse-json.ts';
import { isSessionSeen, refuseAuthority } from '../../api/belongs.ts';
import { reachesAgent } from '../../core/scope.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { fieldProblem, notFound, Problem } from '../../api/problem.ts';
import { batchItem } from '../../contract/inbound-message.ts';
import { detectFormat, schemaOfLine } from './foreign-lines.ts';
import { itemSessionKey, type ItemFault, type LineFormat } from './rules/batch.ts';
import type { NewBatch, PlacedItem } from './store/upload.ts';

/** An item as it came. */
export interface RawItem {
  /** Its place, for people: `line 17`, `items[3]`. */
  place: string;
  /** Between its place and a field. */
  separator: ': ' | '.';
  /** Throws the `Problem` of a line that is not JSON. */
  read: () => unknown;
}

/** The items of lines. Throws when the body is one JSON list. */
export async function* itemsOfLines(lines: AsyncIterable<Line>, depthMax: number): AsyncGenerator<RawItem> {
  let isFirst = true;
  for await (const { number, bytes } of lines) {
    const place = `line ${number}`;
    if (isFirst && /^\s*\[/.test(bytes.subarray(0, 100).toString('latin1'))) {
      const message = 'the body is a JSON list; send one item per line, or {"items": […]} as application/json';
      throw fieldProblem(place, message, 'invalid_items');
    }
    isFirst = false;
    const read = (): unknown => {
      if (isUtf8(bytes)) return parseJson(bytes, depthMax);
      throw new Problem('invalid_json', 'the line is not valid UTF-8');
    };
    yield { place, separator: ': ', read };
  }
}

/** The items of the list of a JSON body. */
export async function* itemsOfList(items: readonly unknown[]): AsyncGenerator<RawItem> {
  for (const [index, item] of items.entries()) yield { place: `items[${index}]`, separator: '.', read: () => item };
}

/** The faults of an item. */
class RefusedItem extends Error {
  readonly faults: readonly ItemFault[];

  constructor(...faults: ItemFault[]) {
    super('An item was refused.');
    this.faults = faults;
  }
}

export type ReadItem = PlacedItem & { body: InboundMessage };

/**
 * Yields each item with its place in the batch, or its faults. Items of one session run one after
 * the other, so each has the number of the one before it. Rejects with the `Problem`
 * of an item that names what is outside of the batch's scope, or where its answer is sent to.
 */
export async function* readItems(
  items: AsyncIterable<RawItem>,
  rules: {
    config: Config;
    views: ViewDatabase;
    batch: Pick<NewBatch, 'id' | 'agentId' | 'scope'>;
    format?: LineFormat | undefined;
  },
): AsyncGenerator<ReadItem | readonly ItemFault[]> {
  const { config, views, batch, format } = rules;
  const customIds = new Map<string, string>();
  const lastOf = new Map<SessionKey, number>();
  let n = 0;
  const placed = (raw: RawItem): ReadItem => {
    n += 1;
    const { sessionKey: named, agentId: ofItem, customId, body } = readItem(raw, format);
    const agentId = named === null ? (ofItem ?? batch.agentId) : agentIdOf(named);
    const refuse = (path: string, message: string, more: { isUnknownAgent?: true } = {}): never => {
      throw new RefusedItem({ path: `${raw.place}: ${path}`, message, ...more });
    };
    const path = named === null || ofItem !== null ? 'agentId' : 'sessionKey';
    if (ofItem !== null && ofItem !== agentId)
      refuse(path, `the session belongs to the agent ${agentId}; leave agentId out or send the same`);
    if (!isAgent(config, agentId) || !reachesAgent(batch.scope, agentId))
      refuse(path, `there is no agent ${agentId} in the configuration`, { isUnknownAgent: true });
    const unserved = body.model === undefined ? null : modelFault(config, agentId, body.model);
    if (unserved !== null) refuse('model', unserved);
    const policy = toolPolicyFault(config, readOptions(body).tools);
    if (policy !== null) refuse(policy.path, policy.message);
    if (customId !== null) noteCustomId(customIds, customId, raw.place);
    const sessionKey = named ?? itemSessionKey(batch.id, agentId, n);
    const afterN = named === null ? null : (lastOf.get(named) ?? null);
    if (named !== null) lastOf.set(named, n);
    return { n, customId, sessionKey, isOwnSession: named === null, afterN, body };
  };
  for await (const raw of items) {
    const read = readOrRefuse(raw, placed);
    if ('n' in read && !read.isOwnSession && read.afterN === null) {
      if (!(await isSessionSeen(read.sessionKey, batch.scope, views))) throw notFound(`session ${read.sessionKey}`);
    }
    if ('n' in read) refuseAuthority(batch.scope, read.body, `${raw.place}${raw.separator}`);
    yield read;
  }
}

/** Throws for a custom id that another item has. */
function noteCustomId(places: Map<string, string>, customId: string, place: string): void {
  const first = places.get(customId);
  if (first === undefined) return void places.set(customId, place);
  const message = `${JSON.stringify(customId)} is used at ${first} and at ${place}; each customId may be used once`;
  throw new RefusedItem(...[first, place].map((at) => ({ path: `${at}: customId`, message })));
}

function readOrRefuse(raw: RawItem, read: (raw: RawItem) => ReadItem): ReadItem | readonly ItemFault[] {
  const { place, separator } = raw;
  const at = (path: string): string => (path === '' ? place : `${place}${separator}${path}`);
  try {
    return read(raw);
  } catch (error) {
    if (error instanceof RefusedItem) return error.faults;
    if (error instanceof InvalidSessionKeyError) return [{ path: at('sessionKey'), message: error.message }];
    if (!(error instanceof Problem)) throw error;
    const message = error.message.replace('The body', 'the line');
    return (error.errors ?? [{ path: '', message }]).map((one) => ({ ...one, path: at(one.path) }));
  }
}

/** Reads an item by itself. Its key is canonical; null: a session of its own. */
function readItem(
  { read }: RawItem,
  expected?: LineFormat,
): { customId: string | null; sessionKey: SessionKey | null; agentId: string | null; body: InboundMessage } {
  const value = read();
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isKeptInteger(value))
    throw fieldProblem('', 'expected an object such as {"text": "…"}');
  const format = detectFormat(value);
  if (expected !== undefined && format !== expected)
    throw fieldProblem('', `expected a line in the format ${expected}, got one in the format ${format}`);
  const { item, system, caller } = parse(schemaOfLine(format), value);
  const { customId = null, sessionKey, agentId = null, ...message } = nestOptions(parse(batchItem, item));
  // A key without an agent belongs to the agent that the item names.
  const isWhole = agentId === null || sessionKey?.toLowerCase().startsWith('agent:') === true;
  return {
    customId,
    sessionKey:
      sessionKey === undefined ? null : canonicalSessionKey(isWhole ? sessionKey : `agent:${agentId}:${sessionKey}`),
    agentId,
    body: { ...message, ...given({ extraSystemPrompt: system ?? undefined, caller: caller ?? undefined }) },
  };
}

function parse<Value>(schema: z.ZodType<Value>, value: unknown): Value {
  const checked = checkFields(schema, value);
  if (checked.isValid) return checked.data;
  throw new Problem('invalid_items', 'The item is not valid.', { errors: checked.errors });
}
