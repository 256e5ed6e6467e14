// Processes that are killed repeatedly: a turn that kills its process is found and given up (G17),
// and turns that only ran in the same process are not.
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../src/logger.ts';
import { abortSession } from '../../src/kernel/effects/control.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { changeDoorbells } from '../rows/doorbells.ts';
import { countInputs, readInputs } from '../rows/inputs.ts';
import { changeSessions, expireLeases } from '../rows/sessions.ts';
import { grouped, noLaterThanNow, now } from '../rows/table.ts';
import { changeTurns, readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

/** A tool whose runs hang while it is closed, and always for the key `poison`. */
function gateTool() {
  const state = { isClosed: true };
  const entered: string[] = [];
  const tool: Tool = {
    spec: {
      name: 'gate',
      description: 'gate',
      input_schema: { type: 'object', properties: { key: { type: 'string' } } },
    },
    summary: 'gate',
    isIdempotent: true,
    async run(input, call) {
      const { key } = input as { key: string };
      entered.push(key);
      if (state.isClosed || key === 'poison') {
        await new Promise((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true });
        });
      }
      return { content: 'passed', isError: false };
    },
  };
  return { tool, state, entered };
}

/** Much longer than anything here takes. */
const generousMs = 200_000;

type Worker = ReturnType<TurnRig['worker']>;

async function openRig() {
  const database = await withTestDatabase();
  const gate = gateTool();
  const rig = await createTurnRig(database.url, { tools: [gate.tool], leaseMs: 60_000 });
  return {
    rig,
    gate,
    /** The state after a process was killed: its leases have expired, its turns are open. */
    kill: async (worker: Worker): Promise<void> => {
      worker.stop();
      await expireLeases(rig, { owner: worker.context.store.locks.owner });
      await changeDoorbells(rig, {}, { dueAt: now });
    },
    close: async (): Promise<void> => {
      await rig.close();
      await database.drop();
    },
  };
}

async function statusesOf(rig: TurnRig): Promise<unknown[]> {
  return grouped(await readInputs(rig, {}, 'status'), 'status');
}

const names = Array.from({ length: 12 }, (_, index) => `crowd-${index}`);

describe('a process that is killed', () => {
  test(
    'with many turns in it, three times in a row, poisons none of them (G17)',
    { timeout: 3 * generousMs },
    async () => {
      const { rig, gate, kill, close } = await openRig();
      for (const name of names) await rig.send(name, `[[tool: gate {"key":"${name}"}]] [[reply: there]]`);
      for (let death = 1; death <= 3; death += 1) {
        const worker = rig.worker();
        gate.entered.length = 0;
        let heldBack = 0;
        for (const name of names) void worker.run(name).then(({ kind }) => (heldBack += kind === 'early' ? 1 : 0));
        // After two crashes they are suspects, and a worker runs one suspect at a time.
        const inside = death <= 2 ? names.length : 1;
        const seen = (): number[] => [gate.entered.length, heldBack];
        await expect.poll(seen, { timeout: generousMs, interval: 5 }).toEqual([inside, names.length - inside]);
        await kill(worker);
      }
      gate.state.isClosed = false;
      const worker = rig.worker();
      const left = async (): Promise<unknown> => {
        await changeDoorbells(rig, {}, { dueAt: noLaterThanNow });
        for (const name of names) await worker.run(name);
        return await countInputs(rig, { status: ['waiting', 'claimed'] });
      };
      await expect.poll(left, { timeout: generousMs, interval: 5 }).toBe(0);
      expect(await statusesOf(rig)).toEqual([{ status: 'answered', n: names.length }]);
      expect(await readDeadLetters(rig)).toEqual([]);
      worker.stop();
      await close();
    },
  );

  test(
    'by one of many turns is found: that turn alone is dead-lettered, and the others are answered (G17)',
    { timeout: 3 * generousMs },
    async () => {
      const { rig, gate, kill, close } = await openRig();
      for (const name of names) await rig.send(name, `[[tool: gate {"key":"${name}"}]] [[reply: there]]`);
      await rig.send('poison', '[[tool: gate {"key":"poison"}]]');
      const all = [...names, 'poison'];
      const poisonStatus = async (): Promise<unknown> =>
        (await readTurns(rig, { sessionId: await rig.sessionOf('poison') }, 'status'))[0]?.['status'];
      let deaths = 0;
      for (; deaths < 10 && (await poisonStatus()) !== 'failed'; deaths += 1) {
        const worker = rig.worker();
        const before = gate.entered.filter((key) => key === 'poison').length;
        const killer = async (): Promise<boolean> => {
          await changeDoorbells(rig, {}, { dueAt: noLaterThanNow });
          void Promise.all(all.map((name) => worker.run(name)));
          const isIn = gate.entered.filter((key) => key === 'poison').length > before;
          // It kills the process whenever it runs; the first time while all others run there.
          return (
            (isIn && (deaths > 1 || gate.entered.length >= all.length * (deaths + 1))) ||
            (await poisonStatus()) === 'failed'
          );
        };
        await expect.poll(killer, { timeout: generousMs, interval: 20 }).toBe(true);
        if (deaths === 1) gate.state.isClosed = false;
        await kill(worker);
      }
      expect(deaths).toBeLessThanOrEqual(6);
      const last = rig.worker();
      const left = async (): Promise<unknown> => {
        await changeDoorbells(rig, {}, { dueAt: noLaterThanNow });
        for (const name of all) await last.run(name);
        return await countInputs(rig, { status: ['waiting', 'claimed'] });
      };
      await expect.poll(left, { timeout: generousMs, interval: 5 }).toBe(0);
      expect(await statusesOf(rig)).toEqual([
        { status: 'answered', n: names.length },
        { status: 'failed', n: 1 },
      ]);
      expect(await readDeadLetters(rig, {}, 'code')).toEqual([{ code: 'poison' }]);
      last.stop();
      await close();
    },
  );

  test(
    'with a single turn in it counts against that turn: three deaths are enough (G17)',
    { timeout: generousMs },
    async () => {
      const { rig, gate, kill, close } = await openRig();
      const message = await rig.send('alone', '[[tool: gate {"key":"poison"}]]');
      for (let death = 1; death <= 3; death += 1) {
        const worker = rig.worker();
        void worker.run('alone');
        await expect.poll(() => gate.entered.length, { timeout: generousMs, interval: 5 }).toBe(death);
        await kill(worker);
      }
      const worker = rig.worker();
      await worker.run('alone');
      expect((await readInputs(rig, { id: message }, 'status', 'error'))[0]).toMatchObject({
        status: 'failed',
      });
      expect(await readDeadLetters(rig, {}, 'code')).toEqual([{ code: 'poison' }]);
      worker.stop();
      await close();
    },
  );
});

test(
  'a turn that was taken over is one line that names it, its attempt and its deaths',
  { timeout: generousMs },
  async () => {
    const { rig, gate, kill, close } = await openRig();
    await rig.send('taken', '[[tool: gate {"key":"taken"}]] [[reply: there]]', {
      options: { tags: { customer: '42' } },
    });
    const dying = rig.worker();
    void dying.run('taken');
    await expect.poll(() => gate.entered.length, { timeout: generousMs, interval: 5 }).toBe(1);
    await kill(dying);
    gate.state.isClosed = false;
    const lines: Record<string, unknown>[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
    const worker = rig.worker({ logger: createLogger({ level: 'info', format: 'json', name: 'test', destination }) });
    expect(await worker.run('taken')).toMatchObject({ kind: 'ended' });
    const [turn] = await readTurns(rig, {}, 'id');
    expect(lines.filter(({ msg }) => msg === 'Turn taken over')).toMatchObject([
      {
        turnId: turn?.['id'],
        sessionKey: 'agent:main:taken',
        agentId: 'main',
        kind: 'message',
        lane: 'main',
        attempt: 2,
        deaths: 1,
        tags: { customer: '42' },
      },
    ]);
    worker.stop();
    await close();
  },
);

test(
  'a stopped suspect ends immediately, though another suspect is running (G24)',
  { timeout: generousMs },
  async () => {
    const { rig, gate, kill, close } = await openRig();
    const suspects = ['first', 'second'];
    for (const name of suspects) await rig.send(name, `[[tool: gate {"key":"${name}"}]]`);
    const dying = rig.worker();
    for (const name of suspects) void dying.run(name);
    await expect.poll(() => gate.entered.length, { timeout: generousMs, interval: 5 }).toBe(2);
    await kill(dying);
    await changeTurns(rig, {}, { crowdDeaths: 2 });
    const worker = rig.worker();
    void worker.run('first');
    await expect.poll(() => gate.entered.length, { timeout: generousMs, interval: 5 }).toBe(3);
    expect(await worker.run('second')).toMatchObject({ kind: 'early' });
    await abortSession(rig, { sessionKey: 'agent:main:second', keepQueued: true });
    expect(await worker.run('second')).toMatchObject({ kind: 'ended' });
    expect(await statusesOf(rig)).toEqual([
      { status: 'cancelled', n: 1 },
      { status: 'claimed', n: 1 },
    ]);
    worker.stop();
    await close();
  },
);

describe('a process that stalls before it has opened its turns', () => {
  /**
   * A process that claims sessions and opens no turn before their leases have run out; it may be
   * the same one each time.
   */
  async function stall(rig: TurnRig, owner: string, sessions: readonly string[]): Promise<string[]> {
    await changeDoorbells(rig, {}, { dueAt: noLaterThanNow });
    const { store } = rig.worker().context;
    const kinds = [];
    for (const name of sessions) {
      const sessionId = await rig.sessionOf(name);
      const { kind } = await store.claim({ sessionId, owner, leaseMs: 60_000, known: { version: -1, seq: 0 } });
      kinds.push(kind);
    }
    await changeSessions(rig, { owner }, { leaseExpiresAt: now });
    return kinds;
  }

  async function runAll(rig: TurnRig, sessions: readonly string[]): Promise<void> {
    await changeDoorbells(rig, {}, { dueAt: noLaterThanNow });
    const worker = rig.worker();
    for (const name of sessions) await worker.run(name);
    worker.stop();
  }

  test.each([
    { whose: 'the same process each time', owners: ['stalled', 'stalled', 'stalled', 'stalled'] },
    { whose: 'another process each time', owners: ['one', 'two', 'three', 'four'] },
  ])(
    'with many sessions claimed, by $whose, poisons none of them (G17, G33)',
    { timeout: generousMs },
    async ({ owners }) => {
      const { rig, close } = await openRig();
      for (const name of names) await rig.send(name, `[[reply: there]]`);
      const claims = [];
      for (const owner of owners) claims.push(await stall(rig, owner, names));
      // After two stalls all of them are suspects, and a process claims one suspect at a time.
      const claimedOnes = claims.map((kinds) => kinds.filter((kind) => kind === 'claimed').length);
      expect(claimedOnes).toEqual([names.length, names.length, 1, 1]);
      await runAll(rig, names);
      expect(await statusesOf(rig)).toEqual([{ status: 'answered', n: names.length }]);
      expect(await readDeadLetters(rig)).toEqual([]);
      await close();
    },
  );

  test(
    'because of one of many sessions finds it: that one alone fails (G17, G33)',
    { timeout: generousMs },
    async () => {
      const { rig, close } = await openRig();
      const all = [...names, 'poison'];
      for (const name of all) await rig.send(name, `[[reply: there]]`);
      for (const owner of ['one', 'two']) await stall(rig, owner, all);
      await runAll(rig, names);
      for (const owner of ['three', 'four', 'five']) expect(await stall(rig, owner, ['poison'])).toEqual(['claimed']);
      await runAll(rig, ['poison']);
      expect(await statusesOf(rig)).toEqual([
        { status: 'answered', n: names.length },
        { status: 'failed', n: 1 },
      ]);
      expect(await readDeadLetters(rig, {}, 'code')).toEqual([{ code: 'poison' }]);
      await close();
    },
  );
});
