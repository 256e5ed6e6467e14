import { describe, expect, test } from 'vitest';
import { FileSystemHangsError } from '../../src/files/file-slots.ts';
import { LOST_CLAIMS_MAX } from '../../src/kernel/turn/open/start-turn.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readToolCalls } from '../rows/calls.ts';
import { countDeadLetters, readDeadLetters } from '../rows/dead-letters.ts';
import { readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { changeSessions, expireLeases } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { SLOWNESS_MAX } from '../servers/busy-machine.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

/** A tool that counts its runs by argument, and can be made to wait. */
function countingTool(name: string, isIdempotent: boolean) {
  const runs: string[] = [];
  let gate: Promise<void> | null = null;
  const tool: Tool = {
    spec: { name, description: name, input_schema: { type: 'object', properties: { key: { type: 'string' } } } },
    summary: name,
    isIdempotent,
    async run(input, call) {
      runs.push((input as { key: string }).key);
      if (gate !== null) {
        const aborted = new Promise<never>((_, reject) => {
          call.signal.addEventListener('abort', () => reject(call.signal.reason), { once: true });
        });
        await Promise.race([gate, aborted]);
      }
      return { content: `ran ${(input as { key: string }).key}`, isError: false };
    },
  };
  return {
    tool,
    runs,
    /** Makes every run wait until the returned function is called. */
    close(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = null;
        resolve();
      };
    },
    /** Resolves when the tool has been entered with that key this many times. */
    async entered(key: string, times = 1): Promise<void> {
      const count = (): number => runs.filter((one) => one === key).length;
      await expect.poll(count, { interval: 5 }).toBeGreaterThanOrEqual(times);
    },
  };
}

let rig: TurnRig;
let effect: ReturnType<typeof countingTool>;
let lookup: ReturnType<typeof countingTool>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  effect = countingTool('effect', false);
  lookup = countingTool('lookup', true);
  rig = await createTurnRig(database.url, { tools: [effect.tool, lookup.tool] });
  const made = rig;
  onEnd(() => made.close());
});

/** The messages of the last request that the model received for a session. */
function lastRequest(name: string): { role: string; content: { type: string; [key: string]: unknown }[] }[] {
  const requests = rig.scripted.requests.filter(
    (request) => request.headers['x-holdfast-session'] === `agent:main:${name}`,
  );
  const last = requests.at(-1);
  if (last === undefined) throw new Error(`The model received no request for ${name}.`);
  return (last.body as { messages: never[] }).messages;
}

async function statusOf(messageId: string): Promise<unknown> {
  const [row] = await readInputs(rig, { id: messageId }, 'status');
  return row?.['status'];
}

async function entriesOf(name: string): Promise<unknown[]> {
  const rows = await readEntries(rig, { sessionId: await rig.sessionOf(name) }, 'kind');
  return rows.map((row) => row['kind']);
}

/** The state after a worker crashed: its lease has expired, its turn is open. */
async function letLeaseRunOut(name: string): Promise<void> {
  await expireLeases(rig, { id: await rig.sessionOf(name) });
}

describe('a turn', () => {
  test('answers a message and releases its session', async () => {
    const worker = rig.worker();
    const message = await rig.send('plain', 'hello');
    expect(await worker.run('plain')).toMatchObject({ kind: 'ended', after: { rings: [] } });
    expect(await statusOf(message)).toBe('answered');
    expect(await worker.run('plain')).toEqual({ kind: 'idle' });
    worker.stop();
  });

  test('that cannot be opened because a file system hangs is left to another worker, however often (G17)', async () => {
    const hanging = rig.worker({ features: [{ tools: () => Promise.reject(new FileSystemHangsError()) }] });
    const message = await rig.send('hanging', 'hello');
    for (let attempt = 1; attempt <= LOST_CLAIMS_MAX + 1; attempt += 1) {
      expect(await hanging.run('hanging')).toMatchObject({ kind: 'released', after: { rings: [{}] } });
    }
    expect(await statusOf(message)).toBe('claimed');
    expect(await rig.worker().run('hanging')).toMatchObject({ kind: 'ended' });
    expect(await statusOf(message)).toBe('answered');
  });

  test('refuses a call whose arguments have a NUL, and runs none without it', async () => {
    const worker = rig.worker();
    await rig.send('nul', String.raw`[[tool: effect {"key":"a\u0000nul"}]] [[reply: done]]`);
    await worker.run('nul');
    expect(effect.runs).not.toContain('anul');
    expect(JSON.stringify(lastRequest('nul'))).toContain('has a NUL character');
    worker.stop();
  });

  test('runs tools in sequence and in parallel, with results in source order (G11)', async () => {
    const worker = rig.worker();
    await rig.send(
      'tools',
      '[[tool: effect {"key":"a"}]] [[tool: effect {"key":"b"}]] & [[tool: lookup {"key":"c"}]] [[reply: done]]',
    );
    await worker.run('tools');
    expect(await entriesOf('tools')).toEqual(['prompt', 'answer', 'results', 'answer', 'results', 'answer']);
    const results = lastRequest('tools')
      .at(-1)
      ?.content.map((block) => block['content']);
    expect(results).toEqual(['ran b', 'ran c']);
    const ledger = await readToolCalls(
      rig,
      { sessionId: await rig.sessionOf('tools') },
      'name',
      'status',
      'step',
      'ordinal',
    );
    expect(ledger).toEqual([
      { name: 'effect', status: 'done', step: 1, ordinal: 1 },
      { name: 'effect', status: 'done', step: 2, ordinal: 1 },
      { name: 'lookup', status: 'done', step: 2, ordinal: 2 },
    ]);
    worker.stop();
  });

  test('of calls at the same time, each keeps its own end', async () => {
    const open = effect.close();
    const worker = rig.worker();
    const sessionId = await rig.sessionOf('ends');
    await rig.send('ends', '[[tool: lookup {"key":"short"}]] & [[tool: effect {"key":"long"}]] [[reply: done]]');
    const running = worker.run('ends');
    const ledger = () => readToolCalls(rig, { sessionId }, 'status', 'endedAt');
    await expect.poll(ledger, { interval: 5 }).toMatchObject([{ status: 'done' }, { status: 'intent' }]);
    const [before] = await ledger();
    open();
    await running;
    const [short, long] = await ledger();
    expect(short).toEqual(before);
    expect(Number(long!.endedAt)).toBeGreaterThan(Number(short!.endedAt));
    worker.stop();
  });

  test('answers unknown tools and malformed input with error results and continues', async () => {
    const worker = rig.worker();
    const message = await rig.send(
      'bad-tools',
      '[[tool: nothing {}]] [[malformed]] [[tool: effect {"key":"never"}]] [[reply: still here]]',
    );
    await worker.run('bad-tools');
    expect(await statusOf(message)).toBe('answered');
    expect(effect.runs).not.toContain('never');
    worker.stop();
  });

  test('takes waiting messages together, in their order, and answers each (G3, G4)', async () => {
    const worker = rig.worker();
    const ids = [
      await rig.send('collect', 'first'),
      await rig.send('collect', 'second'),
      await rig.send('collect', 'third'),
    ];
    await worker.run('collect');
    const text = String(lastRequest('collect').at(-1)?.content[0]?.['text']);
    expect(text).toMatch(/first[\s\S]*second[\s\S]*third/);
    expect(await Promise.all(ids.map(statusOf))).toEqual(['answered', 'answered', 'answered']);
    worker.stop();
  });

  test('takes a followup message alone', async () => {
    const worker = rig.worker();
    await rig.send('followup', 'one', { mode: 'followup' });
    await rig.send('followup', 'two', { mode: 'followup' });
    expect(await worker.run('followup')).toMatchObject({
      kind: 'ended',
      after: { rings: [{ kind: 'followup', lane: 'main' }] },
    });
    expect(await worker.run('followup')).toMatchObject({ kind: 'ended', after: { rings: [] } });
    expect(await entriesOf('followup')).toEqual(['prompt', 'answer', 'prompt', 'answer']);
    worker.stop();
  });

  test('has no reply when the model asks for silence', async () => {
    const worker = rig.worker();
    const message = await rig.send('silent', '[[reply: NO_REPLY]]');
    await worker.run('silent');
    expect(await statusOf(message)).toBe('silent');
    worker.stop();
  });
});

describe('a model that fails', () => {
  test('is called again within the stored budget, each call charged before it (G16)', async () => {
    const worker = rig.worker();
    const message = await rig.send('overloaded', '[[error: 529 times=2]] [[reply: at last]]');
    await worker.run('overloaded');
    expect(await statusOf(message)).toBe('answered');
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('overloaded') }, 'calls', 'retries');
    expect(turn).toEqual({ calls: 3, retries: 2 });
    worker.stop();
  });

  test('is not called again after a 400, and the refused prompt does not fail the next turn (G16)', async () => {
    const worker = rig.worker();
    const refused = await rig.send('refused', '[[error: 400]]');
    await worker.run('refused');
    expect(await statusOf(refused)).toBe('failed');
    const next = await rig.send('refused', 'and now?');
    await worker.run('refused');
    expect(await statusOf(next)).toBe('answered');
    expect(JSON.stringify(lastRequest('refused'))).not.toContain('error: 400');
    worker.stop();
  });

  test('a cut stream stores no entry and runs no tool (G12)', async () => {
    const worker = rig.worker();
    await rig.send('cut', '[[cut: after=3]] [[tool: effect {"key":"from-cut"}]] [[reply: whole]]');
    await worker.run('cut');
    expect(effect.runs.filter((key) => key === 'from-cut')).toHaveLength(1);
    expect(await entriesOf('cut')).toEqual(['prompt', 'answer', 'results', 'answer']);
    worker.stop();
  });

  test('a wait that the provider asks for does not occupy the worker', async () => {
    const worker = rig.worker();
    await rig.send('parked', '[[error: 429 retry-after=30]] [[reply: later]]', { model: 'anthropic/limited' });
    expect(await worker.run('parked')).toMatchObject({ kind: 'parked', after: { rings: [] } });
    expect(await worker.run('parked')).toMatchObject({ kind: 'early', after: { rings: [] } });
    worker.stop();
  });
});

describe('a worker that crashes', () => {
  test('leaves finished calls finished, and the outcome of an unfinished non-idempotent call unknown (G11)', async () => {
    // Method: a worker is cut off while a tool runs, as a kill would do; its later writes are
    // fenced. Another worker takes over.
    const open = effect.close();
    const first = rig.worker();
    const message = await rig.send(
      'death',
      '[[tool: lookup {"key":"done-before"}]] [[tool: effect {"key":"in-flight"}]] [[reply: survived]]',
    );
    const dying = first.run('death');
    await effect.entered('in-flight');
    first.stop();
    await letLeaseRunOut('death');

    const second = rig.worker();
    expect(await second.run('death')).toMatchObject({ kind: 'ended' });
    open();
    expect(await dying).toEqual({ kind: 'lost' });

    expect(effect.runs.filter((key) => key === 'in-flight')).toHaveLength(1);
    expect(lookup.runs.filter((key) => key === 'done-before')).toHaveLength(1);
    expect(await statusOf(message)).toBe('answered');
    expect(JSON.stringify(lastRequest('death'))).toContain('outcome unknown');
    expect(await entriesOf('death')).toEqual(['prompt', 'answer', 'results', 'answer', 'results', 'answer']);
    second.stop();
  });

  test('has its idempotent call run again, once (G11)', async () => {
    const open = lookup.close();
    const first = rig.worker();
    await rig.send('again', '[[tool: lookup {"key":"repeatable"}]] [[reply: fine]]');
    const dying = first.run('again');
    await lookup.entered('repeatable');
    first.stop();
    await letLeaseRunOut('again');
    const second = rig.worker();
    const heir = second.run('again');
    await lookup.entered('repeatable', 2);
    open();
    await Promise.all([heir, dying]);
    expect(lookup.runs.filter((key) => key === 'repeatable')).toHaveLength(2);
    const [call] = await readToolCalls(rig, { sessionId: await rig.sessionOf('again') }, 'status', 'runs');
    expect(call).toEqual({ status: 'done', runs: 2 });
    second.stop();
  });

  test('for the third time fails the turn with a dead letter, and the session continues (G17)', async () => {
    const open = effect.close();
    const message = await rig.send('poison', '[[tool: effect {"key":"poison"}]] [[reply: never]]');
    const sessionId = await rig.sessionOf('poison');
    const dying: Promise<unknown>[] = [];
    for (let death = 1; death <= 3; death += 1) {
      const worker = rig.worker();
      if (death === 1) {
        dying.push(worker.run('poison'));
        await effect.entered('poison');
      } else {
        await worker.context.store.claim({
          sessionId,
          owner: `dies-${death}`,
          leaseMs: 1_000,
          known: { version: -1, seq: 0 },
        });
      }
      worker.stop();
      await letLeaseRunOut('poison');
    }
    const last = rig.worker();
    await last.run('poison');
    open();
    await Promise.all(dying);
    expect(await statusOf(message)).toBe('failed');
    expect(await readDeadLetters(rig, { sessionId }, 'code')).toEqual([{ code: 'poison' }]);
    const next = await rig.send('poison', 'are you there?');
    await last.run('poison');
    expect(await statusOf(next)).toBe('answered');
    last.stop();
  });
});

describe('a message that keeps workers from opening its turn', () => {
  /**
   * A worker that stalls between the claim and the opening of the turn until its lease has run out.
   */
  async function loseClaim(name: string): Promise<void> {
    const worker = rig.worker();
    const reached = Promise.withResolvers<void>();
    worker.context.store.openTurn = () => {
      reached.resolve();
      return new Promise(() => undefined);
    };
    void worker.run(name);
    await reached.promise;
    worker.stop();
    await letLeaseRunOut(name);
  }

  test('fails with a dead letter after three claims, and the session continues with the next messages (G17)', async () => {
    const message = await rig.send('unopened', 'a message that no worker survives', { mode: 'followup' });
    const rest = await rig.send('unopened', 'are you there?', { mode: 'followup' });
    for (let claim = 1; claim <= 3; claim += 1) await loseClaim('unopened');
    const worker = rig.worker();
    expect(await worker.run('unopened')).toMatchObject({ kind: 'ended' });
    expect(await statusOf(message)).toBe('failed');
    expect(await statusOf(rest)).toBe('waiting');
    const [letter] = await readDeadLetters(rig, { sessionId: await rig.sessionOf('unopened') }, 'code', 'reason');
    expect(letter).toMatchObject({ code: 'poison', reason: expect.stringContaining('claimed 3 times') });
    await worker.run('unopened');
    expect(await statusOf(rest)).toBe('answered');
    expect(JSON.stringify(lastRequest('unopened'))).not.toContain('no worker survives');
    worker.stop();
  });

  test('also fails when the worker that ends it crashes while it does so, and no model is called', async () => {
    const message = await rig.send('unopened-twice', 'a message that no worker survives');
    for (let claim = 1; claim <= 3; claim += 1) await loseClaim('unopened-twice');
    const crashing = rig.worker();
    const finishTurn = crashing.context.store.finishTurn;
    const asked = Promise.withResolvers<void>();
    crashing.context.store.finishTurn = () => {
      asked.resolve();
      return new Promise(() => undefined);
    };
    void crashing.run('unopened-twice');
    await asked.promise;
    crashing.context.store.finishTurn = finishTurn;
    crashing.stop();
    await letLeaseRunOut('unopened-twice');
    const worker = rig.worker();
    expect(await worker.run('unopened-twice')).toMatchObject({ kind: 'ended' });
    expect(await statusOf(message)).toBe('failed');

    expect(await countDeadLetters(rig, { sessionId: await rig.sessionOf('unopened-twice') })).toBe(1);
    worker.stop();
  });

  test('does not fail because of claims before a turn that opened', async () => {
    const first = await rig.send('unopened-reset', 'one');
    for (let claim = 1; claim <= 2; claim += 1) await loseClaim('unopened-reset');
    const worker = rig.worker();
    await worker.run('unopened-reset');
    const second = await rig.send('unopened-reset', 'two');
    for (let claim = 1; claim <= 2; claim += 1) await loseClaim('unopened-reset');
    await worker.run('unopened-reset');
    expect([await statusOf(first), await statusOf(second)]).toEqual(['answered', 'answered']);
    worker.stop();
  });
});

describe('a turn that is stopped', () => {
  test('ends within a second, its message cancelled, and the next prompt says so once (G24)', async () => {
    const open = effect.close();
    const worker = rig.worker();
    const message = await rig.send('stop', '[[tool: effect {"key":"stopped"}]] [[reply: never]]');
    const running = worker.run('stop');
    await effect.entered('stopped');
    const stoppedAt = performance.now();
    await changeSessions(rig, { id: await rig.sessionOf('stop') }, { stopReason: 'stopped by the user' });
    expect(await running).toMatchObject({ kind: 'ended' });
    expect(performance.now() - stoppedAt).toBeLessThan(1_000 * SLOWNESS_MAX);
    open();
    expect(await statusOf(message)).toBe('cancelled');

    await rig.send('stop', 'go on');
    await worker.run('stop');
    expect(JSON.stringify(lastRequest('stop'))).toContain('Note: The previous agent run was aborted by the user.');
    await rig.send('stop', 'again');
    await worker.run('stop');
    expect(JSON.stringify(lastRequest('stop').at(-1))).not.toContain('previous agent run');
    worker.stop();
  });

  test('keeps the result of a call that finished before the stop, for the model and in the ledger (G11)', async () => {
    const open = effect.close();
    const worker = rig.worker();
    const session = await rig.sessionOf('half');
    await rig.send('half', '[[tool: lookup {"key":"found"}]] & [[tool: effect {"key":"half"}]] [[reply: never]]');
    const running = worker.run('half');
    const ledger = () => readToolCalls(rig, { sessionId: session }, 'status', 'runs');
    await expect
      .poll(ledger, { interval: 5 })
      .toEqual([expect.objectContaining({ status: 'done' }), expect.objectContaining({ status: 'intent' })]);
    await changeSessions(rig, { id: session }, { stopReason: 'stopped by the user' });
    await running;
    open();
    expect(await ledger()).toEqual([
      { status: 'done', runs: 1 },
      { status: 'unknown', runs: 1 },
    ]);

    await rig.send('half', 'and now?');
    await worker.run('half');
    const results = lastRequest('half')
      .flatMap(({ content }) => content)
      .filter(({ type }) => type === 'tool_result');
    expect(results).toMatchObject([
      { content: 'ran found' },
      { content: expect.stringContaining('may or may not have taken effect'), is_error: true },
    ]);
    worker.stop();
  });

  test('by a draining worker can be resumed at the next step, with nothing lost (G26)', async () => {
    let isDraining = false;
    const leaving = rig.worker({ isDraining: () => isDraining });
    const message = await rig.send('drain', '[[tool: effect {"key":"drained"}]] [[reply: handed over]]');
    const open = effect.close();
    const running = leaving.run('drain');
    await effect.entered('drained');
    isDraining = true;
    open();
    expect(await running).toMatchObject({ kind: 'released', after: { rings: [{ kind: 'inbound', lane: 'main' }] } });
    leaving.stop();

    const next = rig.worker();
    expect(await next.run('drain')).toMatchObject({ kind: 'ended' });
    expect(effect.runs.filter((key) => key === 'drained')).toHaveLength(1);
    expect(await statusOf(message)).toBe('answered');
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('drain') }, 'attempt', 'deaths');
    expect(turn).toEqual({ attempt: 2, deaths: 0 });
    next.stop();
  });
});
