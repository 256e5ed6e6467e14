// The effects of messages to a busy session, mode by mode, on a real database with a real worker.
// The turn is held inside a tool; messages that arrive then are processed when the tool continues.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tool } from '../../src/tools/tool.ts';
import { readToolCalls } from '../rows/calls.ts';
import { endGathering } from '../rows/doorbells.ts';
import { countEntries, readEntries } from '../rows/entries.ts';
import { readInputsWithTurns } from '../rows/inputs.ts';
import { changeSessions } from '../rows/sessions.ts';
import { SLOWNESS_MAX } from '../servers/busy-machine.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;
let entered: PromiseWithResolvers<void>;
let gate: PromiseWithResolvers<void>;
let runs: string[];

const hold: Tool = {
  spec: {
    name: 'hold',
    description: 'Waits',
    input_schema: { type: 'object', properties: { key: { type: 'string' } } },
  },
  summary: 'Waits',
  isIdempotent: false,
  async run(input, { signal }) {
    runs.push((input as { key: string }).key);
    entered.resolve();
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    await Promise.race([gate.promise, aborted]);
    return { content: 'held', isError: false };
  },
};

const once: Tool = {
  ...hold,
  spec: { ...hold.spec, name: 'once' },
  async run(input) {
    runs.push((input as { key: string }).key);
    return { content: 'done', isError: false };
  },
};

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [hold, once] });
  const made = rig;
  onEnd(() => made.close());
});
beforeEach(() => {
  entered = Promise.withResolvers();
  gate = Promise.withResolvers();
  runs = [];
});

const busyText = '[[tool: hold {"key":"first"}]] [[tool: once {"key":"second"}]] [[reply: done]]';

/** A session whose turn is inside its first tool, and controls for it. */
async function busySession(name: string) {
  const worker = rig.worker();
  const message = await rig.send(name, busyText);
  const running = worker.run(name);
  await entered.promise;
  return {
    message,
    worker,
    /** Lets the tool continue, and resolves when the turn is over. */
    async goOn() {
      gate.resolve();
      return await running;
    },
    running,
  };
}

/** Ends the time in which waiting messages are gathered. */
async function gathered(name: string): Promise<void> {
  await endGathering(rig, { sessionId: await rig.sessionOf(name) });
}

async function inboxOf(name: string): Promise<Record<string, unknown>[]> {
  const inputs = await readInputsWithTurns(rig, { sessionId: await rig.sessionOf(name) });
  return inputs.map(({ kind, status, disposition, text, turn }) => ({
    kind,
    status,
    disposition,
    text,
    turn: turn?.status ?? null,
  }));
}

async function entriesOf(name: string, state = 'active'): Promise<unknown[]> {
  const rows = await readEntries(rig, { sessionId: await rig.sessionOf(name), state }, 'kind');
  return rows.map(({ kind }) => kind);
}

/** The last messages that the model received for a session, as text. */
function lastSent(name: string): string {
  const request = rig.scripted.requests.findLast(
    ({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`,
  );
  const { messages } = (request?.body ?? { messages: [] }) as { messages: unknown[] };
  return JSON.stringify(messages.at(-1));
}

describe('steer', () => {
  test('joins the running turn after its tool results, and is answered with it (G1, G3)', async () => {
    const busy = await busySession('steer');
    await rig.send('steer', 'look left', { mode: 'steer' });
    await busy.goOn();
    const kinds = ['prompt', 'answer', 'results', 'steer', 'answer', 'results', 'answer'];
    expect(await entriesOf('steer')).toEqual(kinds);
    expect(JSON.stringify(rig.scripted.requests.map(({ body }) => body))).toMatch(
      /tool_result.{0,200}held.{0,200}look left/,
    );
    expect(await inboxOf('steer')).toMatchObject([
      { status: 'answered', disposition: 'queued', turn: 'completed' },
      { status: 'answered', disposition: 'steered', turn: 'completed', text: 'look left' },
    ]);
    busy.worker.stop();
  });

  test('comes before tools that have not begun: those are skipped, each with its result', async () => {
    const worker = rig.worker();
    const name = 'steer-skip';
    // The message arrives during a model call whose answer then calls a tool that must not begin.
    await rig.send(name, '[[delay: 300]] [[tool: once {"key":"never"}]] [[reply: done]]');
    const running = worker.run(name);
    await expect
      .poll(() => rig.scripted.requests.some(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`))
      .toBe(true);
    await rig.send(name, 'stop that', { mode: 'steer' });
    await running;
    expect(runs).toEqual([]);
    expect(lastSent(name)).toMatch(/Skipped due to queued user message.*stop that/);
    expect(await readToolCalls(rig, { sessionId: await rig.sessionOf(name) }, 'status')).toEqual([
      { status: 'skipped' },
    ]);
    worker.stop();
  });

  test('from another route does not join: it is the next turn (G6)', async () => {
    const busy = await busySession('steer-route');
    await rig.send('steer-route', 'from elsewhere', { mode: 'steer', chatId: 'other' });
    expect(await busy.goOn()).toMatchObject({ kind: 'ended', after: { rings: [{ kind: 'followup' }] } });
    expect(await entriesOf('steer-route')).not.toContain('steer');
    await gathered('steer-route');
    await busy.worker.run('steer-route');
    expect(await inboxOf('steer-route')).toMatchObject([{}, { status: 'answered', disposition: 'steered' }]);
    busy.worker.stop();
  });

  test('that arrived too late is the next turn, immediately', async () => {
    const busy = await busySession('steer-late');
    gate.resolve();
    const ended = busy.running;
    // Whether or not it joins, it is answered exactly once.
    await rig.send('steer-late', 'late', { mode: 'steer' });
    const outcome = await ended;
    if (outcome.kind === 'ended' && outcome.after.rings.length > 0) {
      await gathered('steer-late');
      await busy.worker.run('steer-late');
    }
    expect(await inboxOf('steer-late')).toMatchObject([{ status: 'answered' }, { status: 'answered', text: 'late' }]);
    busy.worker.stop();
  });

  test('with a backlog is answered in the turn, and again in its own turn', async () => {
    const busy = await busySession('backlog');
    await rig.send('backlog', 'and this', { mode: 'steer-backlog' });
    await busy.goOn();
    await gathered('backlog');
    await busy.worker.run('backlog');
    expect(await inboxOf('backlog')).toMatchObject([
      { kind: 'message', status: 'answered' },
      { kind: 'message', status: 'answered', text: 'and this' },
      { kind: 'followup', status: 'answered', text: 'and this' },
    ]);
    busy.worker.stop();
  });
});

describe('interrupt', () => {
  test('ends the turn within a second, and its message is next, with the hint once (G24)', async () => {
    const busy = await busySession('interrupt');
    const from = performance.now();
    await rig.send('interrupt', 'this instead', { mode: 'interrupt' });
    expect(await busy.running).toMatchObject({ kind: 'ended', after: { rings: [{ kind: 'followup', dueInMs: 0 }] } });
    expect(performance.now() - from).toBeLessThan(1_000 * SLOWNESS_MAX);
    await busy.worker.run('interrupt');
    expect(runs).toEqual(['first']);
    expect(lastSent('interrupt')).toContain('The previous agent run was aborted by the user.');
    expect(await inboxOf('interrupt')).toMatchObject([
      { status: 'cancelled', turn: 'aborted' },
      { status: 'answered', disposition: 'interrupting', turn: 'completed' },
    ]);
    busy.worker.stop();
  });

  test('with a rollback removes the turn from the active path, and its rows stay (G15)', async () => {
    const busy = await busySession('rollback');
    await rig.send('rollback', 'from the start', { mode: 'rollback' });
    await busy.running;
    await busy.worker.run('rollback');
    expect(await entriesOf('rollback')).toEqual(['prompt', 'answer']);
    expect(await entriesOf('rollback', 'hidden')).toEqual(['prompt', 'answer']);
    expect(lastSent('rollback')).not.toContain('aborted');
    expect(lastSent('rollback')).not.toContain('hold');
    busy.worker.stop();
  });
});

describe('a message that must not wait', () => {
  test('is rejected when the session is busy, and accepted when it is not', async () => {
    const busy = await busySession('reject');
    await rig.send('reject', 'only now', { mode: 'reject' });
    await busy.goOn();
    await rig.send('reject', 'only now', { mode: 'reject' });
    await busy.worker.run('reject');
    expect(await inboxOf('reject')).toMatchObject([
      {},
      { status: 'dropped', disposition: 'rejected' },
      { status: 'answered', disposition: 'queued' },
    ]);
    busy.worker.stop();
  });
});

describe('waiting messages', () => {
  test('are answered in order, `cap` messages in a turn, and none is dropped (G3, G4, G5)', async () => {
    const busy = await busySession('wait');
    const sent = Array.from({ length: 45 }, (_, index) => `note ${index + 1}.`);
    for (const text of sent) await rig.send('wait', text);
    // A full turn waits, so nothing is gathered.
    expect(await busy.goOn()).toMatchObject({ kind: 'ended', after: { rings: [{ kind: 'followup', dueInMs: 0 }] } });
    expect(await busy.worker.run('wait')).toMatchObject({
      kind: 'ended',
      after: { rings: [{ kind: 'followup', dueInMs: 0 }] },
    });
    expect(await busy.worker.run('wait')).toMatchObject({
      kind: 'ended',
      after: { rings: [{ kind: 'followup', dueInMs: expect.any(Number) }] },
    });
    await gathered('wait');
    expect(await busy.worker.run('wait')).toMatchObject({ kind: 'ended', after: { rings: [] } });
    const prompts = await readEntries(rig, { sessionId: await rig.sessionOf('wait'), kind: 'prompt' }, 'content');
    const taken = prompts.map(({ content }) => JSON.stringify(content).match(/note \d+\./g) ?? []);
    expect(taken.map(({ length }) => length)).toEqual([0, 20, 20, 5]);
    expect(taken.flat()).toEqual(sent);
    expect((await inboxOf('wait')).filter(({ status }) => status !== 'answered')).toEqual([]);
    busy.worker.stop();
  });

  test('let a cron and an announcement between them have their turns in order (G3, G4)', async () => {
    const busy = await busySession('mixed');
    for (let n = 1; n <= 25; n += 1) await rig.send('mixed', `note ${n}.`);
    await rig.send('mixed', 'tick', {}, 'cron');
    await rig.send('mixed', 'note 26.');
    await busy.goOn();
    const lasts: string[] = [];
    for (let turns = 0; turns < 4; turns += 1) {
      await gathered('mixed');
      await busy.worker.run('mixed');
      lasts.push(/note \d+\.(?!.*note)|tick/.exec(lastSent('mixed'))?.[0] ?? 'nothing');
    }
    expect(lasts).toEqual(['note 20.', 'note 25.', 'tick', 'note 26.']);
    expect(await busy.worker.run('mixed')).toMatchObject({ kind: 'idle' });
    busy.worker.stop();
  });

  test('join a running turn `cap` messages at a time when they steer, and none is left out (G1, G3)', async () => {
    const busy = await busySession('steer-many');
    await changeSessions(rig, { id: await rig.sessionOf('steer-many') }, { queueCap: 20 });
    const sent = Array.from({ length: 60 }, (_, index) => `steer ${index + 1}.`);
    for (const text of sent) await rig.send('steer-many', text, { mode: 'steer' });
    await busy.goOn();
    for (let turns = 0; turns < 3; turns += 1) {
      await gathered('steer-many');
      await busy.worker.run('steer-many');
    }
    const entries = await readEntries(rig, { sessionId: await rig.sessionOf('steer-many'), role: 'user' }, 'content');
    expect(entries.flatMap(({ content }) => JSON.stringify(content).match(/steer \d+\./g) ?? [])).toEqual(sent);
    expect((await inboxOf('steer-many')).filter(({ status }) => status !== 'answered')).toEqual([]);
    busy.worker.stop();
  });

  test('over the cap are dropped with a line for each where the policy is `summarize` (G5)', async () => {
    const busy = await busySession('collect');
    await changeSessions(rig, { id: await rig.sessionOf('collect') }, { queueDrop: 'summarize' });
    for (let n = 1; n <= 23; n += 1) await rig.send('collect', `note ${n}`);
    const outcome = await busy.goOn();
    expect(outcome).toMatchObject({
      kind: 'ended',
      after: { rings: [{ kind: 'followup', dueInMs: expect.any(Number) }] },
    });
    await gathered('collect');
    await busy.worker.run('collect');
    const prompt = lastSent('collect');
    expect(prompt).toContain(
      '[Queue overflow] Dropped 3 messages due to cap.\\nSummary:\\n- note 1\\n- note 2\\n- note 3',
    );
    expect(prompt).toContain('Queued #20\\nnote 23');
    const inbox = await inboxOf('collect');
    expect(inbox.filter(({ status }) => status === 'dropped')).toHaveLength(3);
    expect(inbox.filter(({ status }) => status === 'answered')).toHaveLength(21);
    busy.worker.stop();
  });

  test('are gathered until none has arrived for a while, and no longer than the bound', async () => {
    const busy = await busySession('gather');
    await rig.send('gather', 'one');
    expect(await busy.goOn()).toMatchObject({
      kind: 'ended',
      after: { rings: [{ kind: 'followup', dueInMs: expect.any(Number) }] },
    });
    const early = await busy.worker.run('gather');
    expect(early.kind).toBe('early');
    await gathered('gather');
    expect(await busy.worker.run('gather')).toMatchObject({ kind: 'ended' });
    busy.worker.stop();
  });

  test('get one turn each in mode followup (G3)', async () => {
    const busy = await busySession('followup');
    await rig.send('followup', 'one', { mode: 'followup' });
    await rig.send('followup', 'two', { mode: 'followup' });
    await busy.goOn();
    for (const text of ['one', 'two']) {
      await gathered('followup');
      await busy.worker.run('followup');
      expect(lastSent('followup')).toContain(text);
    }
    busy.worker.stop();
  });
});

describe('a message that begins a new session', () => {
  test('ends the transcript before it, and the old one stays (G15)', async () => {
    const worker = rig.worker();
    await rig.send('new', 'remember the blue door');
    await worker.run('new');
    await rig.send('new', '/new hello');
    await worker.run('new');
    const sent = rig.scripted.requests.findLast(({ headers }) => headers['x-holdfast-session'] === 'agent:main:new');
    expect(JSON.stringify(sent?.body)).not.toContain('blue door');
    expect(sent?.body).toMatchObject({ messages: [{ role: 'user' }] });
    expect(lastSent('new')).toMatch(/hello"/);
    expect(await countEntries(rig, { sessionId: await rig.sessionOf('new'), transcriptNo: 1 })).toBe(2);
    await rig.send('new', '/reset');
    await worker.run('new');
    expect(lastSent('new')).toContain('A new session was started via /new or /reset.');
    worker.stop();
  });
});
