// Deliveries to the chats of a platform on loopback, and relays that send them.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../../../src/config.ts';
import { formatChannelUrl } from '../../../src/core/channel-address.ts';
import type { SessionId } from '../../../src/core/ids.ts';
import type { Database } from '../../../src/database/database.ts';
import { relayChats } from '../../../src/features/deliveries/chat-relay.ts';
import type { DeliveryOutcome, OutboxRelay } from '../../../src/features/deliveries/relay.ts';
import { newId } from '../../../src/ids.ts';
import { createPublish, createWake } from '../../../src/kernel/queue/rings.ts';
import { createLogger } from '../../../src/logger.ts';
import { changeChannelGates } from '../../rows/channel-gates.ts';
import { addDeliveries, changeDeliveries } from '../../rows/deliveries.ts';
import { ago, now } from '../../rows/table.ts';
import { createStoreRig } from '../../store/store-rig.ts';
import { startLoopbackPlatform } from './loopback-platform.ts';

export type SendingRig = Awaited<ReturnType<typeof createSendingRig>>;

type Said = {
  chatId: string;
  text?: string;
  type?: string;
  seq?: number;
  channel?: string;
  accountId?: string;
  threadId?: string;
} & Record<string, unknown>;

/**
 * A database that fails at the round trip of this number, before or after the statement takes
 * effect, and at all later ones: its process was killed.
 */
export function killedAt(
  database: Database,
  trip: number,
  when: 'before' | 'after',
): { database: Database; isKilled: () => boolean } {
  let trips = 0;
  const query = async (statement: { text: string }) => {
    trips += 1;
    if (trips > trip || (trips === trip && when === 'before')) throw new Error('The process was killed.');
    const answer = await database.hot.query(statement);
    if (trips === trip) throw new Error('The process was killed.');
    return answer;
  };
  return {
    database: Object.assign(Object.create(database), { hot: { query } }) as Database,
    isKilled: () => trips >= trip,
  };
}

/** `blind`: a channel that cannot say what it was sent; `asked`: one that can. */
export async function createSendingRig() {
  const rig = await createStoreRig();
  const platform = await startLoopbackPlatform();
  const adapter = join(import.meta.dirname, 'loopback-platform.ts');
  const channelOf = (token: string) => ({
    adapter,
    mode: 'webhook',
    accounts: { main: { token, baseUrl: platform.url }, other: { token, baseUrl: platform.url } },
  });
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-sending-'));
  const defaults = loadConfig({ env: { HOLDFAST_DATA_DIR: dataDir }, cwd: '/' });
  const platforms = { blind: channelOf('blind'), asked: channelOf('asked') };
  const config = { ...defaults, channels: { ...defaults.channels, platforms } } as unknown as Config;
  const outcomes: DeliveryOutcome[] = [];

  function relay(owner = 'relay', more: Partial<OutboxRelay> = {}): OutboxRelay {
    return {
      database: rig.database,
      config,
      owner,
      publish: createPublish({ wake: createWake(), doorbell: { ring: async () => undefined } }),
      random: () => 0,
      redact: (text) => text,
      logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
      onSettled: (outcome) => outcomes.push(outcome),
      ...more,
    };
  }
  const never = new AbortController().signal;
  const run = (sessionId: SessionId, by = relay()) => relayChats(by, sessionId, { signal: never, draining: never });

  const openGates = () => changeChannelGates(rig, {}, { nextAt: ago('1 minute') });

  return {
    ...rig,
    config,
    platform,
    outcomes,
    relay,
    run,
    openGates,
    /** Stores a delivery of a session; resolves with its id. */
    async say(sessionId: SessionId, said: Said): Promise<string> {
      const { chatId, threadId, channel = 'blind', accountId = 'main', seq = 1, type = 'reply', ...more } = said;
      const id = newId<string>();
      const url = formatChannelUrl({ channel, accountId, chatId, ...(threadId && { threadId }) });
      const payload = { type, text: '', ...more };
      await addDeliveries(rig, { id, sessionId, seq, channel, target: { url }, payload });
      return id;
    },
    /**
     * Sends what is due of a session without the pauses between messages of a chat, until nothing
     * is left.
     */
    async sendAll(sessionId: SessionId): Promise<void> {
      do await openGates();
      while ((await run(sessionId)) > 0);
    },
    /** Their lease is over, as after a crash of their relay. */
    async expireLeases(): Promise<void> {
      await changeDeliveries(rig, { status: 'sending' }, { leaseExpiresAt: now });
      await openGates();
    },
    async stop() {
      await platform.stop();
      await rm(dataDir, { recursive: true });
      await rig.drop();
    },
  };
}
