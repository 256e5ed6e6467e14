// How often browser sessions are read. Their permissions are tested in sign-in.test.ts.
import { hash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { KeyRing, type WebSession } from '../../src/api/key-ring.ts';
import { newId } from '../../src/ids.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');

test('the sign-ins of all open pages are read together, and each is still compared with its own secret', async () => {
  const secrets = Array.from({ length: 20 }, () => ({
    id: newId<string>(),
    secret: randomBytes(32).toString('base64url'),
  }));
  const sessions = secrets.map(({ id, secret }): WebSession => ({
    id,
    secretSha256: sha256(secret),
    keySha256: sha256('key'),
    expiresAt: new Date(Date.now() + 60_000).toISOString(),
  }));
  const reads: (readonly string[])[] = [];
  const ring = new KeyRing({
    fixed: [{ name: 'admin', role: 'admin', key: 'key' }],
    stored: {
      readKeys: () => Promise.resolve([]),
      readSessions(ids) {
        reads.push(ids);
        return Promise.resolve(sessions.filter(({ id }) => ids.includes(id)));
      },
      onUse: () => undefined,
      prefix: 'hf_',
    },
  });
  const findAll = () => Promise.all(secrets.map(({ id, secret }) => ring.findSession(`${id}.${secret}`)));
  await findAll();

  reads.length = 0;
  ring.forget();
  expect((await findAll()).map((found) => found?.sessionId)).toEqual(secrets.map(({ id }) => id));
  expect(reads.map((ids) => ids.length)).toEqual([20]);
  expect(await ring.findSession(`${secrets[0]?.id}.${secrets[1]?.secret}`)).toBeNull();
});
