// The typed client of the API, `holdfast/client`: one function for each operation, iterators over
// lists and events, one error. It has no dependencies and runs in Node and in browsers.
import type { CallOptions, ClientOptions } from './call-options.ts';
import { followEvents, type ClientEvent, type EventHooks } from './follow-events.ts';
import { OPERATIONS, STREAMS } from './generated/places.ts';
import { brokenStream } from './holdfast-error.ts';
import { readLines } from './event-parser.ts';
import type { ListItems, OperationFunctions, Schemas, StreamInputs } from './operations.ts';
import { pause, reconnectDelayMs } from './retry.ts';
import { createTransport, type AnswerForm, type ApiCall } from './transport.ts';

// What a user of the package names; the package has this one entry.
export { HoldfastError } from './holdfast-error.ts';
export type { CallOptions, ClientOptions, LineBody } from './call-options.ts';
export type { ClientEvent, EventHooks, EventReset, StreamBreak } from './follow-events.ts';
export { linesOf } from './event-parser.ts';
export type { OperationFunctions, Schemas } from './operations.ts';

/** Which events: after which, of which session, of which types. */
export type EventChoice = StreamInputs['streamEvents'];

export interface HoldfastClient extends OperationFunctions {
  /** Each item of a list, page by page, as far as the caller reads. */
  each<List extends keyof ListItems>(
    list: List,
    input?: Parameters<OperationFunctions[List]>[0],
    options?: CallOptions,
  ): AsyncGenerator<ListItems[List], void, undefined>;
  /**
   * Each result of a batch in the order of its items, after an item if one is named; `all`: also of
   * items that have not ended.
   */
  eachResult(
    input: { id: string; afterItem?: number | undefined; all?: boolean | undefined },
    options?: CallOptions,
  ): AsyncGenerator<Schemas['BatchResult'], void, undefined>;
  /**
   * Events from now on, or after an id; of one session, or of some types. Reconnects by itself; see
   * `EventHooks`.
   */
  events(input?: EventChoice & EventHooks): AsyncGenerator<ClientEvent, void, undefined>;
  /**
   * The events of one turn from its start, until it has ended. Reconnects by itself; see
   * `EventHooks`.
   */
  turnEvents(input: StreamInputs['streamTurnEvents'] & EventHooks): AsyncGenerator<ClientEvent, void, undefined>;
}

/** A client of the service at a URL. */
export function createClient(client: ClientOptions): HoldfastClient {
  const transport = createTransport(client);
  // The emitted types and the emitted places are of the same operations.
  const functions = Object.fromEntries(
    Object.entries(OPERATIONS).map(([id, place]) => [
      id,
      (input: object = {}, options: CallOptions = {}) => transport.call(buildCall(place, input), options),
    ]),
  ) as unknown as OperationFunctions;

  function follow(place: string, lastType: string | null, input: { after?: string | undefined } & EventHooks) {
    const { after, signal, onOpen, onId, onBreak, ...fields } = input;
    const { path } = buildCall(place, fields);
    return followEvents(transport, { path, after, lastType }, { signal, onOpen, onId, onBreak });
  }

  return {
    ...functions,
    each(list, input, options) {
      // Each list takes its query with a cursor and answers a page; which list it is does not
      // matter here.
      const read = functions[list] as unknown as Parameters<typeof eachItem>[0];
      return eachItem(read, { ...input }, options) as AsyncGenerator<ListItems[typeof list], void, undefined>;
    },
    eachResult({ id, afterItem = 0, all }, options) {
      const open = (after: number) => functions.getBatchResults({ id, after: String(after), all }, options);
      return eachResult(open, afterItem, options?.signal);
    },
    events: (input = {}) => follow(STREAMS.streamEvents, null, input),
    turnEvents: (input) => follow(STREAMS.streamTurnEvents, 'turn.ended', input),
  };
}

interface Page {
  items: unknown[];
  nextCursor: string | null;
}

type ReadPage = (input: { cursor?: string | undefined }, options?: CallOptions) => Promise<Page>;

/**
 * Each item; a page is read when the one before is used up. Throws when the service names a page as
 * its own next one.
 */
async function* eachItem(
  read: ReadPage,
  input: { cursor?: string | undefined },
  options: CallOptions = {},
): AsyncGenerator<unknown, void, undefined> {
  let { cursor } = input;
  for (;;) {
    const { items, nextCursor } = await read({ ...input, cursor }, options);
    yield* items;
    if (nextCursor === null) return;
    if (nextCursor === cursor)
      throw new Error(`the list does not end: the page ${cursor} names itself as the next one`);
    cursor = nextCursor;
  }
}

/** Breaks in a row without a result between them. */
const BREAKS_MAX = 3;

/** Opens the results of the items with larger numbers. */
type OpenResults = (afterItem: number) => Promise<ReadableStream<Uint8Array>>;

/**
 * Each result after an item, in the order of the items, also when the connection breaks: reading
 * continues after the last one. Throws `HoldfastError`, or the reason of the signal.
 */
async function* eachResult(
  open: OpenResults,
  afterItem: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Schemas['BatchResult'], void, undefined> {
  let last = afterItem;
  for (let breaks = 0; ;) {
    const stream = await open(last);
    try {
      for await (const line of readLines(stream)) {
        // The service writes each line by the schema that the type was made of.
        const result = JSON.parse(line) as Schemas['BatchResult'];
        last = result.n;
        breaks = 0;
        yield result;
      }
      return;
    } catch (error) {
      signal?.throwIfAborted();
      breaks += 1;
      if (breaks > BREAKS_MAX) throw brokenStream('The stream of results', error);
    }
    await pause(reconnectDelayMs(breaks, Math.random()), signal);
  }
}

/**
 * Fields that the path names go there, `body` is the body, all others are the query. Throws
 * `TypeError` when a name of the path is missing.
 */
function buildCall(place: string, input: object): ApiCall {
  const [method = '', template = '', answer = 'json'] = place.split(' ');
  const { body, ...fields } = input as Record<string, unknown>;
  const path = template.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = fields[name];
    delete fields[name];
    const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    // A URL has no such parts: they would be another path.
    if (['', '.', '..'].includes(text)) {
      throw new TypeError(`${place}: ${name} is ${JSON.stringify(value)}; pass an id, a key, a name or a number`);
    }
    return encodeURIComponent(text);
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    if (Array.isArray(value)) query.set(name, value.join(','));
    else if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') {
      query.set(name, String(value));
    } else throw new TypeError(`${place}: ${name} is ${typeof value}; pass a string, a number, a boolean or a list`);
  }
  const search = query.toString();
  return {
    method,
    path: search === '' ? path : `${path}?${search}`,
    // The emitted places name no other form.
    answer: answer as AnswerForm,
    ...(body === undefined ? {} : { body }),
  };
}
