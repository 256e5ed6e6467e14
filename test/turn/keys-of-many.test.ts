// Goal: a key that its provider holds back is left alone by all workers at once, and tested by one
// call alone. Method: eight workers that know only what the database says, three keys of which one
// answers 429 with 2 s, and sessions that all prefer that key and ask at once when its time is
// over.
import { hash } from 'node:crypto';
import { expect, test } from 'vitest';
import { orderKeys } from '../../src/kernel/rules/provider-keys.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { createTurnRig } from './turn-rig.ts';

const WORKERS = 8;
const KEYS = ['a', 'b', 'c'];
const WAIT_MS = 2_000;
const ANSWER_MS = 300;

test('a key that answers 429 gets no call of any worker for the time, then one; another model is asked with it meanwhile', async () => {
  const database = await withTestDatabase();
  const scripted = await startScriptedModel({ host: '127.0.0.1', port: 0 });
  const keys = KEYS.map((name) => ({
    name,
    key: `${name}.1[[error: 429 retry-after=2 model=busy ${name === 'a' ? '' : 'times=0'}]]`,
  }));
  const pool = { api: 'openai-compatible', baseUrl: `${scripted.url}/v1`, keys };
  const over = Promise.withResolvers<void>();
  let held = 0;
  const hold: Tool = {
    spec: { name: 'hold', description: 'Waits.', input_schema: { type: 'object' } },
    summary: 'waits',
    isIdempotent: true,
    async run() {
      held += 1;
      await over.promise;
      return { content: 'done', isError: false };
    },
  };
  const rig = await createTurnRig(database.url, { tools: [hold], settings: { models: { providers: { pool } } } });
  const workers = Array.from({ length: WORKERS }, () => rig.worker());

  /** A session that prefers the key that is held back. */
  const sessionOf = async (prefix: string): Promise<string> => {
    for (let at = 0; ; at += 1) {
      const [first] = orderKeys(await rig.sessionOf(`${prefix}-${at}`), keys, (text) => hash('sha256', text, 'hex'));
      if (first?.name === 'a') return `${prefix}-${at}`;
    }
  };
  const ask = async (worker: (typeof workers)[number], session: string, model: string, first = ''): Promise<void> => {
    await rig.send(session, `${first} [[delay: ${ANSWER_MS}]] [[reply: here]]`, { model });
    expect((await worker.run(session)).kind).toBe('ended');
  };
  const [refused] = workers;
  await ask(refused!, await sessionOf('refused'), 'pool/busy');
  const idOfA = scripted.requests[0]!.keyId;
  const callsOf = (model: string) =>
    scripted.requests
      .filter(({ keyId, body }) => keyId === idOfA && (body as { model: string }).model === model)
      .map(({ receivedAt, status }) => ({ at: Date.parse(receivedAt), status }));
  expect(callsOf('busy')).toMatchObject([{ status: 429 }]);

  // Each of the others has a turn between two calls when the time is over, so that all of them want
  // the key at once.
  const turns = workers.map(async (worker, index) => {
    await ask(worker, await sessionOf(`other-${index}`), 'pool/other');
    await ask(worker, await sessionOf(`asks-${index}`), 'pool/busy', `[[delay: ${ANSWER_MS}]] [[tool: hold {}]]`);
  });
  await expect.poll(() => held, { timeout: 60_000 }).toBe(WORKERS);
  const heldMs = () =>
    workers.map(({ context }) => context.models.states.known.heldMs({ provider: 'pool', model: 'busy', key: 'a' }));
  await expect.poll(() => Math.max(...heldMs()), { timeout: 60_000, interval: 5 }).toBe(0);
  over.resolve();
  await Promise.all(turns);
  const [limited, probe, ...later] = callsOf('busy');
  expect(probe!.at - limited!.at).toBeGreaterThanOrEqual(WAIT_MS);
  // A worker that comes late finds the key accepted again.
  for (const { at } of later) expect(at - probe!.at).toBeGreaterThanOrEqual(ANSWER_MS);
  expect([probe, ...later].map(({ status }: { status: number | null } = { status: null }) => status)).not.toContain(
    429,
  );
  expect(callsOf('other')).toHaveLength(WORKERS);
  workers.forEach((worker) => worker.stop());
  await rig.close();
  await scripted.close();
  await database.drop();
});
