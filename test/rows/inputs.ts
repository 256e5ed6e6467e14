// What was put into the inboxes of sessions: messages, announcements, items of batches, ticks of
// schedules.
import { newId } from '../../src/ids.ts';
import { table, type Store } from './table.ts';
import { readTurns } from './turns.ts';

export const {
  read: readInputs,
  count: countInputs,
  change: changeInputs,
  add: addInputs,
  remove: removeInputs,
} = table(
  'inbox',
  'session_id, seq',
  {
    text: 'bodyText id sessionId kind status route disposition',
    int: 'seq',
    json: 'body options announcement',
    'text?': 'mode turnId platformKey causeKey reply traceparent text code',
    'json?': 'error answer tags',
    time: 'receivedAt',
    'time?': 'settledAt deliverAt',
  },
  {
    ordinary: () => ({ id: newId<string>(), kind: 'message', body: { text: 'hello' }, route: '' }),
    computed: {
      text: "body ->> 'text'",
      bodyText: 'body::text',
      code: "error ->> 'code'",
      options: "body -> 'options'",
      announcement: "body -> 'announcement'",
    },
  },
);

type Where = Parameters<typeof readInputs>[1];

/** Inputs, each with the turn that took it. */
export async function readInputsWithTurns(store: Store, where: Where) {
  const inputs = await readInputs(store, where);
  const turns = await readTurns(store, { id: inputs.flatMap(({ turnId }) => turnId ?? []) });
  return inputs.map((input) => ({ ...input, turn: turns.find(({ id }) => id === input.turnId) ?? null }));
}
