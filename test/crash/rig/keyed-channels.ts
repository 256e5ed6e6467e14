// Decisions about people who ask to write in direct chats, and pauses of accounts of channels.
import { randomUUID } from 'node:crypto';
import { addPairings } from '../../rows/pairings.ts';
import { ahead } from '../../rows/table.ts';
import { changeOnce, count, sessionIdOf, type KeyedScenario } from './keyed-ground.ts';

/**
 * A decision about a request; that it notifies the person is seen in the outbox, that it does not
 * in the row.
 */
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

/**
 * What the service of these scenarios has in its configuration. No process polls for a bot in the
 * mode `webhook`.
 */
export const KEYED_SETTINGS = {
  channels: {
    telegram: { adapter: 'telegram', mode: 'webhook', accounts: { pause: { token: '1:a' }, resume: { token: '2:b' } } },
  },
};

/** The account has the name of what is done with it. */
function pausing(verb: 'pause' | 'resume', isPaused: boolean): KeyedScenario {
  return {
    name: `${verb} of an account of a channel`,
    route: `/v1/channels/{name}/{account}/${verb}`,
    async prepare(ground) {
      const back = `insert into holdfast.channel_accounts (channel, account, is_paused) values ('telegram', $1, ${!isPaused})
        on conflict (channel, account) do update set is_paused = ${!isPaused}`;
      await ground.rows(back, [verb]);
      const isChanged = `holdfast.channel_accounts where account = $1 and is_paused = ${isPaused}`;
      return {
        path: `/v1/channels/telegram/${verb}/${verb}`,
        body: {},
        status: 200,
        ...changeOnce(ground, { back, isChanged, id: verb }),
      };
    },
  };
}

export const KEYED_CHANNELS: KeyedScenario[] = [
  decision('approve', 'approved'),
  decision('deny', 'denied'),
  pausing('pause', true),
  pausing('resume', false),
];
