// Goal: a call of a tool that another program runs has exactly one result, whenever its worker is
// lost: none is lost, none is used twice (G11). Method: real turns on a real database; the worker
// is lost before and after each of its statements, before or after the call is answered, expires or
// is cancelled.
import { expect, test } from 'vitest';
import { toolCallId } from '../../../src/core/tool-policy.ts';
import { storeExternalResult } from '../../../src/features/external-tools/store/results.ts';
import { viewExternalCall } from '../../../src/features/external-tools/views.ts';
import { abortSession } from '../../../src/kernel/effects/control.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import { changeToolCalls, readToolCalls } from '../../rows/calls.ts';
import { changeDoorbells } from '../../rows/doorbells.ts';
import { readEntries } from '../../rows/entries.ts';
import { countEvents } from '../../rows/events.ts';
import { ago, now } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { runAndLose } from '../../turn/lose-worker.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const external = [{ name: 'outside', description: 'Runs outside.', inputSchema: { type: 'object' } }];
  rig = await createTurnRig(database.url, { settings: { tools: { external } } });
  onEnd(() => rig.close());
});

const answer = (turnId: string, content: string) =>
  storeExternalResult(rig.database, { turnId, step: 1, ordinal: 1 }, { content, isError: false }, null);

const ENDS = {
  answer: async (_name: string, turnId: string) => {
    const answers = await Promise.all(['one', 'two'].map((content) => answer(turnId, `result ${content}`)));
    expect(answers.filter(({ isStored }) => isStored)).toHaveLength(1);
  },
  expire: async (name: string, turnId: string) => {
    await changeToolCalls(rig, { turnId }, { heldUntil: ago('1 second') });
    await changeDoorbells(rig, { sessionId: await rig.sessionOf(name) }, { dueAt: now });
    expect((await answer(turnId, 'late')).isStored).toBe(false);
  },
  cancel: async (name: string) => {
    await abortSession(rig, { sessionKey: `agent:main:${name}`, keepQueued: false });
  },
};

const SAYS = { answer: /"result (?:one|two)"/, expire: /no result has come in time/, cancel: /may or may not/ };

/**
 * Plays a turn whose call is asked for and ends; a worker is lost at one point before or after
 * that. Returns whether it was.
 */
async function play(
  end: keyof typeof ENDS,
  { isLate, at, isAfter }: { isLate: boolean; at: number; isAfter: boolean },
): Promise<boolean> {
  const name = `lost-${end}-${isLate}-${at}-${isAfter}`;
  const messageId = await rig.send(name, '[[tool: outside {"a": 1}]] [[reply: done]]');
  const worker = rig.worker();
  let isLost = false;
  if (!isLate) isLost = await runAndLose(rig, name, at, isAfter);
  for (let round = 0; round < 3; round += 1) await worker.run(name);
  const turnId = String((await viewMessage(rig.database.views, messageId))?.turnId);
  const id = toolCallId({ turnId, step: 1, ordinal: 1 });
  expect([name, (await viewExternalCall(rig.database.views, id))?.status]).toEqual([name, 'waiting']);
  await ENDS[end](name, turnId);
  if (isLate) isLost = await runAndLose(rig, name, at, isAfter);
  for (let round = 0; round < 3; round += 1) await worker.run(name);
  const message = await viewMessage(rig.database.views, messageId);
  expect([name, message?.status]).toEqual([name, end === 'cancel' ? 'cancelled' : 'answered']);
  const results = await readEntries(rig, { turnId, kind: 'results' }, 'content');
  expect(results).toHaveLength(1);
  expect([name, JSON.stringify(results)]).toEqual([name, expect.stringMatching(SAYS[end])]);
  expect(await countEvents(rig, { turnId, type: 'tool.requested' })).toBe(1);
  expect(await readToolCalls(rig, { turnId }, 'ordinal')).toHaveLength(1);
  worker.stop();
  return isLost;
}

test.each(Object.keys(ENDS) as (keyof typeof ENDS)[])(
  'a call that waits for its result is asked for once and has one, at whichever statement its worker is lost: %s (G11)',
  async (end) => {
    for (const isLate of [false, true]) {
      for (const isAfter of [false, true]) {
        let at = 1;
        while (await play(end, { isLate, at, isAfter })) at += isLongForm() ? 1 : 2;
        expect(at).toBeGreaterThan(1);
      }
    }
  },
);

test('a result that comes between the claim of a turn and the end of the time of its call counts', async () => {
  const name = 'between';
  const messageId = await rig.send(name, '[[tool: outside {"a": 1}]] [[reply: done]]');
  await rig.worker().run(name);
  const turnId = String((await viewMessage(rig.database.views, messageId))?.turnId);
  const worker = rig.worker();
  const { store } = worker.context;
  const send = store.claim;
  store.claim = async (request) => {
    await changeToolCalls(rig, { turnId }, { heldUntil: ago('1 second') });
    const claim = await send(request);
    const result = JSON.stringify({ content: 'just in time', isError: false });
    await changeToolCalls(rig, { turnId }, { status: 'done', result });
    return claim;
  };
  await changeDoorbells(rig, { sessionId: await rig.sessionOf(name) }, { dueAt: now });
  expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
  const results = await readEntries(rig, { turnId, kind: 'results' }, 'content');
  expect(JSON.stringify(results)).toContain('just in time');
});
