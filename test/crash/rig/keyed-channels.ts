// Decisions about people who ask to write in direct chats.
import { randomUUID } from 'node:crypto';
import { addPairings } from '../../rows/pairings.ts';
import { ahead } from '../../rows/table.ts';
import { count, sessionIdOf, type KeyedScenario } from './keyed-ground.ts';

/** A decision about a request; that it notifies the person is seen in the outbox, that it does not in the row. */
function decision(verb: string, status: string): KeyedScenario {
  return {
    name: `a decision to ${verb} a pairing`,
    route: `/v1/pairings/{id}/${verb}`,
    async prepare(ground, session) {
      const id = randomUUID();
      const person = { channel: 'telegram', account: session, senderId: '42', chatId: '42' };
      const row = { sessionId: await sessionIdOf(ground, session), code: session, status: 'open', slot: 1 };
      await addPairings(ground, { id, ...person, ...row, expiresAt: ahead('1 hour') });
      const decided = `holdfast.pairings where id = $1 and status = '${status}'`;
      const notified = `holdfast.deliveries where target ->> 'url' = $1`;
      return {
        path: `/v1/pairings/${id}/${verb}`,
        body: {},
        status: 200,
        effects: () =>
          verb === 'deny' ? count(ground, decided, [id]) : count(ground, notified, [`channel:telegram/${session}/42`]),
      };
    },
  };
}

export const KEYED_CHANNELS: KeyedScenario[] = [decision('approve', 'approved'), decision('deny', 'denied')];
