// Turns that wait for a budget or for the results of a client, from the worker's side: what reaches
// them while they wait, what a crash leaves, and how often they are resumed. batch-hops.test.ts
// shows the same of turns that wait for a provider; test/service/parked-turns.test.ts kills real
// processes.
import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/inbound.ts';
import { toMicros } from '../../src/core/prices.ts';
import { newId } from '../../src/ids.ts';
import { changeBudget, createBudget } from '../../src/features/budgets/store/budgets.ts';
import { decideApproval } from '../../src/features/approvals/store/approvals.ts';
import { approvals } from '../../src/features/approvals/views.ts';
import { createClaim } from '../../src/kernel/sessions/claim-session.ts';
import { abortSession, abortTurn } from '../../src/kernel/effects/control.ts';
import { viewMessage } from '../../src/kernel/views/messages.ts';
import { viewTurn } from '../../src/kernel/views/turns.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readModelCalls } from '../rows/calls.ts';
import { countEvents } from '../rows/events.ts';
import { changeSessions, readSessions } from '../rows/sessions.ts';
import { now } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { answerCall } from './answer-calls.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

const effects: string[] = [];
/** What happens while the tool notes a key. */
const whileNoted = new Map<string, () => Promise<void>>();
const noting = (name: string): Tool => ({
  spec: { name, description: 'Notes a key.', input_schema: { type: 'object' } },
  summary: 'notes a key',
  isIdempotent: false,
  run: async (input) => {
    const { key } = input as { key: string };
    effects.push(key);
    await whileNoted.get(key)?.();
    return { content: 'noted', isError: false };
  },
});

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, {
    tools: [noting('note'), noting('guarded')],
    settings: { tools: { approvals: { rules: [{ tools: ['guarded'] }] } } },
  });
  onEnd(() => rig.close());
});

interface Parked {
  messageId: string;
  turnId: string;
  /** Ends the wait; resolves with the number of jobs that this needs. */
  endWait: () => Promise<number>;
}

interface Wait {
  name: string;
  code: string;
  /** The model calls of a turn that waits once. */
  calls: number;
  /** What a worker finds that looks at the session before the end of the wait. */
  found: 'idle' | 'early';
  /**
   * Prepares a wait of the next turn of a session; resolves with the message to send and what ends
   * the wait of its turn.
   */
  prepare: (name: string) => Promise<{ message: InboundMessage; endWait: (turnId: string) => Promise<number> }>;
}

const script = (name: string) => `[[tool: note {"key": "${name}"}]] [[reply: done]]`;

const WAITS: Wait[] = [
  {
    name: 'a budget',
    code: 'budget_reached',
    calls: 2,
    found: 'idle',
    async prepare(name) {
      const id = newId<string>();
      const budget = { scope: `session:agent:main:${name}`, per: 'total', zone: 'UTC', limitMicros: 0 } as const;
      const settings = { id, ...budget, warnPercent: 80, action: 'pause', strict: false } as const;
      await createBudget(rig.database, settings, { createdBy: 'admin', idempotency: null });
      await rig.budgets.read();
      return {
        message: { text: script(name) },
        async endWait() {
          const { after } = await changeBudget(rig.database, id, { limitMicros: toMicros(10) });
          await rig.budgets.read();
          return after?.rings.length ?? 0;
        },
      };
    },
  },
  {
    name: 'a client',
    code: 'caller',
    calls: 3,
    found: 'early',
    async prepare(name) {
      const weather = { name: 'weather', description: 'The weather', input_schema: { type: 'object' as const } };
      return {
        message: { text: `[[tool: weather {}]] ${script(name)}`, caller: { tools: [weather] } },
        async endWait(turnId) {
          const { after } = await answerCall(rig.database, { turnId, kind: 'caller', content: 'rain' });
          return after?.rings.length ?? 0;
        },
      };
    },
  },
  {
    name: 'an approval',
    code: 'approval',
    calls: 2,
    found: 'early',
    async prepare(name) {
      return {
        message: { text: `[[tool: guarded {"key": "${name}"}]] [[reply: done]]` },
        async endWait(turnId) {
          const { items } = await approvals.list(views(), { scope: EVERYTHING }, { after: null, limit: 100 });
          const id = String(items.find((item) => item.turnId === turnId)?.id);
          const { after } = await decideApproval(rig.database, { id, status: 'approved', by: 'ada', note: null }, null);
          return after?.rings.length ?? 0;
        },
      };
    },
  },
];

type Worker = ReturnType<TurnRig['worker']>;

const views = () => rig.database.views;
const statusOf = async (messageId: string) => (await viewMessage(views(), messageId))?.status;

const eventsOf = async (turnId: string, type: string): Promise<number> => await countEvents(rig, { turnId, type });

const callsOf = async (turnId: string): Promise<unknown> => (await readModelCalls(rig, { turnId }, 'callNo')).length;

describe.each(WAITS)('a turn that waits for $name', (wait) => {
  const nameOf = (what: string) => `${wait.code}-${what}`;

  /** Sends a message and runs its turn until it waits. */
  async function parked(name: string, worker: Worker): Promise<Parked> {
    const { message, endWait } = await wait.prepare(name);
    const messageId = await rig.send(name, message.text, message);
    expect(await worker.run(name)).toMatchObject({ kind: 'parked', after: { rings: [] } });
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id');
    const turnId = String(turn?.['id']);
    expect(await viewTurn(views(), turnId)).toMatchObject({ status: 'parked', why: { code: wait.code } });
    return { messageId, turnId, endWait: () => endWait(turnId) };
  }

  /** Asserts that the turn has done everything once. */
  async function expectOnce(name: string, { messageId, turnId }: Parked): Promise<void> {
    expect(await viewMessage(views(), messageId)).toMatchObject({ status: 'answered', reply: 'done', turnId });
    expect(effects.filter((key) => key === name)).toHaveLength(1);
    expect(await callsOf(turnId)).toBe(wait.calls);
    expect(await eventsOf(turnId, 'turn.resumed')).toBe(1);
  }

  /** Claims the session as a worker that then crashes. */
  async function claimAndCrash(name: string): Promise<void> {
    const sessionId = await rig.sessionOf(name);
    const known = { version: -1, seq: 0 };
    const claim = createClaim(rig.database);
    expect(await claim({ sessionId, owner: 'crashed', leaseMs: 60_000, known })).toMatchObject({ kind: 'claimed' });
    await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
  }

  test('holds no lock, and one of two workers resumes it once its wait is over', async () => {
    const name = nameOf('once');
    const [first, second] = [rig.worker(), rig.worker()];
    const turn = await parked(name, first);
    expect(await readSessions(rig, { key: `agent:main:${name}` }, 'owner', 'leaseExpiresAt')).toEqual([
      { owner: null, leaseExpiresAt: null },
    ]);
    expect(await second.run(name)).toMatchObject({ kind: wait.found });
    expect(await turn.endWait()).toBe(1);
    const outcomes = await Promise.all([first.run(name), second.run(name)]);
    expect(outcomes.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
    expect(await turn.endWait()).toBe(0);
    expect(await first.run(name)).toMatchObject({ kind: 'idle' });
    await expectOnce(name, turn);
    expect(await eventsOf(turn.turnId, 'turn.parked')).toBe(1);
  });

  test('is resumed by the next worker when the one that has claimed it crashes (G11)', async () => {
    const name = nameOf('crash');
    const turn = await parked(name, rig.worker());
    await turn.endWait();
    await claimAndCrash(name);
    expect(await rig.worker().run(name)).toMatchObject({ kind: 'ended' });
    await expectOnce(name, turn);
    expect(await viewTurn(views(), turn.turnId)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  test('lets an ordinary message wait, also if a worker crashes over it, and is answered before it (G1, G3)', async () => {
    const name = nameOf('followup');
    const worker = rig.worker();
    const turn = await parked(name, worker);
    const next = await rig.send(name, 'next [[reply: second]]', { mode: 'followup' });
    // A turn without a time to wait for is looked at when a message arrives.
    if (wait.found === 'idle') await claimAndCrash(name);
    expect(await worker.run(name)).toMatchObject({ kind: wait.found === 'idle' ? 'parked' : 'early' });
    expect([await statusOf(turn.messageId), await statusOf(next)]).toEqual(['claimed', 'waiting']);
    expect(await turn.endWait()).toBe(1);
    expect(await worker.run(name)).toMatchObject({ kind: 'ended', after: { rings: [{}] } });
    await expectOnce(name, turn);
    expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
    expect(await viewMessage(views(), next)).toMatchObject({ status: 'answered', reply: 'second' });
  });

  test('is joined by a message of mode steer, and both are answered by it (G3)', async () => {
    const name = nameOf('steer');
    const worker = rig.worker();
    const turn = await parked(name, worker);
    const steered = await rig.send(name, 'and also this', { mode: 'steer' });
    await worker.run(name);
    await turn.endWait();
    expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
    for (const id of [turn.messageId, steered]) {
      expect(await viewMessage(views(), id)).toMatchObject({ status: 'answered', turnId: turn.turnId });
    }
    expect(await eventsOf(turn.turnId, 'steer.injected')).toBe(1);
  });

  test('is ended by a stop of its session, a stop of the turn and a message of mode interrupt; the end of its wait then wakes nothing (G24)', async () => {
    const worker = rig.worker();
    const stops = {
      session: (name: string) => abortSession(rig, { sessionKey: `agent:main:${name}`, keepQueued: false }),
      turn: (_: string, { turnId }: Parked) => abortTurn(rig.database, { turnId }),
      interrupt: (name: string) => rig.send(name, 'no, this [[reply: this]]', { mode: 'interrupt' }),
    };
    for (const [how, stop] of Object.entries(stops)) {
      const name = nameOf(`stop-${how}`);
      const turn = await parked(name, worker);
      await stop(name, turn);
      expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
      expect(await statusOf(turn.messageId)).toBe('cancelled');
      expect(await turn.endWait()).toBe(0);
      expect(effects).not.toContain(name);
      const next = how === 'interrupt' ? null : await rig.send(name, 'again [[reply: again]]');
      expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
      const last = (await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'reply')).at(-1);
      expect(last).toEqual({ reply: next === null ? 'this' : 'again' });
    }
  });
});

test('a result that comes while other calls of its answer still run makes the turn due as soon as it is parked', async () => {
  const name = 'early-result';
  const worker = rig.worker();
  const weather = { name: 'weather', description: 'The weather', input_schema: { type: 'object' as const } };
  const text = `[[tool: weather {}]] & [[tool: note {"key": "${name}"}]] [[reply: done]]`;
  const messageId = await rig.send(name, text, { text, caller: { tools: [weather] } });
  whileNoted.set(name, async () => {
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id');
    await answerCall(rig.database, { turnId: String(turn?.['id']), kind: 'caller', content: 'rain' });
  });
  expect(await worker.run(name)).toMatchObject({ kind: 'parked', after: { rings: [{}] } });
  expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
  expect(await viewMessage(views(), messageId)).toMatchObject({ status: 'answered', reply: 'done' });
  expect(effects.filter((key) => key === name)).toHaveLength(1);
});
