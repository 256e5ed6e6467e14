// Goal: a key with a scope sees its part and nothing else; what is outside answers as what never
// was (G44). Method: a key for some sessions beside the first key, on the same service.
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { expectSame, makeScopedKey } from './scoped-key.ts';
import { useApiRig } from './use-api-rig.ts';

const holder = useApiRig();

const makeKey = (scope: object, role?: string) => makeScopedKey(holder.rig, scope, role);

describe('a key for some sessions', () => {
  test('sends to a session inside, and reads it', async () => {
    const key = await makeKey({ sessions: ['agent:main:shop:*'] });
    const sent = await key.post('/v1/sessions/shop:1/messages', { text: 'hello' });
    expect(sent.status).toBe(202);
    expect((await key.get('/v1/sessions/shop:1')).body.key).toBe('agent:main:shop:1');
    expect((await key.get(`/v1/messages/${sent.body.message.id}`)).status).toBe(200);
  });

  test('gets the same answer for things outside and for things that do not exist (G44)', async () => {
    const key = await makeKey({ sessions: ['agent:main:shop:*'] });
    const sent = await holder.rig.post('/v1/sessions/office:1/messages', { text: 'a secret' });
    for (const [path, foreign, unknown] of [
      ['/v1/sessions/{}', 'agent:main:office:1', 'agent:main:office:2'],
      ['/v1/sessions/{}/transcript', 'agent:main:office:1', 'agent:main:office:2'],
      ['/v1/messages/{}', sent.body.message.id, newId<string>()],
    ] as const) {
      const ask = (name: string) => key.get(path.replace('{}', name));
      expectSame([await ask(foreign), foreign], [await ask(unknown), unknown]);
    }
    // Before the body is checked.
    expect((await key.post('/v1/sessions/office:1/messages', { nothing: true })).status).toBe(404);
  });

  test('asks nothing of the whole service', async () => {
    const key = await makeKey({ sessions: ['agent:main:shop:*'] }, 'admin');
    for (const path of ['/v1/keys', '/v1/crons', '/v1/budgets', '/v1/audit', '/v1/config', '/v1/workers']) {
      expect((await key.get(path)).body).toMatchObject({ status: 403, code: 'forbidden' });
    }
  });
});

test.each([
  [{ agents: [] }, 'agents'],
  [{ sessions: [] }, 'sessions'],
  [{ agents: ['nobody'] }, 'agents[0]'],
  [{ sessions: ['agent:main:shop:1'] }, 'sessions[0]'],
  [{ sessions: ['agent:*'] }, 'sessions[0]'],
  [{ sessions: ['agent:other:*'] }, 'sessions[0]'],
])('a scope that can have nothing is refused: %j', async (scope, path) => {
  const made = await holder.rig.post('/v1/keys', { name: 'nothing', role: 'viewer', ...scope });
  expect(made).toMatchObject({ status: 400, body: { code: 'invalid_body', errors: [{ path }] } });
});
