// The log of events.
import { EVENT_XID_SQL } from '../../src/database/event-ids.ts';
import { Expression, table } from './table.ts';

/** An id as the database gives it to an event of the transaction that writes it. */
export const idInTransaction = (n: number): Expression => new Expression(() => `(${EVENT_XID_SQL} << 16) + ${n}`);

export const {
  read: readEvents,
  count: countEvents,
  change: changeEvents,
  add: addEvents,
  remove: removeEvents,
} = table(
  'events',
  'id',
  { int: 'id', 'text?': 'sessionId turnId text code model', text: 'type', json: 'data', time: 'createdAt' },
  { computed: { text: "data ->> 'text'", code: "data ->> 'code'", model: "data ->> 'model'" } },
);
