// Compaction in turns, with a real database and a model server that refuses requests that are too
// long. Texts in double angle brackets tell the scripted model how to answer a request for a
// summary.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { REFRESH_TITLE } from '../../src/compaction/post-compaction.ts';
import { COMPACTION_REQUEST } from '../../src/compaction/summary-request.ts';
import { SUMMARY_START } from '../../src/compaction/summary-text.ts';
import type { MessageId } from '../../src/core/ids.ts';
import { abortSession } from '../../src/kernel/effects/control.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { countToolCalls, readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readCompactions, readEntries } from '../rows/entries.ts';
import { readInputsWithTurns } from '../rows/inputs.ts';
import { removeModelBlocks } from '../rows/pauses.ts';
import { expireLeases } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { longText, seedHistory } from './seed-history.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

/** A tool whose input sets the length of its result. */
const bulky: Tool = {
  spec: { name: 'bulky', description: 'Says much.', input_schema: { type: 'object' } },
  summary: 'says much',
  isIdempotent: true,
  run: async (input) => ({ content: longText((input as { tokens: number }).tokens), isError: false }),
};

const rules = '# Rules\n\n## Red Lines\nNever delete what you did not write.\n';

/** A window of 20,000 tokens, 4,000 of them reserved. */
const small = { contextTokens: 20_000, compaction: { reserveTokens: 4_000, keepRecentTokens: 3_000 } };

interface Message {
  role: string;
  content: { type: string; text?: string; id?: string; tool_use_id?: string }[];
}

let databases: Awaited<ReturnType<typeof withTestDatabase>>[] = [];
let rigs: TurnRig[] = [];

async function rigOf(
  defaults: object,
  { settings, ...more }: { windowTokens?: number; settings?: object } = {},
): Promise<TurnRig> {
  const database = await withTestDatabase();
  databases.push(database);
  const rig = await createTurnRig(database.url, {
    tools: [bulky],
    settings: { agents: { defaults }, ...settings },
    ...more,
  });
  rigs.push(rig);
  await mkdir(rig.config.workspace.path, { recursive: true });
  await writeFile(join(rig.config.workspace.path, 'AGENTS.md'), rules);
  return rig;
}

afterAll(async () => {
  for (const rig of rigs) await rig.close();
  for (const database of databases) await database.drop();
  [rigs, databases] = [[], []];
});

function requestsOf(rig: TurnRig, name: string): { messages: Message[]; status: number | null; isSummary: boolean }[] {
  return rig.scripted.requests
    .filter(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`)
    .map(({ body, status }) => {
      const { messages } = body as { messages: Message[] };
      return { messages, status, isSummary: textOf(messages[0]).startsWith(COMPACTION_REQUEST) };
    });
}

function textOf(message: Message | undefined): string {
  return (message?.content ?? []).map((block) => block.text ?? '').join('\n');
}

async function compactionsOf(rig: TurnRig, name: string): Promise<Record<string, unknown>[]> {
  return readCompactions(rig, { sessionId: await rig.sessionOf(name) });
}

async function entriesOf(rig: TurnRig, name: string): Promise<{ kind: string; state: string }[]> {
  const rows = await readEntries(rig, { sessionId: await rig.sessionOf(name) }, 'seq', 'kind', 'state');
  return rows as { kind: string; state: string }[];
}

/** The text of today's memory; empty when there is none. */
async function memoryOf(rig: TurnRig): Promise<string> {
  const dir = join(rig.config.workspace.path, 'memory');
  const files = await readdir(dir).catch(() => []);
  return (await Promise.all(files.map((file) => readFile(join(dir, file), 'utf8')))).join('\n');
}

async function replyOf(rig: TurnRig, messageId: string): Promise<Record<string, unknown>> {
  const [input] = await readInputsWithTurns(rig, { id: messageId });
  if (!input?.turn) return {};
  const { reply, error, kind } = input.turn;
  return { status: input.status, reply, error, kind };
}

test('a compaction does not wait for room in a rate limit that the call it makes room for holds (G16)', async () => {
  const rig = await rigOf(small, {
    settings: { models: { limits: [{ model: 'anthropic/*', requestsPerMinute: 1 }] } },
  });
  await seedHistory(rig, 'tight', { turns: 20, tokens: 18_000 });
  const worker = rig.worker();
  await rig.send('tight', '[[reply: Done.]]');
  await worker.run('tight');
  worker.stop();
  expect(requestsOf(rig, 'tight').map(({ isSummary }) => isSummary)).toEqual([true]);
  expect(await compactionsOf(rig, 'tight')).toMatchObject([{ status: 'completed', reason: 'threshold' }]);
  // The minute has room for one request, so the answer waits for the next.
  expect(await readTurns(rig, { sessionKey: 'agent:main:tight' }, 'status', 'parkCode')).toEqual([
    { status: 'parked', parkCode: 'rate_limited' },
  ]);
});

describe('a history of 180,000 tokens', () => {
  const said = `What about it?\n\n  [[reply: Done.]]`;
  let rig: TurnRig;
  let compacting: Promise<MessageId> | undefined;
  shareAmongTests(async () => {
    rig = await rigOf({});
    compacting = undefined;
  });

  async function compact(): Promise<MessageId> {
    await seedHistory(rig, 'long', { turns: 100, tokens: 182_000, first: 'Order ABC-123 is urgent. ' });
    const worker = rig.worker();
    const message = await rig.send('long', said);
    await worker.run('long');
    worker.stop();
    return message;
  }

  /** The message at which the session `long` was compacted, by the first test that runs. */
  function compactedOnce(): Promise<MessageId> {
    return (compacting ??= compact());
  }

  test('is compacted with exactly one more model call, and the newest message stays verbatim', async () => {
    const message = await compactedOnce();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    const requests = requestsOf(rig, 'long');
    expect(requests.map(({ isSummary }) => isSummary)).toEqual([true, false]);
    const { messages } = requests[1]!;
    expect(textOf(messages[0])).toContain(SUMMARY_START);
    expect(textOf(messages[0])).toContain('ABC-123');
    expect(textOf(messages.at(-1))).toContain(said);
    expect(JSON.stringify(messages).length / 4).toBeLessThan(30_000);
    const [compaction] = await compactionsOf(rig, 'long');
    expect(compaction).toMatchObject({ status: 'completed', reason: 'threshold', attempt: 1 });
    expect(Number(compaction!['tokensBefore'])).toBeGreaterThan(180_000);
    expect(Number(compaction!['tokensAfter'])).toBeLessThan(40_000);
  });

  test('keeps its rows, and its call is recorded, charged and derivable (G15, G16)', async () => {
    await compactedOnce();
    const entries = await entriesOf(rig, 'long');
    expect(entries).toHaveLength(203);
    expect(entries.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
    expect(entries.filter(({ state }) => state === 'compacted').length).toBeGreaterThan(150);
    const calls = await readModelCalls(rig, { sessionId: await rig.sessionOf('long') });
    expect(calls.map(({ purpose, status }) => [purpose, status])).toEqual([
      ['compaction', 'ok'],
      ['answer', 'ok'],
    ]);
    expect(await readTurns(rig, { id: calls[0]!.turnId }, 'calls')).toEqual([{ calls: 2 }]);
    expect(calls[0]!.inputTokens).toBeGreaterThan(100_000);
    for (const call of calls) {
      const derived = await deriveRequest(rig.database, {
        turnId: call.turnId,
        callNo: call.callNo,
        defaultThinking: () => 'off',
      });
      expect(derived).toMatchObject({ purpose: call.purpose, matches: true });
    }
  });

  test('is not compacted again by the next message, whose prompt repeats the rules of the workspace', async () => {
    await compactedOnce();
    const worker = rig.worker();
    await rig.send('long', 'And now? [[reply: Fine.]]');
    await worker.run('long');
    worker.stop();
    const requests = requestsOf(rig, 'long');
    expect(requests.filter(({ isSummary }) => isSummary)).toHaveLength(1);
    const prompt = textOf(requests.at(-1)!.messages.at(-1));
    expect(prompt).toMatch(/^System: \[[^\]]+\] \[Post-compaction context refresh\]$/m);
    expect(prompt).toContain(REFRESH_TITLE);
    expect(prompt).toContain('System: Never delete what you did not write.');
    const [compaction] = await compactionsOf(rig, 'long');
    expect(compaction!['audit']).toEqual({ shown: ['AGENTS.md'], missing: [] });
  });

  test('blocks no other session while it is compacted (G9)', async () => {
    await seedHistory(rig, 'slow', { turns: 100, tokens: 182_000, first: '<<delay: 3000>> ' });
    const worker = rig.worker();
    await rig.send('slow', 'Well? [[reply: Late.]]');
    const slow = worker.run('slow');
    await expect.poll(() => requestsOf(rig, 'slow').length).toBe(1);
    const other = await rig.send('other', 'Hi. [[reply: At once.]]');
    await worker.run('other');
    expect(requestsOf(rig, 'slow')).toHaveLength(1);
    expect(await replyOf(rig, other)).toMatchObject({ reply: 'At once.' });
    await slow;
    worker.stop();
    expect((await compactionsOf(rig, 'slow')).map(({ status }) => status)).toEqual(['completed']);
  });
});

describe('in a small window', () => {
  let rig: TurnRig;
  shareAmongTests(async () => {
    rig = await rigOf({ ...small, timeoutSeconds: 30 });
  });

  /**
   * Sends a message to a session with 17,000 tokens of history, lets a worker run it, and returns
   * how it ended.
   */
  async function converse(name: string, first: string, text = 'Go on. [[reply: Done.]]') {
    await seedHistory(rig, name, { turns: 10, tokens: 17_000, first });
    const worker = rig.worker();
    const message = await rig.send(name, text);
    await worker.run(name);
    worker.stop();
    return replyOf(rig, message);
  }

  test('a turn with too much tool output is compacted between two steps, and its prompt and pairs stay (G12)', async () => {
    const worker = rig.worker();
    const text = `Look at everything. ${'[[tool: bulky {"tokens": 2500}]]'.repeat(6)} [[reply: Seen.]]`;
    const message = await rig.send('steps', text);
    await worker.run('steps');
    worker.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered', reply: 'Seen.' });
    const requests = requestsOf(rig, 'steps');
    expect(requests.every(({ status }) => status === 200)).toBe(true);
    expect(requests.filter(({ isSummary }) => isSummary).length).toBeGreaterThan(0);
    const { messages } = requests.at(-1)!;
    expect(textOf(messages[0])).toContain(SUMMARY_START);
    expect(textOf(messages[0])).toContain(text);
    expect(await countToolCalls(rig, { sessionId: await rig.sessionOf('steps') })).toBe(6);
  });

  test('an answer that takes too long is abandoned, and the turn continues with the unchanged transcript (G25)', async () => {
    const impatient = await rigOf({ ...small, compaction: { ...small.compaction, timeoutSeconds: 1 } });
    await seedHistory(impatient, 'stalled', { turns: 10, tokens: 17_000, first: '<<stall: after=0 times=always>> ' });
    const worker = impatient.worker();
    const message = await impatient.send('stalled', 'Go on. [[reply: Done.]]');
    await worker.run('stalled');
    worker.stop();
    expect(await replyOf(impatient, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    const [compaction, ...others] = await compactionsOf(impatient, 'stalled');
    expect(compaction).toMatchObject({ status: 'timedOut', error: { code: 'compaction_timeout' } });
    expect(others).toEqual([]);
    expect((await entriesOf(impatient, 'stalled')).every(({ state }) => state === 'active')).toBe(true);
    expect(requestsOf(impatient, 'stalled').at(-1)!.messages).toHaveLength(21);
  });

  test('the deadline of the turn waits once for a running compaction', async () => {
    const hasty = await rigOf({ ...small, timeoutSeconds: 1 });
    await seedHistory(hasty, 'grace', { turns: 10, tokens: 17_000, first: '<<delay: 1500>> ' });
    const worker = hasty.worker();
    const message = await hasty.send('grace', 'Go on. [[reply: Done.]]');
    await worker.run('grace');
    worker.stop();
    expect(await replyOf(hasty, message)).toMatchObject({ status: 'answered' });
    expect((await compactionsOf(hasty, 'grace')).map(({ status }) => status)).toEqual(['completed']);
  });

  test('a summary that is hardly shorter is refused twice, then the turn continues without it', async () => {
    const cramped = await rigOf({ ...small, contextTokens: 10_000 });
    await seedHistory(cramped, 'verbose', { turns: 10, tokens: 5_800, every: '<<fill: 16000>> ' });
    const worker = cramped.worker();
    const message = await cramped.send('verbose', 'Go on. [[reply: Done.]]');
    await worker.run('verbose');
    worker.stop();
    expect(await replyOf(cramped, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    const compactions = await compactionsOf(cramped, 'verbose');
    expect(compactions.map(({ status, attempt }) => [status, attempt])).toEqual([
      ['failed', 1],
      ['failed', 2],
    ]);
    expect(compactions).toMatchObject([{ error: { code: 'did_not_shrink' } }, { error: { code: 'did_not_shrink' } }]);
    expect((await entriesOf(cramped, 'verbose')).every(({ state }) => state === 'active')).toBe(true);
  });

  test('an empty answer is not a summary, and after two of them the turn continues', async () => {
    expect(await converse('empty', '<<empty>> ')).toMatchObject({ status: 'answered', reply: 'Done.' });
    const compactions = await compactionsOf(rig, 'empty');
    expect(compactions).toMatchObject([
      { status: 'failed', attempt: 1, error: { code: 'empty_summary' } },
      { status: 'failed', attempt: 2, error: { code: 'empty_summary' } },
    ]);
    expect(requestsOf(rig, 'empty').map(({ isSummary }) => isSummary)).toEqual([true, true, false]);
  });

  test.each([
    ['content_filter', 'model_stopped_sensitive'],
    ['refusal', 'model_refused'],
  ])('an answer that ends with %s is not a summary, whatever its text', async (reason, code) => {
    const name = `ended-${reason.replace('_', '-')}`;
    expect(await converse(name, `<<stop: ${reason}>> `)).toMatchObject({ status: 'answered', reply: 'Done.' });
    expect(await compactionsOf(rig, name)).toMatchObject([
      { status: 'failed', attempt: 1, error: { code } },
      { status: 'failed', attempt: 2, error: { code } },
    ]);
    expect((await entriesOf(rig, name)).every(({ state }) => state === 'active')).toBe(true);
  });

  test('a stop ends a compaction and its turn immediately (G24)', async () => {
    await seedHistory(rig, 'stopped', { turns: 10, tokens: 17_000, first: '<<stall: after=0>> ' });
    const worker = rig.worker();
    const message = await rig.send('stopped', 'Go on.');
    const running = worker.run('stopped');
    await expect.poll(() => requestsOf(rig, 'stopped').length).toBe(1);
    await abortSession(rig, { sessionKey: 'agent:main:stopped', keepQueued: false });
    expect(await running).toMatchObject({ kind: 'ended' });
    worker.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'cancelled' });
    expect(await compactionsOf(rig, 'stopped')).toMatchObject([{ status: 'failed', error: { code: 'stopped' } }]);
  });

  test('another model can write the summary', async () => {
    const model = 'anthropic/claude-haiku-4-5';
    const settings = { diagnostics: { payloadLog: { enabled: true } } };
    const cheap = await rigOf({ ...small, compaction: { ...small.compaction, model } }, { settings });
    await seedHistory(cheap, 'cheap', { turns: 10, tokens: 17_000 });
    const worker = cheap.worker();
    await cheap.send('cheap', 'Go on. [[reply: Done.]]');
    await worker.run('cheap');
    worker.stop();
    const models = cheap.scripted.requests.map(({ body }) => (body as { model: string }).model);
    expect(models).toEqual(['claude-haiku-4-5', 'claude-sonnet-5-5']);
    // The payload log names the session of both calls.
    const log = join(cheap.config.runtime.dataDir, 'payloads.jsonl');
    const [turn] = await readTurns(cheap, {}, 'id');
    const linesOf = async () => (await readFile(log, 'utf8').catch(() => '')).trim().split('\n');
    await expect.poll(async () => (await linesOf()).length).toBe(2);
    const lines = await linesOf();
    const about = lines.map((line) => JSON.parse(line) as { callId?: string; sessionKey?: string });
    expect(new Set(about.map(({ callId, sessionKey }) => `${sessionKey} ${callId}`))).toEqual(
      new Set([1, 2].map((call) => `agent:main:cheap ${turn?.['id'] as string}:model:${call}`)),
    );
  });

  test('a workspace file that was dropped from the requests is back in those of the next turn', async () => {
    const worker = rig.worker();
    const name = 'audited';
    await rig.send(name, `First. [[fill: ${15_000 * 4}]]`);
    await worker.run(name);
    // The files of a session are those that its first turn read: this one is not among them.
    await writeFile(join(rig.config.workspace.path, 'SOUL.md'), 'Be kind.');
    await rig.send(name, 'Second. [[reply: Done.]]');
    await worker.run(name);
    const [compaction] = await compactionsOf(rig, name);
    expect(compaction!['audit']).toEqual({ shown: ['AGENTS.md'], missing: ['SOUL.md'] });
    await rig.send(name, 'Third. [[reply: Done.]]');
    await worker.run(name);
    worker.stop();
    const systems = rig.scripted.requests.map(({ body }) => JSON.stringify((body as { system: unknown }).system));
    expect(systems.at(-2)).not.toContain('Be kind.');
    expect(systems.at(-1)).toContain('Be kind.');
  });

  test('a temporary failure is followed by a second attempt, charged to the turn (G16)', async () => {
    expect(await converse('busy', '<<error: 529>> ')).toMatchObject({ status: 'answered', reply: 'Done.' });
    const compactions = await compactionsOf(rig, 'busy');
    expect(compactions.map(({ status }) => status)).toEqual(['failed', 'completed']);
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('busy') }, 'calls', 'retries');
    expect(turn).toEqual({ calls: 3, retries: 1 });
  });

  test('a provider that asks for a longer wait than a worker accepts is not called: the turn is parked', async () => {
    expect(await converse('later', '<<error: 529 retry-after=120>> ')).toMatchObject({ status: 'claimed' });
    expect(await readTurns(rig, { sessionId: await rig.sessionOf('later') }, 'status', 'parkCode')).toEqual([
      { status: 'parked', parkCode: 'model_blocked' },
    ]);
    expect((await compactionsOf(rig, 'later')).map(({ status }) => status)).toEqual(['failed']);
    expect(requestsOf(rig, 'later')).toHaveLength(1);
    await removeModelBlocks(rig);
  });

  test('a request that the provider refuses for its length is compacted for the window that it names, and sent again', async () => {
    const tight = await rigOf({ contextTokens: 200_000 }, { windowTokens: 16_000 });
    await seedHistory(tight, 'tight', { turns: 10, tokens: 30_000 });
    const worker = tight.worker();
    const message = await tight.send('tight', 'Go on. [[reply: Done.]]');
    await worker.run('tight');
    worker.stop();
    expect(await replyOf(tight, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    const requests = requestsOf(tight, 'tight');
    expect(requests.map(({ status, isSummary }) => [status, isSummary])).toEqual([
      [400, false],
      [200, true],
      [200, false],
    ]);
    expect(await compactionsOf(tight, 'tight')).toMatchObject([{ reason: 'overflow', status: 'completed' }]);
  });

  test.each([
    ['is refused', 'error: 400 times=always message="messages: not valid"'],
    ['is empty', 'empty'],
    ['ends with a refusal', 'stop: refusal'],
  ])(
    'a full session whose summary %s each time continues without its oldest entries, which keep their rows (G15)',
    async (what, directive) => {
      const name = what.replaceAll(' ', '-');
      const tight = await rigOf({ contextTokens: 200_000 }, { windowTokens: 16_000 });
      const every = `<<${directive}>> `;
      await seedHistory(tight, name, { turns: 10, tokens: 30_000, first: 'Order ABC-123 is urgent. ', every });
      const worker = tight.worker();
      for (const reply of ['Done.', 'Done again.']) {
        const message = await tight.send(name, `Go on. [[reply: ${reply}]]`);
        await worker.run(name);
        expect(await replyOf(tight, message)).toMatchObject({ status: 'answered', reply });
      }
      worker.stop();
      expect((await compactionsOf(tight, name)).at(-1)).toMatchObject({ reason: 'overflow', status: 'completed' });
      const { messages } = requestsOf(tight, name).at(-1)!;
      expect(textOf(messages[0])).toContain(SUMMARY_START);
      expect(textOf(messages[0])).toContain('could not summarise');
      expect(textOf(messages[0])).toContain('ABC-123');
      const old = (await entriesOf(tight, name)).slice(0, 20);
      expect(new Set(old.map(({ state }) => state))).toEqual(new Set(['compacted', 'active']));
    },
  );

  test('a summary that the account may not request costs no entries', async () => {
    const tight = await rigOf({ contextTokens: 200_000 }, { windowTokens: 16_000 });
    const every = '<<error: 403 times=always>> ';
    await seedHistory(tight, 'forbidden', { turns: 10, tokens: 30_000, every });
    const worker = tight.worker();
    const message = await tight.send('forbidden', 'Go on. [[reply: Done.]]');
    await worker.run('forbidden');
    worker.stop();
    expect(await replyOf(tight, message)).toMatchObject({ status: 'failed', error: { code: 'blocked' } });
    expect((await entriesOf(tight, 'forbidden')).slice(0, 20).every(({ state }) => state === 'active')).toBe(true);
  });

  test('a request that grows too long between two steps is compacted, and no step is repeated (G11)', async () => {
    const tight = await rigOf({ contextTokens: 200_000 }, { windowTokens: 16_000 });
    const worker = tight.worker();
    const text = `Look at everything. ${'[[tool: bulky {"tokens": 3000}]]'.repeat(7)} [[reply: Seen.]]`;
    const message = await tight.send('growing', text);
    await worker.run('growing');
    worker.stop();
    expect(await replyOf(tight, message)).toMatchObject({ status: 'answered', reply: 'Seen.' });
    const requests = requestsOf(tight, 'growing');
    expect(requests.filter(({ status }) => status === 400).length).toBeGreaterThan(0);
    expect(textOf(requests.at(-1)!.messages[0])).toContain(text);
    const tools = await readToolCalls(tight, { sessionId: await tight.sessionOf('growing') }, 'runs');
    expect(tools.map(({ runs }) => runs)).toEqual(Array.from({ length: 7 }, () => 1));
  });

  test('an answer that ends because the window is full is requested again, until nothing can be compacted', async () => {
    await seedHistory(rig, 'broken', { turns: 4, tokens: 6_000 });
    const worker = rig.worker();
    const message = await rig.send('broken', 'Go on. [[stop: model_context_window_exceeded]] [[reply: Half an]]');
    await worker.run('broken');
    worker.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'failed', error: { code: 'blocked' } });
    const compactions = await compactionsOf(rig, 'broken');
    expect(new Set(compactions.map(({ reason, status }) => `${String(reason)} ${String(status)}`))).toEqual(
      new Set(['overflow completed']),
    );
    // Each is shorter than the one before, so there are few.
    expect(requestsOf(rig, 'broken').map(({ isSummary }) => isSummary)).toEqual([false, true, false, true, false]);
  });

  test('a prompt for which no summary can make room ends blocked, and the next message is answered', async () => {
    const tight = await rigOf({ contextTokens: 200_000 }, { windowTokens: 16_000 });
    const worker = tight.worker();
    const message = await tight.send('huge', longText(20_000));
    await worker.run('huge');
    expect(await replyOf(tight, message)).toMatchObject({ status: 'failed', error: { code: 'blocked' } });
    const next = await tight.send('huge', 'Sorry. [[reply: Never mind.]]');
    await worker.run('huge');
    worker.stop();
    expect(await replyOf(tight, next)).toMatchObject({ status: 'answered', reply: 'Never mind.' });
  });
});

describe('the flush', () => {
  const note = 'The user drinks tea.';
  const flush = `<<tool: memory_append {"text": "${note}"}>> `;

  test('appends to the memory of the day exactly once, in the same call', async () => {
    const rig = await rigOf(small);
    await seedHistory(rig, 'tea', { turns: 10, tokens: 17_000, first: flush });
    const worker = rig.worker();
    await rig.send('tea', 'Go on. [[reply: Done.]]');
    await worker.run('tea');
    worker.stop();
    expect(requestsOf(rig, 'tea').map(({ isSummary }) => isSummary)).toEqual([true, false]);
    expect((await memoryOf(rig)).split(note)).toHaveLength(2);
    const [compaction] = await compactionsOf(rig, 'tea');
    expect(compaction).toMatchObject({ status: 'completed', memory: { text: note } });
  });

  test('happens once when the worker crashes between the memory and the summary, which is not requested again', async () => {
    const rig = await rigOf(small);
    await seedHistory(rig, 'torn', { turns: 10, tokens: 17_000, first: flush });
    const first = rig.worker();
    const { writeCompaction } = first.context.store;
    first.context.store.writeCompaction = async (write) => {
      if (write.step.kind === 'completed') throw Object.assign(new Error('gone'), { code: '57P01' });
      return writeCompaction(write);
    };
    const message = await rig.send('torn', 'Go on. [[reply: Done.]]');
    expect(await first.run('torn')).toMatchObject({ kind: 'released' });
    first.stop();
    expect((await memoryOf(rig)).split(note)).toHaveLength(2);
    const second = rig.worker();
    await second.run('torn');
    second.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    expect((await memoryOf(rig)).split(note)).toHaveLength(2);
    expect(requestsOf(rig, 'torn').map(({ isSummary }) => isSummary)).toEqual([true, false]);
    expect((await compactionsOf(rig, 'torn')).map(({ status }) => status)).toEqual(['completed']);
  });

  test('is skipped where it is off', async () => {
    const off = { ...small, compaction: { ...small.compaction, memoryFlush: { enabled: false } } };
    const rig = await rigOf(off);
    await seedHistory(rig, 'off', { turns: 10, tokens: 17_000, first: flush });
    const worker = rig.worker();
    await rig.send('off', 'Go on. [[reply: Done.]]');
    await worker.run('off');
    worker.stop();
    const asked = rig.scripted.requests.map(({ body }) => body as { tools?: unknown[]; messages: Message[] });
    expect(asked.find(({ messages }) => textOf(messages[0]).startsWith(COMPACTION_REQUEST))?.tools ?? []).toEqual([]);
    expect(await memoryOf(rig)).toBe('');
  });

  test('is skipped for a heartbeat and for a requested compaction', async () => {
    const rig = await rigOf(small);
    const worker = rig.worker();
    for (const kind of ['heartbeat', 'compaction'] as const) {
      await seedHistory(rig, kind, { turns: 10, tokens: 17_000, first: flush });
      await rig.send(kind, 'Read HEARTBEAT.md.', {}, kind);
      await worker.run(kind);
      expect((await compactionsOf(rig, kind)).map(({ status }) => status)).toEqual(['completed']);
    }
    worker.stop();
    expect(await memoryOf(rig)).toBe('');
  });
});

describe('after a worker was lost', () => {
  test('in the middle of a compaction, it writes nothing, and the next worker begins again (G7)', async () => {
    const rig = await rigOf(small);
    await seedHistory(rig, 'lost', { turns: 10, tokens: 17_000, first: '<<stall: after=0>> ' });
    const sleepy = rig.worker();
    const message = await rig.send('lost', 'Go on. [[reply: Done.]]');
    const lost = sleepy.run('lost');
    await expect.poll(() => requestsOf(rig, 'lost').length).toBe(1);
    sleepy.stop();
    await expireLeases(rig, { id: await rig.sessionOf('lost') });
    const heir = rig.worker();
    expect((await heir.run('lost')).kind).toBe('ended');
    heir.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered', reply: 'Done.' });
    const compactions = await compactionsOf(rig, 'lost');
    expect(compactions.map(({ status, attempt }) => [status, attempt])).toEqual([
      ['failed', 1],
      ['completed', 2],
    ]);
    const entries = await entriesOf(rig, 'lost');
    expect(entries.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
    sleepy.context.store.locks.stopAll({ kind: 'lock-lost', message: 'the test is over' });
    expect(await lost).toEqual({ kind: 'lost' });
    expect(await entriesOf(rig, 'lost')).toEqual(entries);
  });
});

describe('on request', () => {
  test('an idle session is compacted by its own turn, which answers with the result', async () => {
    const rig = await rigOf({});
    await seedHistory(rig, 'asked', { turns: 10, tokens: 8_000 });
    const worker = rig.worker();
    const message = await rig.send('asked', 'Keep the order number.', {}, 'compaction');
    await worker.run('asked');
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered', kind: 'compaction' });
    expect(await compactionsOf(rig, 'asked')).toMatchObject([{ reason: 'manual', status: 'completed' }]);
    const requests = requestsOf(rig, 'asked');
    expect(requests).toHaveLength(1);
    expect(textOf(requests[0]!.messages[0])).toContain('Keep the order number.');
    const next = await rig.send('asked', 'Go on. [[reply: Done.]]');
    await worker.run('asked');
    worker.stop();
    expect(await replyOf(rig, next)).toMatchObject({ reply: 'Done.' });
    expect(textOf(requestsOf(rig, 'asked').at(-1)!.messages[0])).toContain(SUMMARY_START);
  });

  test('each attempt is a separate call, and the result of the last is the error of the turn', async () => {
    const rig = await rigOf({});
    await seedHistory(rig, 'hard', { turns: 10, tokens: 8_000, every: '<<empty>> ' });
    const worker = rig.worker();
    const message = await rig.send('hard', '', {}, 'compaction');
    await worker.run('hard');
    worker.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'failed', error: { code: 'empty_summary' } });
    const sessionId = await rig.sessionOf('hard');
    const calls = await readModelCalls(rig, { sessionId }, 'callNo', 'status');
    expect(calls).toEqual([
      { callNo: 1, status: 'ok' },
      { callNo: 2, status: 'ok' },
    ]);
    expect(await readTurns(rig, { sessionId }, 'calls')).toEqual([{ calls: 2 }]);
  });

  test('a session with nothing to compact says so without a model call', async () => {
    const rig = await rigOf({});
    const worker = rig.worker();
    const message = await rig.send('empty', '', {}, 'compaction');
    await worker.run('empty');
    worker.stop();
    expect(await replyOf(rig, message)).toMatchObject({ status: 'answered' });
    expect(requestsOf(rig, 'empty')).toEqual([]);
    expect(await entriesOf(rig, 'empty')).toEqual([]);
  });
});
