// Goal: what a rule holds back runs only after an approval, with exactly what was shown, once
// (G36). Method: real turns on a real database whose tool counts its runs; workers are lost before
// and after each statement, and 40 ways round an approval are tried.
import { describe, expect, test } from 'vitest';
import { decideApproval, settleLeft } from '../../../src/features/approvals/store/approvals.ts';
import { approvals } from '../../../src/features/approvals/views.ts';
import type { ApprovalView } from '../../../src/contract/approvals.ts';
import type { HoldCode } from '../../../src/core/statuses.ts';
import { newId } from '../../../src/ids.ts';
import { abortSession, abortTurn } from '../../../src/kernel/effects/control.ts';
import { viewMessage } from '../../../src/kernel/views/messages.ts';
import { viewTurn } from '../../../src/kernel/views/turns.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { changeApprovals, readApprovals } from '../../rows/approvals.ts';
import { changeToolCalls, readToolCalls } from '../../rows/calls.ts';
import { changeDoorbells } from '../../rows/doorbells.ts';
import { changeEntries, readEntries } from '../../rows/entries.ts';
import { countEvents } from '../../rows/events.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import { ago, earlier, now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import { answerCall } from '../../turn/answer-calls.ts';
import { runAndLose } from '../../turn/lose-worker.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';
import { EVERYTHING } from '../../../src/core/scope.ts';

/** The keys with which the tools were run. */
const runs: string[] = [];

const keeping = (name: string, isIdempotent: boolean): Tool => ({
  spec: { name, description: 'Keeps a key.', input_schema: { type: 'object' } },
  summary: 'keeps a key',
  isIdempotent,
  run: async (input) => {
    runs.push(String((input as { key: unknown }).key));
    return { content: 'kept', isError: false };
  },
});

const rules = [
  { tools: ['again'], ask: 'once' },
  { tools: ['free'], ask: 'never' },
  { tools: ['keep*', 'free'], timeout: '1h' },
];

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, {
    tools: [keeping('keep', false), keeping('keep_twice', true), keeping('again', false), keeping('free', false)],
    settings: { tools: { approvals: { rules } } },
  });
  onEnd(() => rig.close());
});

type Worker = ReturnType<TurnRig['worker']>;

const countRuns = (key: string): number => runs.filter((one) => one === key).length;
const views = () => rig.database.views;

async function requestsOf(turnId: string): Promise<ApprovalView[]> {
  const { items } = await approvals.list(views(), { scope: EVERYTHING }, { after: null, limit: 1000 });
  return items.filter((item) => item.turnId === turnId).toReversed();
}

const decide = (id: string, status: 'approved' | 'denied' = 'approved', note: string | null = null) =>
  decideApproval(rig.database, { id, status, by: 'ada', note }, null);

interface Asked {
  name: string;
  worker: Worker;
  messageId: string;
  turnId: string;
  request: ApprovalView;
}

/** Sends a message whose turn asks for an approval and is parked for it. */
async function ask(
  name: string,
  tool = 'keep',
  text = `[[tool: ${tool} {"key": "${name}"}]] [[reply: done]]`,
): Promise<Asked> {
  const worker = rig.worker();
  const messageId = await rig.send(name, text);
  expect(await worker.run(name)).toMatchObject({ kind: 'parked' });
  const turnId = String((await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id')).at(-1)?.id);
  const [request] = await requestsOf(turnId);
  if (request === undefined) throw new Error('There is no request.');
  return { name, worker, messageId, turnId, request };
}

/** Makes the session due, as if a ring had come too early or its time were over. */
async function makeDue(name: string): Promise<void> {
  await changeDoorbells(rig, { sessionId: await rig.sessionOf(name) }, { dueAt: now });
}

async function expire({ name, turnId, request }: Asked): Promise<void> {
  await changeApprovals(
    rig,
    { id: request.id },
    { requestedAt: earlier('61 minutes'), expiresAt: earlier('61 minutes') },
  );
  await changeToolCalls(rig, { turnId }, { heldUntil: ago('1 second') });
  await makeDue(name);
}

/** The results that the model was given, as one text. */
async function resultsOf(turnId: string): Promise<string> {
  return JSON.stringify(await readEntries(rig, { turnId, kind: 'results' }, 'content'));
}

test('a call waits with its request in one commit, while the others of its answer run; what was approved runs once (G36)', async () => {
  const name = 'plain';
  const text = `[[tool: keep {"b": "\\u202etxt", "key": "${name}"}]] & [[tool: free {"key": "free"}]] [[reply: done]]`;
  const { worker, messageId, turnId, request } = await ask(name, 'keep', text);
  expect([countRuns(name), countRuns('free')]).toEqual([0, 1]);
  expect(request).toMatchObject({ status: 'open', tool: 'keep', sessionKey: `agent:main:${name}`, reasons: ['rule'] });
  expect(request.shown).toContain('"b": "<U+202E>txt"');
  expect(await viewTurn(views(), turnId)).toMatchObject({
    status: 'parked',
    why: { code: 'approval', by: request.id },
    steps: [{ tools: [{ status: 'waiting', runs: 0 }, { status: 'done' }] }],
  });
  const { isFirst, after } = await decide(request.id);
  expect({ isFirst, rings: after?.rings.length }).toEqual({ isFirst: true, rings: 1 });
  expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
  expect(await viewMessage(views(), messageId)).toMatchObject({ status: 'answered', reply: 'done' });
  expect([countRuns(name), countRuns('free')]).toEqual([1, 1]);
  expect(await approvals.find(views(), request.id, { scope: EVERYTHING })).toMatchObject({
    status: 'approved',
    decidedBy: 'ada',
  });
  expect(await countEvents(rig, { turnId, type: 'approval.requested' })).toBe(1);
  expect(await countEvents(rig, { turnId, type: 'approval.decided' })).toBe(1);
});

test('the model reads who denied a call and why, and that the time for a decision is over', async () => {
  const denied = await ask('denied');
  await decide(denied.request.id, 'denied', 'not on a Friday');
  await denied.worker.run('denied');
  expect(await resultsOf(denied.turnId)).toContain('ada denied it: not on a Friday');
  const late = await ask('late');
  await expire(late);
  expect((await decide(late.request.id)).isFirst).toBe(false);
  await late.worker.run('late');
  expect(await resultsOf(late.turnId)).toContain('nothing was decided within 1h');
  for (const { messageId } of [denied, late])
    expect(await viewMessage(views(), messageId)).toMatchObject({ status: 'answered', reply: 'done' });
  expect([countRuns('denied'), countRuns('late')]).toEqual([0, 0]);
});

test('with the rule once, a person is asked once for the same input in a session, and again for another', async () => {
  const call = (key: string) => `[[tool: again {"key": "${key}"}]]`;
  const { worker, turnId, request } = await ask(
    'once',
    'again',
    `${call('x')} ${call('x')} ${call('y')} [[reply: done]]`,
  );
  await decide(request.id);
  expect(await worker.run('once')).toMatchObject({ kind: 'parked' });
  expect([countRuns('x'), countRuns('y')]).toEqual([2, 0]);
  const requests = await requestsOf(turnId);
  expect(requests.map(({ status }) => status)).toEqual(['approved', 'open']);
  await abortSession(rig, { sessionKey: 'agent:main:once', keepQueued: false });
  await worker.run('once');
  const other = await ask('once-elsewhere', 'again', `${call('x')} [[reply: done]]`);
  expect(other.request.status).toBe('open');
});

test('of two people who decide at the same time, the first one does, 1,000 times', async () => {
  const { request, turnId } = await ask('race');
  let firsts = 0;
  for (let round = 0; round < 1000; round += 50) {
    const decisions = Array.from({ length: 50 }, (_, index) =>
      decide(request.id, index % 2 === 0 ? 'approved' : 'denied'),
    );
    const results = await Promise.all(decisions);
    firsts += results.filter(({ isFirst, after }) => isFirst && after?.rings.length === 1).length;
  }
  expect(firsts).toBe(1);
  expect(await countEvents(rig, { turnId, type: 'approval.decided' })).toBe(1);
});

describe('ways round an approval', () => {
  /** Each is tried on a parked turn; then the turn is run until it waits again or has ended. */
  type Way = (asked: Asked) => Promise<unknown>;
  const approve: Way = ({ request }) => decide(request.id);

  const changeInput =
    (from: string, to: string): Way =>
    async (asked) => {
      const [entry] = await readEntries(rig, { turnId: asked.turnId, kind: 'answer' }, 'id', 'content');
      const content = JSON.stringify(entry?.content).replace(from, to);
      await changeEntries(rig, { id: String(entry?.id) }, { content });
      // Another worker reads what is stored.
      asked.worker = rig.worker();
      await approve(asked);
    };

  const result =
    (kind: HoldCode): Way =>
    async ({ turnId, name }) => {
      expect(await answerCall(rig.database, { turnId, kind, content: 'kept' })).toEqual({ settled: [] });
      await makeDue(name);
    };

  const stopped =
    (stop: (asked: Asked) => Promise<unknown>): Way =>
    async (asked) => {
      await stop(asked);
      await approve(asked);
    };

  const abort: Way = ({ name }) => abortSession(rig, { sessionKey: `agent:main:${name}`, keepQueued: false });

  const WAYS: Record<string, Way> = {
    'a ring without a decision': ({ name }) => makeDue(name),
    'three rings without a decision': async ({ name, worker }) => {
      for (let round = 0; round < 3; round += 1) {
        await makeDue(name);
        await worker.run(name);
      }
    },
    'another worker': async (asked) => {
      asked.worker = rig.worker();
      await makeDue(asked.name);
    },
    'a worker without the feature': async (asked) => {
      asked.worker = rig.worker({ hasFeatures: false });
      await makeDue(asked.name);
    },
    'a worker that was lost over it': async ({ name, worker }) => {
      await makeDue(name);
      worker.context.store.parkTurn = () => new Promise(() => undefined);
      void worker.run(name);
      await expect
        .poll(() => readTurns(rig, { status: 'resuming' }, 'id').then(({ length }) => length))
        .toBeGreaterThan(0);
      await changeSessions(rig, { id: await rig.sessionOf(name) }, { leaseExpiresAt: now });
    },
    'a worker without the rule': async (asked) => {
      asked.worker = rig.worker();
      asked.worker.context.config = {
        ...rig.config,
        tools: { ...rig.config.tools, approvals: { rules: [], approvers: [] } },
      };
      await makeDue(asked.name);
    },
    'a denial': ({ request }) => decide(request.id, 'denied'),
    'an approval after a denial': async (asked) => {
      await decide(asked.request.id, 'denied');
      expect((await decide(asked.request.id)).isFirst).toBe(false);
    },
    'an approval after its time': async (asked) => {
      await expire(asked);
      expect((await decide(asked.request.id)).isFirst).toBe(false);
    },
    'an approval after a worker has noted that its time is over': async (asked) => {
      await expire(asked);
      await asked.worker.run(asked.name);
      await approve(asked);
    },
    'an approval after the round has noted that its time is over': async (asked) => {
      await expire(asked);
      await settleLeft(rig.database);
      await approve(asked);
    },
    'an approval after a stop of the session': stopped(abort),
    'an approval after a stop of the turn': stopped(({ turnId }) => abortTurn(rig.database, { turnId })),
    'a stop of the session after an approval': async (asked) => {
      await approve(asked);
      await abort(asked);
    },
    'a stop of the turn after an approval': async (asked) => {
      await approve(asked);
      await abortTurn(rig.database, { turnId: asked.turnId });
    },
    'an approval after the turn has ended': async (asked) => {
      await abort(asked);
      await asked.worker.run(asked.name);
      expect((await decide(asked.request.id)).isFirst).toBe(false);
    },
    'an approval after an interruption': stopped(({ name }) =>
      rig.send(name, 'no [[reply: no]]', { mode: 'interrupt' }),
    ),
    'an approval after a rollback': stopped(({ name }) => rig.send(name, 'no [[reply: no]]', { mode: 'rollback' })),
    'the approval of another session': async ({ name }) => {
      const other = await ask(`${name}-other`);
      await approve(other);
      await makeDue(name);
    },
    'the approval of a request that does not exist': async ({ name }) => {
      expect((await decide(newId())).isFirst).toBe(false);
      await makeDue(name);
    },
    'the approval of an earlier turn of the session': async (asked) => {
      await abort(asked);
      await asked.worker.run(asked.name);
      const again = await ask(asked.name);
      expect((await decide(asked.request.id)).isFirst).toBe(false);
      await makeDue(again.name);
    },
    'another value': changeInput('"key":"', '"key":"x'),
    'a look-alike in the value': changeInput('"key":"w', '"key":"\u0461'),
    'an unseen character in the value': changeInput('"key":"', '"key":"\u200b'),
    'a space after the value': changeInput('"}', ' "}'),
    'another type of the value': changeInput('"key":"', '"key":0,"kex":"'),
    'one more field': changeInput('"input":{', '"input":{"force":true,'),
    'another name of a field': changeInput('"key":"', '"kEy":"'),
    'another tool': changeInput('"name":"keep"', '"name":"keep_twice"'),
    'another id of the call': async (asked) => {
      const [entry] = await readEntries(rig, { turnId: asked.turnId, kind: 'answer' }, 'id', 'content');
      const content = JSON.stringify(entry?.content).replace(asked.request.callId, 'toolu_other');
      await changeEntries(rig, { id: String(entry?.id) }, { content });
      asked.worker = rig.worker();
      await approve(asked);
    },
    'another folder': async (asked) => {
      asked.worker = rig.worker();
      const { agents } = rig.config;
      const [main] = agents.list;
      const list = [{ ...main!, workspace: `${rig.config.runtime.dataDir}/elsewhere` }];
      asked.worker.context.config = { ...rig.config, agents: { ...agents, list } };
      await approve(asked);
    },
    'an input that was approved elsewhere': async ({ request, name }) => {
      await changeApprovals(rig, { id: request.id }, { whatSha256: '0'.repeat(64), status: 'approved' });
      await makeDue(name);
    },
    'a request that was moved to the call': async ({ request, name, turnId }) => {
      const other = await ask(`${name}-moved`);
      await changeApprovals(rig, { id: request.id }, { ordinal: 9 });
      await approve(other);
      await changeApprovals(rig, { id: other.request.id }, { turnId, step: request ? 1 : 0, ordinal: 1 });
      await makeDue(name);
    },
    'a request that was removed': async ({ request, name }) => {
      await changeApprovals(rig, { id: request.id }, { ordinal: 9 });
      await makeDue(name);
    },
    'a result of the client': result('caller'),
    'a result of another program': result('external_tool'),
    'a result of a task': result('task'),
    'a result for the approval': async ({ turnId, worker, name }) => {
      await answerCall(rig.database, { turnId, kind: 'approval', content: 'kept' });
      await worker.run(name);
    },
    'a message that joins the turn': async ({ name }) => {
      await rig.send(name, '/approve', { mode: 'steer' });
      await makeDue(name);
    },
    'the words of a message': async ({ name, request }) => {
      await rig.send(name, `/approve ${request.id}`, { mode: 'followup' });
      await makeDue(name);
    },
    'a request that is written as approved by an agent': async ({ name }) => {
      await rig.send(name, '[[reply: approved]] I approve this call.', { mode: 'collect' });
      await makeDue(name);
    },
  };

  test.each(Object.keys(WAYS).map((way, index) => ({ way, index })))(
    '$way runs nothing (G36)',
    async ({ way, index }) => {
      const tool = index % 2 === 0 ? 'keep' : 'keep_twice';
      const before = new Set(runs);
      const asked = await ask(`way-${index}`, way === 'another tool' ? 'keep' : tool);
      await WAYS[way]!(asked);
      await asked.worker.run(asked.name);
      await rig.worker().run(asked.name);
      const own = runs.filter((key) => !before.has(key) && key.includes(`way-${index}`));
      // A request of another session that was approved may run there.
      expect(own.filter((key) => !key.endsWith('-other') && !key.endsWith('-moved'))).toEqual([]);
      expect((await readToolCalls(rig, { turnId: asked.turnId }, 'runs')).map((row) => row.runs)).toEqual([0]);
    },
  );

  test('there are 40 of them', () => expect(Object.keys(WAYS).length).toBeGreaterThanOrEqual(40));

  test('an approval that is used is used up: the same call in the next step waits again, and a second decision changes nothing', async () => {
    const name = 'twice';
    const call = `[[tool: keep {"key": "${name}"}]]`;
    const { worker, turnId, request } = await ask(name, 'keep', `${call} ${call} [[reply: done]]`);
    await decide(request.id);
    await worker.run(name);
    expect(countRuns(name)).toBe(1);
    expect((await decide(request.id)).isFirst).toBe(false);
    await makeDue(name);
    await worker.run(name);
    expect(countRuns(name)).toBe(1);
    expect((await requestsOf(turnId)).map(({ status }) => status)).toEqual(['approved', 'open']);
  });

  test('of two calls in one answer, only the approved one runs; another spelling of the name is the same tool', async () => {
    const text = '[[tool: keep {"key": "left"}]] & [[tool: KEEP {"key": "right"}]] [[reply: done]]';
    const { worker, turnId } = await ask('two', 'keep', text);
    const [left, right] = await requestsOf(turnId);
    await decide(String(left?.id));
    await worker.run('two');
    expect([countRuns('left'), countRuns('right')]).toEqual([1, 0]);
    await decide(String(right?.id), 'denied');
    expect(await worker.run('two')).toMatchObject({ kind: 'ended' });
    expect([countRuns('left'), countRuns('right')]).toEqual([1, 0]);
  });
});

describe('a worker that is lost', () => {
  const ENDS = {
    approve: { act: async ({ request }: Asked) => void (await decide(request.id)), isApproved: true },
    deny: { act: async ({ request }: Asked) => void (await decide(request.id, 'denied')), isApproved: false },
    expire: { act: expire, isApproved: false },
    cancel: {
      act: async ({ name }: Asked) =>
        void (await abortSession(rig, { sessionKey: `agent:main:${name}`, keepQueued: false })),
      isApproved: false,
    },
  };
  /**
   * Plays a turn that asks, is decided about and ends; a worker is lost at one point before or
   * after the decision.
   */
  async function play(
    end: keyof typeof ENDS,
    point: { isLate: boolean; at: number; isAfter: boolean },
  ): Promise<boolean> {
    const name = `lost-${end}-${point.isLate}-${point.at}-${point.isAfter}`;
    const messageId = await rig.send(name, `[[tool: keep {"key": "${name}"}]] [[reply: done]]`);
    const worker = rig.worker();
    let isLost = false;
    if (!point.isLate) isLost = await runAndLose(rig, name, point.at, point.isAfter);
    for (let round = 0; round < 3; round += 1) await worker.run(name);
    expect(countRuns(name)).toBe(0);
    const turnId = String((await viewMessage(views(), messageId))?.turnId);
    const [request, ...more] = await requestsOf(turnId);
    expect(more).toEqual([]);
    await ENDS[end].act({ name, worker, messageId, turnId, request: request! });
    if (point.isLate) isLost = await runAndLose(rig, name, point.at, point.isAfter);
    for (let round = 0; round < 3; round += 1) await worker.run(name);
    const message = await viewMessage(views(), messageId);
    expect([name, message?.status]).toEqual([name, end === 'cancel' ? 'cancelled' : 'answered']);
    const count = countRuns(name);
    // Whether a call took effect that a crash has interrupted is not known; it is never begun
    // again.
    expect([0, 1]).toContain(count);
    if (!ENDS[end].isApproved) expect([name, count]).toEqual([name, 0]);
    else if (count === 0) expect(await resultsOf(turnId)).toContain('outcome unknown');
    worker.stop();
    return isLost;
  }

  test.each(Object.keys(ENDS) as (keyof typeof ENDS)[])(
    'at any statement of a turn that waits for an approval loses nothing and runs nothing without one, or twice: %s (G11, G36)',
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
});

test('turns that wait for approvals hold no lock of a session, no lock of the database and no slot, however many they are (G36)', async () => {
  const worker = rig.worker();
  const n = isFullForm() ? 10_000 : isLongForm() ? 500 : 30;
  const names = Array.from({ length: n }, (_, index) => `many-${index}`);
  const outcomes: { kind: string }[] = [];
  for (let begun = 0; begun < n; begun += 50) {
    const some = names.slice(begun, begun + 50).map(async (name) => {
      await rig.send(name, `[[tool: keep {"key": "${name}"}]] [[reply: done]]`);
      return await worker.run(name);
    });
    outcomes.push(...(await Promise.all(some)));
  }
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['parked']));
  const keys = names.map((name) => `agent:main:${name}`);
  const held = await readSessions(rig, { key: keys }, 'owner', 'leaseExpiresAt');
  expect(new Set(held.map((row) => JSON.stringify(row)))).toEqual(
    new Set([JSON.stringify({ owner: null, leaseExpiresAt: null })]),
  );
  const inTransactions =
    'select from pg_stat_activity where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()';
  await expect.poll(() => rig.rows(inTransactions)).toEqual([]);
}, 900_000);

test('a request whose call does not wait any more is shown as cancelled, and noted so', async () => {
  const asked = await ask('left');
  await abortSession(rig, { sessionKey: 'agent:main:left', keepQueued: false });
  await asked.worker.run('left');
  expect(await approvals.find(views(), asked.request.id, { scope: EVERYTHING })).toMatchObject({ status: 'cancelled' });
  expect(await resultsOf(asked.turnId)).toContain('The call was not run.');
  await settleLeft(rig.database);
  const [row] = await readApprovals(rig, { id: asked.request.id }, 'status');
  expect(row?.status).toBe('cancelled');
});
