// Faulty answers: how a turn handles them, and what it reports of its model calls.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Tool, ToolOutcome } from '../../src/tools/tool.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { HookTable, Plugins } from '../../src/plugins/plugins.ts';
import { createLogger } from '../../src/logger.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readEvents } from '../rows/events.ts';
import { expireLeases } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const ran: string[] = [];

function tool(name: string, outcomeOf: (key: string) => ToolOutcome, isIdempotent = false): Tool {
  return {
    spec: { name, description: name, input_schema: { type: 'object' } },
    summary: name,
    isIdempotent,
    run(input) {
      const { key = '' } = input as { key?: string };
      ran.push(`${name}:${key}`);
      return Promise.resolve(outcomeOf(key));
    },
  };
}

const tools = [
  tool('effect', (key) => ({ content: `did ${key}`, isError: false })),
  tool('wait_for', () => ({ content: 'The session waits.', isError: false, endsTurn: true }), true),
  tool('long', () => ({ content: `start ${'x'.repeat(100_000)} end`, isError: false }), true),
];

const maxRetries = 20;

let database: Awaited<ReturnType<typeof withTestDatabase>>;
let rig: TurnRig;
let worker: ReturnType<TurnRig['worker']>;

shareAmongTests(async (onEnd) => {
  ran.length = 0;
  const fresh = await withTestDatabase();
  onEnd(() => fresh.drop());
  database = fresh;
  rig = await createTurnRig(database.url, {
    tools,
    plugins: pluginsWith([], { tools: [tool('plugged', () => ({ content: 'did', isError: false }))] }).plugins,
    settings: {
      models: { providers: { anthropic: { maxRetries, toolCallArgumentsEncoding: 'html-entities' } } },
      diagnostics: { payloadLog: { enabled: true }, cacheTrace: { enabled: true, path: 'traces/cache.jsonl' } },
    },
  });
  worker = rig.worker();
  const made = rig;
  onEnd(() => made.close());
});

interface Ended {
  status: string;
  reply: string | null;
  error: { code: string; message: string } | null;
}

/** Sends a message, runs its turn, and returns how that ended. */
async function play(name: string, text: string): Promise<Ended> {
  await rig.send(name, text);
  await worker.run(name);
  return await lastTurn(name);
}

async function lastTurn(name: string): Promise<Ended & { id: string }> {
  const row = (await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id', 'status', 'reply', 'error')).at(-1);
  return row as unknown as Ended & { id: string };
}

async function callsOf(name: string): Promise<Record<string, unknown>[]> {
  const sessionId = await rig.sessionOf(name);
  return await readModelCalls(rig, { sessionId }, 'callNo', 'status', 'stopReason', 'error', 'notes');
}

async function eventsOf(name: string, type: string): Promise<Record<string, unknown>[]> {
  const rows = await readEvents(rig, { sessionId: await rig.sessionOf(name), type }, 'data');
  return rows.map((row) => row['data'] as Record<string, unknown>);
}

/** The messages of the last request that the model received for a session. */
function lastMessages(name: string): { role: string; content: Record<string, unknown>[] }[] {
  const last = rig.scripted.requests.findLast(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`);
  if (last === undefined) throw new Error(`The model received no request for ${name}.`);
  return (last.body as { messages: never[] }).messages;
}

describe('a tool call', () => {
  test('with another spelling, without an id and with arguments that are almost JSON runs once and is recorded as repaired', async () => {
    await play(
      'repaired',
      `[[arguments: {key: 'a &amp; b'}]] [[tool: x {} name="functions.Effect:1" id=""]] [[reply: done]]`,
    );
    expect(ran.filter((run) => run === 'effect:a & b')).toHaveLength(1);
    expect(lastMessages('repaired').at(-2)?.content).toMatchObject([
      { type: 'tool_use', id: 'call_auto_1', name: 'effect', input: { key: 'a & b' } },
    ]);
    expect((await callsOf('repaired'))[0]).toMatchObject({
      notes: { repairs: [{ step: 'call-ids' }, { step: 'tool-names' }, { step: 'repair-arguments' }] },
    });
    expect((await eventsOf('repaired', 'model.ended'))[0]).toMatchObject({ repairs: [{}, {}, {}] });
  });

  test('whose arguments are cut off is not run, and its result says so', async () => {
    const { reply } = await play('cut-off', '[[malformed]] [[tool: effect {"key":"half"}]] [[reply: I see]]');
    expect(reply).toBe('I see');
    expect(ran).not.toContain('effect:half');
    expect(lastMessages('cut-off').at(-1)?.content).toMatchObject([{ is_error: true }]);
  });

  test.each([
    ['own', 'effect'],
    ['plugin', 'plugged'],
    ['client', 'weather'],
  ])(
    'of a tool of the kind %s that was cut off at the token limit is not run, and its result says so (G12)',
    async (kind, name) => {
      const session = `cut-at-limit-${kind}`;
      const weather = { name: 'weather', description: 'The weather', input_schema: { type: 'object' as const } };
      const more = kind === 'client' ? { caller: { tools: [weather] } } : {};
      await rig.send(session, `[[stop: max_tokens]] [[arguments: ]] [[tool: ${name} {}]] [[reply: I see]]`, more);
      await worker.run(session);
      expect(await lastTurn(session)).toMatchObject({ status: 'completed', reply: 'I see' });
      expect(ran.filter((run) => run === `${name}:`)).toEqual([]);
      expect(lastMessages(session).at(-1)?.content).toMatchObject([
        { is_error: true, content: expect.stringContaining('cut off at the token limit') },
      ]);
    },
  );

  test('that was complete before the token limit is run', async () => {
    await play('whole-at-limit', '[[stop: max_tokens]] [[tool: effect {"key":"whole"}]] [[reply: done]]');
    expect(ran.filter((run) => run === 'effect:whole')).toHaveLength(1);
  });

  test('in each of two answers with one id is two calls, with two idempotency keys', async () => {
    await play('twice', '[[tool: effect {"key":"1"} id=same]] [[tool: effect {"key":"2"} id=same]] [[reply: done]]');
    const rows = await readToolCalls(rig, { turnId: (await lastTurn('twice')).id }, 'callId');
    expect(rows).toEqual([{ callId: 'same' }, { callId: 'call_auto_1001' }]);
  });

  test('has a result of at most 40,000 characters, start and end', async () => {
    await play('long', '[[tool: long {}]] [[reply: done]]');
    const [result] = lastMessages('long').at(-1)?.content ?? [];
    expect(String(result?.['content'])).toMatch(/^start x+\n\[\.\.\. 60010 characters left out \.\.\.\]\nx+ end$/);
  });
});

describe('an answer that the provider has paused', () => {
  test('is continued, and the reply has the text of both parts', async () => {
    const { status, reply } = await play(
      'paused',
      '[[stop: pause_turn]] [[reply: The first part.]] [[next]] [[tool: effect {"key":"after"}]] [[stop: pause_turn]] [[reply: The second,]] [[next]] [[reply: and the third.]]',
    );
    expect({ status, reply }).toEqual({ status: 'completed', reply: 'The second,\nand the third.' });
    expect(ran).toContain('effect:after');
    expect(await callsOf('paused')).toHaveLength(4);
    expect(lastMessages('paused').map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ]);
  });
});

describe('a tool that does not exist', () => {
  test('ends the turn with a text when it is called in three answers in a row', async () => {
    const turn = await play('ghost', '[[repeat: 9 tool ghost {"n":"$i"}]] [[reply: never]]');
    expect(turn).toMatchObject({ status: 'completed', reply: expect.stringContaining('"ghost" is not available') });
    const calls = await callsOf('ghost');
    expect(calls.map((call) => call['stopReason'])).toEqual(['tool_use', 'tool_use', 'end_turn']);
    expect(calls.at(-1)?.['notes']).toMatchObject({ repairs: [{ step: 'unknown-tools', was: 'ghost' }] });
  });

  test('is counted across a restart', async () => {
    let asked = 0;
    const leaving = rig.worker({ isDraining: () => (asked += 1) > 2 });
    await rig.send('ghost-resumed', '[[repeat: 9 tool ghost {}]] [[reply: never]]');
    expect(await leaving.run('ghost-resumed')).toMatchObject({ kind: 'released' });
    leaving.stop();
    expect(await callsOf('ghost-resumed')).toHaveLength(2);
    await worker.run('ghost-resumed');
    expect(await lastTurn('ghost-resumed')).toMatchObject({ reply: expect.stringContaining('not available') });
    expect(await callsOf('ghost-resumed')).toHaveLength(3);
  });
});

describe('an answer that was stopped', () => {
  test.each([
    ['sensitive', 'model_stopped_sensitive'],
    ['content_filter', 'model_stopped_sensitive'],
  ])('for "%s" fails the turn with %s and words, and runs nothing', async (reason, code) => {
    const name = `stopped-${reason}`;
    const turn = await play(name, `[[stop: ${reason}]] [[reply: so far]] [[tool: effect {"key":"${reason}"}]]`);
    expect(turn).toMatchObject({
      status: 'failed',
      reply: null,
      error: { code, message: expect.stringContaining(reason) },
    });
    expect(ran).not.toContain(`effect:${reason}`);
    // The session continues, and the model sees its earlier text.
    expect(await play(name, 'and now?')).toMatchObject({ status: 'completed', reply: 'You said: and now?' });
    expect(JSON.stringify(lastMessages(name))).toContain('so far');
  });

  test('for a reason that is not known is an answer all the same, and the reason is logged (G43)', async () => {
    const lines: { msg: string; reason: string }[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) };
    const logging = rig.worker({ logger: createLogger({ level: 'warn', format: 'json', name: 'test', destination }) });
    await rig.send('brand-new', '[[stop: brand_new]] [[tool: effect {"key":"brand-new"}]] [[reply: done]]');
    await logging.run('brand-new');
    logging.stop();
    expect(await lastTurn('brand-new')).toMatchObject({ status: 'completed', reply: 'done' });
    expect(ran).toContain('effect:brand-new');
    expect(lines).toMatchObject([
      { msg: 'Provider ended an answer with a reason that is not known', reason: 'brand_new' },
    ]);
  });

  test('by the server itself is asked for again (G43)', async () => {
    await play('interrupted', '[[stop: abort]] [[tool: effect {"key":"aborted"}]] [[reply: never]]');
    expect(ran).not.toContain('effect:aborted');
    const calls = await callsOf('interrupted');
    expect(calls.length).toBeGreaterThan(1);
    expect(calls[0]).toMatchObject({ status: 'failed', error: { code: 'model_cut_stream' } });
  });

  test('by an error that names the reason fails the turn in the same way, immediately', async () => {
    const turn = await play(
      'stopped-error',
      '[[error: 500 after=1 times=always message="Unhandled stop reason: sensitive"]]',
    );
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'model_stopped_sensitive' } });
    expect(await callsOf('stopped-error')).toHaveLength(1);
  });
});

describe('a tool that ends the turn', () => {
  test('ends it after its batch: the model is not called again, and sees the results in the next turn', async () => {
    const before = rig.scripted.requestCount;
    const turn = await play('yield', '[[tool: wait_for {}]] & [[tool: effect {"key":"beside"}]] [[reply: never]]');
    expect(turn).toMatchObject({ status: 'silent', reply: null, error: null });
    expect(rig.scripted.requestCount - before).toBe(1);
    expect(ran).toContain('effect:beside');
    expect(await callsOf('yield')).toHaveLength(1);
    expect(await eventsOf('yield', 'model.started')).toHaveLength(1);
    expect(await play('yield', 'go on')).toMatchObject({ status: 'completed', reply: 'You said: go on' });
    expect(lastMessages('yield').at(-1)?.content).toMatchObject([
      { type: 'tool_result', content: 'The session waits.' },
      { type: 'tool_result', content: 'did beside' },
      { type: 'text' },
    ]);
  });

  test('ends it after a restart too', async () => {
    await rig.send('yield-again', '[[tool: wait_for {}]] [[reply: never]]');
    const dying = rig.worker();
    const commits = dying.context.store.finishTurn;
    // Its worker crashes between the answer and the end of the turn.
    dying.context.store.finishTurn = Object.assign(() => Promise.reject(new Error('gone')), commits) as typeof commits;
    await expect(dying.run('yield-again')).rejects.toThrow('gone');
    dying.stop();
    await expireLeases(rig, { id: await rig.sessionOf('yield-again') });
    const before = rig.scripted.requestCount;
    await worker.run('yield-again');
    expect(await lastTurn('yield-again')).toMatchObject({ status: 'silent' });
    expect(rig.scripted.requestCount).toBe(before);
  });
});

test('a model that repeatedly sends nothing fails the turn after five calls, whatever its retry budget (G25)', async () => {
  // The other limits must not mistake a busy machine for a silent model.
  const impatient = await createTurnRig(database.url, {
    settings: {
      agents: { defaults: { llm: { idleTimeoutSeconds: 1 } } },
      models: { providers: { anthropic: { maxRetries } } },
    },
  });
  onTestFinished(() => impatient.close());
  await impatient.send('silent', '[[stall: after=1 times=always]]');
  await impatient.worker().run('silent');
  expect(await lastTurn('silent')).toMatchObject({
    status: 'failed',
    error: { code: 'model_timeout', message: expect.stringContaining('5 model calls in a row') },
  });
  const calls = await callsOf('silent');
  expect(calls).toHaveLength(5);
  expect(calls[0]?.['error']).toMatchObject({ type: 'idle_timeout', message: 'The model sent nothing for 1 s.' });
});

describe('the description of a call', () => {
  test('has its name, its bytes and the time until the first of them, in events and in its row', async () => {
    await play('told', '[[error: 529]] [[reply: hello]]');
    const { id } = await lastTurn('told');
    expect(await eventsOf('told', 'model.started')).toEqual([
      { call: 1, callId: `${id}:model:1` },
      { call: 2, callId: `${id}:model:2` },
    ]);
    const measured = {
      requestBytes: expect.any(Number),
      responseBytes: expect.any(Number),
      firstByteMs: expect.any(Number),
      durationMs: expect.any(Number),
      key: 'default',
    };
    expect(await eventsOf('told', 'model.ended')).toMatchObject([
      {
        call: 1,
        callId: `${id}:model:1`,
        status: 'failed',
        retryInMs: expect.any(Number),
        requestBytes: expect.any(Number),
      },
      {
        call: 2,
        callId: `${id}:model:2`,
        status: 'ok',
        stopReason: 'end_turn',
        usage: { outputTokens: 2 },
        ...measured,
      },
    ]);
    expect((await callsOf('told')).at(-1)?.['notes']).toEqual(measured);
  });

  test('is in the payload log and the cache trace when they are switched on', async () => {
    await play('logged', '[[reply: hello]]');
    await worker.context.models.client.close();
    const { id } = await lastTurn('logged');
    const folder = rig.config.runtime.dataDir;
    const log = await readFile(join(folder, 'payloads.jsonl'), 'utf8');
    const line = log.split('\n').find((each) => each.includes(`${id}:model:1`));
    expect(JSON.parse(line ?? '')).toMatchObject({
      sessionKey: 'agent:main:logged',
      answer: { content: [{ text: 'hello' }] },
      request: { model: 'claude-sonnet-5-5' },
    });
    expect(await readFile(join(folder, 'traces', 'cache.jsonl'), 'utf8')).toContain(`${id}:model:1`);
  });

  test('that cannot be written disturbs no turn', async () => {
    const other = await createTurnRig(database.url, {
      settings: { diagnostics: { payloadLog: { enabled: true, path: 'blocked' } } },
    });
    onTestFinished(() => other.close());
    await mkdir(join(other.config.runtime.dataDir, 'blocked'));
    const own = other.worker();
    await other.send('unlogged', 'hello');
    expect(await own.run('unlogged')).toMatchObject({ kind: 'ended' });
  });
});

test('an answer can be one body, however long it takes, and its request is derived as it was sent', async () => {
  const whole = await createTurnRig(database.url, {
    settings: {
      agents: { defaults: { llm: { idleTimeoutSeconds: 1 } } },
      models: { providers: { anthropic: { streaming: false } } },
    },
  });
  onTestFinished(() => whole.close());
  const own = whole.worker();
  await whole.send('whole', '[[delay: 1500]] [[reply: in one piece]]');
  await own.run('whole');
  const turn = await lastTurn('whole');
  expect(turn).toMatchObject({ status: 'completed', reply: 'in one piece' });
  expect(whole.scripted.requests.map(({ body }) => (body as { stream: boolean }).stream)).toEqual([false]);
  const derived = await deriveRequest(rig.database, { turnId: turn.id, callNo: 1, defaultThinking: () => 'off' });
  expect(derived).toMatchObject({ matches: true, request: { stream: false } });
});

test('texts of plugins are replaced in requests, also when they are derived, and in answers with their deltas', async () => {
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  const textTransforms = {
    input: [{ from: 'the gateway', to: 'THE-INNER-NAME' }],
    output: [{ from: 'THE-INNER-NAME', to: 'the gateway' }],
  };
  const plugins = new Plugins({
    ids: [],
    tools: [],
    hooks: new HookTable(),
    textTransforms,
    contributions: [],
    logger,
  });
  const own = rig.worker({ plugins });
  await rig.send('replaced', 'tell me of the gateway');
  await own.run('replaced');
  const turn = await lastTurn('replaced');
  expect(turn.reply).toBe('You said: tell me of the gateway');
  expect(JSON.stringify(lastMessages('replaced'))).toContain('tell me of THE-INNER-NAME');
  const deltas = (await eventsOf('replaced', 'model.delta')).map((delta) => delta['text']).join('');
  expect(deltas).toBe(turn.reply);
  const derived = await deriveRequest(rig.database, { turnId: turn.id, callNo: 1, defaultThinking: () => 'off' });
  expect(derived).toMatchObject({ matches: true });
  own.stop();
});
