// What was put into the inboxes of sessions: messages, announcements, items of batches, ticks of schedules.
import { newId } from '../../src/ids.ts';
import { table, type Store } from './table.ts';
import { readTurns } from './turns.ts';

export const {
  read: readInputs,
  count: countInputs,
  change: changeInputs,
} = table(
  'inbox',
  'session_id, seq',
  {
    id: 'text',
    sessionId: 'text',
    seq: 'int',
    kind: 'text',
    status: 'text',
    body: 'json',
    route: 'text',
    mode: 'text?',
    turnId: 'text?',
    error: 'json?',
    answer: 'json?',
    platformKey: 'text?',
    causeKey: 'text?',
    receivedAt: 'time',
    settledAt: 'time?',
    disposition: 'text',
    reply: 'text?',
    deliverAt: 'time?',
    traceparent: 'text?',
    tags: 'json?',
    text: 'text?',
    code: 'text?',
    options: 'json',
    announcement: 'json',
  },
  {
    ordinary: () => ({ id: newId<string>(), kind: 'message', body: { text: 'hello' }, route: '' }),
    computed: {
      text: "body ->> 'text'",
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
