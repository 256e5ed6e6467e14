// Goal: the sessions that an earlier version made for a user or a conversation continue, but none
// in which two API keys have spoken. Method: the layout of that version with its rows, then a whole
// service of this version on it, which migrates it at its start.
import { hash, randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import OpenAI from 'openai';
import pg from 'pg';
import { expect, test } from 'vitest';
import { layOut } from '../../../src/database/migrate.ts';
import { addInputs } from '../../rows/inputs.ts';
import { addSessions } from '../../rows/sessions.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { openServiceRig } from '../../service/rig/service-rig.ts';

const OLD = readdirSync(new URL('../../../migrations/', import.meta.url)).filter((name) => name < '0053');
const NAMES = ['Shop-A', 'shop-a'];
const keyOf = (name: string): string => `hf_key_of_the_shop_${Buffer.from(name).toString('hex')}`;
const oldKey = (name: string, text: string): string =>
  `agent:main:openai:${name}:${hash('sha256', text, 'hex').slice(0, 32)}`;

/**
 * Sessions as the earlier version has left them: each with the senders of its messages, of which
 * the first may be deleted since.
 */
const SESSIONS = [
  { key: oldKey('shop-a', 'ann'), sentBy: ['Shop-A', 'Shop-A'], deleted: 0 },
  { key: oldKey('shop-a', 'mixed'), sentBy: ['Shop-A', 'shop-a'], deleted: 0 },
  { key: oldKey('shop-a', 'unknown'), sentBy: ['shop-a', 'Shop-A'], deleted: 1 },
  { key: oldKey('conversation', 'weekly'), sentBy: ['shop-a'], deleted: 0 },
];

async function layOutEarlier(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('drop schema if exists holdfast cascade');
    await layOut(client, { upTo: OLD });
    for (const { key, sentBy, deleted } of SESSIONS) {
      const id = randomUUID();
      await addSessions(client, { id, key, kind: 'other', inboxSeq: sentBy.length });
      for (const [at, name] of sentBy.entries()) {
        if (at < deleted) continue;
        await addInputs(client, {
          sessionId: id,
          seq: at + 1,
          status: 'answered',
          body: { text: 'x', caller: {}, sentBy: name },
          route: '[]',
        });
      }
    }
  } finally {
    await client.end();
  }
}

test('a session of an earlier version continues for the one API key that has used it, and for no other (G32)', async ({
  onTestFinished,
}) => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  await layOutEarlier(database.url);
  const config = { openai: { user: 'session' }, api: { keys: NAMES.map((name) => ({ name, key: keyOf(name) })) } };
  const rig = await openServiceRig({ queue: 'postgres', databaseUrl: database.url, config });
  onTestFinished(() => rig.close());
  const { url } = await rig.start('api,worker,scheduler');
  const clientOf = (name: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: keyOf(name), maxRetries: 0 });
  const ofUser = async (name: string, user: string) => {
    const messages = [{ role: 'user' as const, content: 'Hi [[reply: Hello.]]' }];
    const { response } = await clientOf(name)
      .chat.completions.create({ model: 'holdfast', messages, user })
      .withResponse();
    return response.headers.get('x-holdfast-session-key');
  };
  const ofConversation = async (name: string, conversation: string) => {
    const body = { model: 'holdfast', input: 'Hi [[reply: Hello.]]', conversation };
    const { response } = await clientOf(name).responses.create(body).withResponse();
    return response.headers.get('x-holdfast-session-key');
  };

  expect(await ofUser('Shop-A', 'ann')).toBe(oldKey('shop-a', 'ann'));
  expect(await ofUser('shop-a', 'ann')).not.toBe(oldKey('shop-a', 'ann'));
  const others = [];
  for (const user of ['mixed', 'unknown']) for (const name of NAMES) others.push(await ofUser(name, user));
  expect(new Set(others).size).toBe(4);
  expect(others).not.toContain(oldKey('shop-a', 'mixed'));
  expect(others).not.toContain(oldKey('shop-a', 'unknown'));
  expect(await ofConversation('shop-a', 'weekly')).toBe(oldKey('conversation', 'weekly'));
  expect(await ofConversation('Shop-A', 'weekly')).not.toBe(oldKey('conversation', 'weekly'));
});
