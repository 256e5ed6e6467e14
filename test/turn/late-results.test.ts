// Goal: a call that has begun can have its result later, without a lock, a slot or a second run,
// also one that has waited for an approval before (G11). Method: real turns on a real database; a
// feature of the test holds the calls of tools that begin tasks, and says which have ended.
import { beforeEach, expect, test } from 'vitest';
import { decideApproval } from '../../src/features/approvals/store/approvals.ts';
import { approvals } from '../../src/features/approvals/views.ts';
import type { TurnFeature } from '../../src/kernel/turn/context.ts';
import type { Resumption } from '../../src/kernel/turn/hold-kind.ts';
import type { JournalWrite } from '../../src/kernel/turn/journal/journal.ts';
import { abortSession } from '../../src/kernel/effects/control.ts';
import { viewMessage } from '../../src/kernel/views/messages.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import { laterOutcome, type Tool } from '../../src/tools/tool.ts';
import { readToolCalls } from '../rows/calls.ts';
import { changeDoorbells, readDoorbells } from '../rows/doorbells.ts';
import { readEntries } from '../rows/entries.ts';
import { countEvents } from '../rows/events.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago, now } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { answerCall } from './answer-calls.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

/** The keys of the tasks that were begun, and the results of those that have ended. */
const begun: string[] = [];
const ended = new Map<string, string>();
/** Called by the tools before they answer. */
let onRun: () => Promise<void>;

const keyOf = (input: unknown): string => String((input as { key: unknown }).key);
const events = [{ type: 'test.begun', data: {} }];

const beginning = (name: string, more: Partial<Tool> = {}): Tool => ({
  spec: { name, description: 'Begins a task.', input_schema: { type: 'object' } },
  summary: 'begins a task',
  isIdempotent: false,
  run: async (input) => {
    begun.push(keyOf(input));
    await onRun();
    return laterOutcome({ code: 'task', forMs: 60_000, ref: `task-${keyOf(input)}`, events });
  },
  ...more,
});

const quick: Tool = {
  ...beginning('quick'),
  run: async (input) => {
    begun.push(keyOf(input));
    await onRun();
    return { content: 'at once', isError: false };
  },
};

const tasks: TurnFeature = {
  calls: {
    code: 'task',
    hold: async () => new Map(),
    resume: async (_turn, calls) =>
      new Map(
        calls.map(({ call, ordinal }): [number, Resumption] => {
          const content = ended.get(keyOf(call.input));
          if (content === undefined) return [ordinal, { kind: 'held', forMs: 60_000, ref: 'again' }];
          return [ordinal, { kind: 'known', outcome: { content, isError: false }, status: 'done' }];
        }),
      ),
    explain: (_turn, [first]) => ({ text: `The turn waits for ${first?.call.name}.`, by: first?.ref ?? null }),
  },
};

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const tools = [
    beginning('begin'),
    beginning('begin_again', { isIdempotent: true }),
    beginning('begin_asked'),
    beginning('look', { isIdempotent: true, isReadOnly: true }),
    quick,
  ];
  const settings = { tools: { approvals: { rules: [{ tools: ['begin_asked'] }] } } };
  rig = await createTurnRig(database.url, { tools, settings });
  onEnd(() => rig.close());
});

beforeEach(() => {
  onRun = async () => undefined;
});

const newWorker = () => rig.worker({ features: [tasks] });
const countBegun = (key: string): number => begun.filter((one) => one === key).length;
const views = () => rig.database.views;

async function turnOf(name: string): Promise<string> {
  return String((await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id')).at(-1)?.id);
}

async function makeDue(name: string): Promise<void> {
  await changeDoorbells(rig, { sessionId: await rig.sessionOf(name) }, { dueAt: now });
}

/** The ledger of a turn. */
const ledgerOf = (turnId: string) => readToolCalls(rig, { turnId }, 'name', 'status', 'runs', 'heldFor');

async function resultsOf(turnId: string): Promise<string> {
  return JSON.stringify(await readEntries(rig, { turnId, kind: 'results' }, 'content'));
}

test('a call that answers later parks its turn, while the others of its answer run; its result follows when it is known, in its place (G11)', async () => {
  const name = 'plain';
  const text = `[[tool: begin {"key": "${name}"}]] & [[tool: quick {"key": "beside"}]] & [[tool: nowhere {}]] [[reply: done]]`;
  const messageId = await rig.send(name, text);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'parked' });
  const turnId = await turnOf(name);
  expect(await viewTurn(views(), turnId)).toMatchObject({
    status: 'parked',
    why: { code: 'task', by: `task-${name}` },
    steps: [{ tools: [{ status: 'waiting' }, { status: 'done' }] }],
  });
  // Another worker asks again; the turn waits on.
  await makeDue(name);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'parked' });
  ended.set(name, 'the result');
  await makeDue(name);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'ended' });
  expect(await viewMessage(views(), messageId)).toMatchObject({ status: 'answered', reply: 'done' });
  expect([countBegun(name), countBegun('beside')]).toEqual([1, 1]);
  expect(await resultsOf(turnId)).toMatch(/the result.*at once.*nowhere/);
  expect(await countEvents(rig, { turnId, type: 'test.begun' })).toBe(1);
  expect(await countEvents(rig, { turnId, type: 'turn.parked' })).toBe(1);
});

test('a call waits for an approval, runs once, and then waits for its result (G11, G36)', async () => {
  const name = 'both';
  await rig.send(name, `[[tool: begin_asked {"key": "${name}"}]] & [[tool: nowhere {}]] [[reply: done]]`);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'parked' });
  const turnId = await turnOf(name);
  expect(await viewTurn(views(), turnId)).toMatchObject({ why: { code: 'approval' } });
  const { items } = await approvals.list(views(), { status: 'open', scope: EVERYTHING }, { after: null, limit: 1 });
  const { isFirst } = await decideApproval(
    rig.database,
    { id: String(items[0]?.id), status: 'approved', by: 'ada', note: null },
    null,
  );
  expect([isFirst, countBegun(name)]).toEqual([true, 0]);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'parked' });
  expect(await viewTurn(views(), turnId)).toMatchObject({ why: { code: 'task' } });
  expect(await ledgerOf(turnId)).toEqual([
    { name: 'begin_asked', status: 'intent', runs: 0, heldFor: 'task' },
    { name: 'nowhere', status: 'failed', runs: 1, heldFor: null },
  ]);
  await makeDue(name);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'parked' });
  ended.set(name, 'approved and over');
  await makeDue(name);
  expect(await newWorker().run(name)).toMatchObject({ kind: 'ended' });
  expect(await resultsOf(turnId)).toMatch(/approved and over.*Available tools/);
  expect(countBegun(name)).toBe(1);
});

test('a call that only reads may answer later, too', async () => {
  await rig.send('reading', '[[tool: look {"key": "reading"}]] [[reply: done]]');
  expect(await newWorker().run('reading')).toMatchObject({ kind: 'parked' });
  const turnId = await turnOf('reading');
  expect(await ledgerOf(turnId)).toMatchObject([{ status: 'intent', heldFor: 'task' }]);
  ended.set('reading', 'read');
  await makeDue('reading');
  expect(await newWorker().run('reading')).toMatchObject({ kind: 'ended' });
  expect(countBegun('reading')).toBe(1);
});

test.each(['begin', 'begin_again'])(
  'a call of %s whose worker is lost before the wait is stored is that of a lost worker (G11)',
  async (tool) => {
    const name = `lost-${tool}`;
    await rig.send(name, `[[tool: ${tool} {"key": "${name}"}]] [[reply: done]]`);
    const worker = newWorker();
    const { store } = worker.context;
    const send = store.commitStep;
    const { promise: lost, resolve: lose } = Promise.withResolvers<void>();
    store.commitStep = async (rows) => {
      if (rows.heldIntents === undefined) return await send(rows);
      lose();
      return await new Promise(() => undefined);
    };
    void worker.run(name);
    await lost;
    worker.stop();
    await changeSessions(rig, { id: await rig.sessionOf(name) }, { leaseExpiresAt: ago('1 second') });
    const outcome = await newWorker().run(name);
    const turnId = await turnOf(name);
    if (tool === 'begin') {
      expect(outcome).toMatchObject({ kind: 'ended' });
      expect([countBegun(name), await resultsOf(turnId)]).toEqual([1, expect.stringContaining('outcome unknown')]);
    } else {
      expect(outcome).toMatchObject({ kind: 'parked' });
      expect([countBegun(name), await ledgerOf(turnId)]).toEqual([2, [expect.objectContaining({ heldFor: 'task' })]]);
    }
  },
);

test('a wait that is sent again is stored once, and does not undo a result that has come meanwhile', async () => {
  const name = 'again';
  await rig.send(name, `[[tool: begin {"key": "${name}"}]] [[reply: done]]`);
  const worker = newWorker();
  const { store } = worker.context;
  const send = store.commitStep;
  let turnId = '';
  store.commitStep = async (rows: JournalWrite) => {
    if (rows.heldIntents === undefined) return await send(rows);
    await send(rows);
    turnId = rows.progress.turnId;
    const answer = { turnId, kind: 'task', content: 'from outside' } as const;
    expect(await answerCall(rig.database, answer)).toMatchObject({ settled: [1] });
    expect(await answerCall(rig.database, { ...answer, content: 'a second one' })).toEqual({ settled: [] });
    return await send(rows);
  };
  // The result came before the turn was parked: it is due at once.
  expect(await worker.run(name)).toMatchObject({ kind: 'parked', after: { rings: [{}] } });
  expect(await newWorker().run(name)).toMatchObject({ kind: 'ended' });
  expect(await resultsOf(turnId)).toContain('from outside');
  expect(await countEvents(rig, { turnId, type: 'test.begun' })).toBe(1);
});

test('the wait is stored while other calls of the answer still run', async () => {
  const name = 'slow';
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  onRun = async () => {
    if (countBegun('slow-beside') === 1 && countBegun(name) === 1) await gate;
  };
  await rig.send(name, `[[tool: begin {"key": "${name}"}]] & [[tool: quick {"key": "slow-beside"}]] [[reply: done]]`);
  const running = newWorker().run(name);
  await expect
    .poll(async () => await ledgerOf(await turnOf(name)))
    .toMatchObject([{ heldFor: 'task' }, { heldFor: null }]);
  ended.set(name, 'over');
  open();
  expect(await running).toMatchObject({ kind: 'parked' });
});

test('a stop ends the wait with a result that says that the call may have taken effect', async () => {
  await rig.send('stopped', '[[tool: begin {"key": "stopped"}]] [[reply: done]]');
  await newWorker().run('stopped');
  await abortSession(rig, { sessionKey: 'agent:main:stopped', keepQueued: false });
  await newWorker().run('stopped');
  expect(await resultsOf(await turnOf('stopped'))).toContain('may or may not have taken effect');
  expect(await readDoorbells(rig, { sessionId: await rig.sessionOf('stopped') })).toEqual([]);
});
