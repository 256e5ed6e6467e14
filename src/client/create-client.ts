// The typed client of the API, `holdfast/client`: one function for each operation, iterators over lists and events, one error. It has no
// dependencies and runs in Node and in browsers.
import type { CallOptions, ClientOptions } from './call-options.ts';
import { eachItem } from './each-item.ts';
import { eachResult } from './each-result.ts';
import { followEvents, type ClientEvent, type EventHooks } from './follow-events.ts';
import type { ListItems, OperationFunctions, Schemas, StreamInputs } from './operations.ts';
import { OPERATIONS, STREAMS } from './generated/places.ts';
import { callOf } from './request-place.ts';
import { createTransport } from './transport.ts';

// What a user of the package names; the package has this one entry.
export { HoldfastError } from './holdfast-error.ts';
export type { CallOptions, ClientOptions, LineBody } from './call-options.ts';
export type { ClientEvent, EventHooks, EventReset, StreamBreak } from './follow-events.ts';
export { linesOf } from './lines.ts';
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
  /** Each result of a batch in the order of its items, after an item if one is named; `all`: also of items that have not ended. */
  eachResult(
    input: { id: string; afterItem?: number | undefined; all?: boolean | undefined },
    options?: CallOptions,
  ): AsyncGenerator<Schemas['BatchResult'], void, undefined>;
  /** Events from now on, or after an id; of one session, or of some types. Reconnects by itself; see `EventHooks`. */
  events(input?: EventChoice & EventHooks): AsyncGenerator<ClientEvent, void, undefined>;
  /** The events of one turn from its start, until it has ended. Reconnects by itself; see `EventHooks`. */
  turnEvents(input: StreamInputs['streamTurnEvents'] & EventHooks): AsyncGenerator<ClientEvent, void, undefined>;
}

/** A client of the service at a URL. */
export function createClient(client: ClientOptions): HoldfastClient {
  const transport = createTransport(client);
  // The emitted types and the emitted places are of the same operations.
  const functions = Object.fromEntries(
    Object.entries(OPERATIONS).map(([id, place]) => [
      id,
      (input: object = {}, options: CallOptions = {}) => transport.call(callOf(place, input), options),
    ]),
  ) as unknown as OperationFunctions;

  function follow(place: string, lastType: string | null, input: { after?: string | undefined } & EventHooks) {
    const { after, signal, onOpen, onId, onBreak, ...fields } = input;
    const { path } = callOf(place, fields);
    return followEvents(transport, { path, after, lastType }, { signal, onOpen, onId, onBreak });
  }

  return {
    ...functions,
    each(list, input, options) {
      // Each list takes its query with a cursor and answers a page; which list it is does not matter here.
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
