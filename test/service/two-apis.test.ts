// Goal: an Idempotency-Key stands for one message, whichever process receives it, however often and
// however concurrently (G2). Method: every key is sent to two api processes several times
// concurrently, some of them while workers answer.
import { describe, expect, test } from 'vitest';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { like } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceAnswer, ServiceApi } from './rig/service-api.ts';
import { openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';

const keys = 30;
const timesEach = 3;

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let apis: ServiceApi[];

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue });
    onEnd(() => opened.close());
    rig = opened;
    const processes = await Promise.all([rig.start('api,worker'), rig.start('api,worker')]);
    apis = processes.map((process) => rig.apiOf(process));
  });

  /** Posts to each process several times, all concurrently. */
  function postEverywhere(session: string, body: object, key: string): Promise<ServiceAnswer[]> {
    return Promise.all(
      Array.from({ length: timesEach }, () => apis)
        .flat()
        .map((api) => api.ask('POST', `/v1/sessions/${session}/messages`, body, { 'idempotency-key': key })),
    );
  }

  async function inputsOf(session: string): Promise<{ id: string; status: string }[]> {
    return readInputs(rig, { sessionKey: like(`agent:main:${session}`) }, 'id', 'status');
  }

  test('a key that reaches two processes simultaneously is one message, answered once (G2)', async () => {
    const numbers = Array.from({ length: keys }, (_, index) => index + 1);
    const groups = await Promise.all(
      numbers.map((n) => {
        const body = { text: `m${n} [[reply: Got m${n}.]]`, mode: 'followup' };
        return postEverywhere(`same-${n % 5}`, body, `key-${n}`);
      }),
    );
    for (const answers of groups) {
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
      expect(new Set(answers.map(({ body }) => body.message.id)).size).toBe(1);
      expect(new Set(answers.map(({ body }) => body.message.seq)).size).toBe(1);
      const replayed = answers.filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
      expect(replayed).toHaveLength(answers.length - 1);
    }
    const ids = groups.map(([first]) => first?.body.message.id as string);
    const settled = await Promise.all(ids.map((id, index) => apis[index % 2]!.settled({ id })));
    expect(settled.map(({ status, reply }) => `${status}: ${reply}`)).toEqual(
      numbers.map((n) => `answered: Got m${n}.`),
    );
    expect((await inputsOf('same-%')).map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
    expect(await countTurns(rig)).toBe(keys);
  });

  test('a key that arrives with two bodies simultaneously is one message, and 422 for the other (G2)', async () => {
    const answers = (
      await Promise.all([
        postEverywhere('differs', { text: 'left [[reply: Yes.]]' }, 'twice'),
        postEverywhere('differs', { text: 'right [[reply: Yes.]]' }, 'twice'),
      ])
    ).flat();
    const accepted = answers.filter(({ status }) => status === 202);
    const refused = answers.filter(({ status }) => status === 422);
    expect(accepted).toHaveLength(timesEach * 2);
    expect(refused.map(({ body }) => body.code)).toEqual(refused.map(() => 'idempotency_mismatch'));
    expect(accepted.length + refused.length).toBe(answers.length);
    expect(await inputsOf('differs')).toHaveLength(1);
  });

  test('a platform message id that reaches two processes simultaneously is one message (G2)', async () => {
    const body = { text: '[[reply: Yes.]]', channel: 'telegram', chatId: '42', messageId: '7' };
    const answers = await Promise.all(
      Array.from({ length: timesEach }, () => apis)
        .flat()
        .map((api) => api.ask('POST', '/v1/sessions/telegram:direct:42/messages', body)),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
    expect(new Set(answers.map((answer) => answer.body.message.id)).size).toBe(1);
    const dispositions = answers.map((answer) => String(answer.body.disposition)).toSorted();
    expect(dispositions).toEqual([...answers.slice(1).map(() => 'duplicate'), 'queued']);
  });

  test('a new session that two processes create simultaneously is one session', async () => {
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, index) => apis[index % 2]!.send('brand-new', { text: `[[reply: ${index}]]` })),
    );
    expect(new Set(sent.map(({ id }) => id)).size).toBe(20);
    const sessions = await readSessions(rig, { key: 'agent:main:brand-new' }, 'id');
    expect(sessions).toHaveLength(1);
    expect(await inputsOf('brand-new')).toHaveLength(20);
  });
});
