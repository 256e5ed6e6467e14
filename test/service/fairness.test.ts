// Goal: one session with thousands of messages neither starves others nor grows without bound
// (G27). Method: fill a session up to its bound while no worker runs, send another session's
// message after it, then start one worker that runs one turn at a time, and count the turns that
// begin before the other session's turn.
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs, readInputsWithTurns } from '../rows/inputs.ts';
import { countIdempotencyKeys } from '../rows/keys.ts';
import { not } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { Message, ServiceAnswer, ServiceApi } from './rig/service-api.ts';
import { openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';

const waitingMax = 2_000;
const sendersAtOnce = 50;
/** How many turns of the crowded session may begin before another session's turn. */
const fewTurns = 4;
const soonMs = 150_000;

interface Crowded {
  waiting: number;
  refused: ServiceAnswer;
  waitingAfterwards: number;
  keys: number | undefined;
  /** The message of the other session, which arrived after the crowd. */
  early: Message;
}

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: ServiceApi;
  let crowding: Promise<Crowded> | undefined;
  let working: Promise<unknown> | undefined;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({
      queue,
      config: { limits: { waitingPerSession: waitingMax } },
      env: { HOLDFAST_CONCURRENCY: 'main=1' },
    });
    onEnd(() => opened.close());
    [rig, crowding, working] = [opened, undefined, undefined];
    api = rig.apiOf(await rig.start('api'));
  });

  async function countOf(session: string, status: string): Promise<number> {
    return countInputs(rig, { sessionKey: `agent:main:${session}`, status });
  }

  const crowd = (n: number): object => ({ text: `${n}. [[reply: One of many.]]`, mode: 'followup' });

  const sendOneMore = (): Promise<ServiceAnswer> =>
    api.ask('POST', '/v1/sessions/crowded/messages', crowd(waitingMax + 1), { 'idempotency-key': 'one-too-many' });

  /**
   * Fills the session `crowded`, sends one message too many, and sends a message to another
   * session.
   */
  async function makeCrowd(): Promise<Crowded> {
    let sent = 0;
    const sender = async (): Promise<void> => {
      while (sent < waitingMax) await api.send('crowded', crowd((sent += 1)));
    };
    await Promise.all(Array.from({ length: sendersAtOnce }, sender));
    const waiting = await countOf('crowded', 'waiting');
    const keysBefore = await countIdempotencyKeys(rig);
    const refused = await sendOneMore();
    const waitingAfterwards = await countOf('crowded', 'waiting');
    const keys = (await countIdempotencyKeys(rig)) - keysBefore;
    const early = await api.send('neighbour', { text: '[[reply: Me too.]]' });
    return { waiting, refused, waitingAfterwards, keys, early };
  }

  /** The crowded session, made by the first test that runs. */
  const crowded = (): Promise<Crowded> => (crowding ??= makeCrowd());
  const startWorker = (): Promise<unknown> => (working ??= rig.start('worker,scheduler'));

  test('a full inbox answers 429 with Retry-After, and stores nothing (G27)', async () => {
    const { waiting, refused, waitingAfterwards, keys, early } = await crowded();
    expect(waiting).toBe(waitingMax);
    expect(refused).toMatchObject({ status: 429, body: { status: 429, code: 'inbox_full' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect(waitingAfterwards).toBe(waitingMax);
    expect(keys).toBe(0);
    expect(early.status).toBe('waiting');
  });

  /** How many turns of the crowded session began between a message's arrival and its turn. */
  async function turnsBefore(message: Message): Promise<number> {
    const [input] = await readInputsWithTurns(rig, { id: message.id });
    if (!input?.turn) return Number.NaN;
    const { receivedAt, turn, sessionId } = input;
    const turns = await readTurns(rig, { sessionId: not(sessionId) }, 'startedAt');
    return turns.filter(({ startedAt }) => startedAt > receivedAt && startedAt < turn.startedAt).length;
  }

  test('other sessions wait for a few turns of a crowded session, not for all its messages (G27)', async () => {
    const { early } = await crowded();
    await startWorker();
    expect(await api.settled(early)).toMatchObject({ status: 'answered', reply: 'Me too.' });
    expect(await turnsBefore(early)).toBeLessThanOrEqual(fewTurns);
    for (const session of ['second', 'third', 'fourth']) {
      const answered = await countOf('crowded', 'answered');
      await waitUntil(
        'the crowded session continues',
        soonMs,
        async () => (await countOf('crowded', 'answered')) > answered + 3,
      );
      // How many turns begin before its own depends on how soon the API gets the processor to ring.
      const message = await api.settled(await api.send(session, { text: '[[reply: Here.]]' }));
      expect(message.status).toBe('answered');
    }
    expect(await countOf('crowded', 'waiting')).toBeGreaterThan(0);
  });

  test('when the crowded session has room again, a refused message is accepted with the same key (G27)', async () => {
    await crowded();
    await startWorker();
    await waitUntil('the crowd gets smaller', soonMs, async () => (await countOf('crowded', 'answered')) > 0);
    const accepted = await sendOneMore();
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get('idempotent-replayed')).toBeNull();
    const { body } = await api.ask('POST', '/v1/sessions/crowded/abort', {});
    expect(body.cancelled).toBeGreaterThan(0);
    expect((await api.settled(accepted.body.message)).status).toBe('cancelled');
    await waitUntil('the session is idle', soonMs, async () => {
      return (await api.ask('GET', '/v1/sessions/crowded')).body.status === 'idle';
    });
  });
});
