// The payload log and the cache trace: what they write of real calls, what they leave out, and that
// a fault of theirs affects no call.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../../src/core/model-request.ts';
import { createAnthropicTransport } from '../../../src/model/anthropic.ts';
import { createModel } from '../../../src/model/create-model.ts';
import { createCacheTrace } from '../../../src/model/observers/cache-trace.ts';
import { JsonlFile } from '../../../src/model/observers/jsonl-file.ts';
import type { ModelObserver } from '../../../src/model/observers/observer.ts';
import { createPayloadLog, createRedaction } from '../../../src/model/observers/payload-log.ts';
import { startScriptedModel, type ScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { assistant, request, results, user } from '../build-request.ts';

let scripted: ScriptedModel;
let folder: string;
let files = 0;

beforeAll(async () => {
  scripted = await startScriptedModel();
  folder = await mkdtemp(join(tmpdir(), 'holdfast-logs-'));
});
afterAll(async () => {
  await scripted.close();
  await rm(folder, { recursive: true, force: true });
});

/** A file that does not exist yet, in a folder that does not exist yet. */
function freshPath(): string {
  return join(folder, String((files += 1)), 'log.jsonl');
}

function modelWith(observer: ModelObserver) {
  return createModel({
    transports: [createAnthropicTransport({ apiKey: 'sk-ant-very-secret-key', baseUrl: scripted.url })],
    observers: [observer],
  });
}

function options(call: number) {
  const about = { callId: `t1:model:${call}`, sessionKey: 'agent:main:x', turnId: 't1' };
  return { signal: new AbortController().signal, headers: {}, about };
}

async function linesOf(path: string): Promise<Record<string, never>[]> {
  return (await readFile(path, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, never>);
}

const now = () => new Date('2026-11-01T00:00:00Z');

/** For logs that must not meet a fault. */
function refuse(error: unknown): void {
  throw error;
}

describe('the payload log', () => {
  test('has a line per call with request and answer or error, readable by its owner alone', async () => {
    const path = freshPath();
    const model = modelWith(createPayloadLog({ path, now, secrets: [], onFault: refuse }));
    await model.ask(request(['[[reply: hi]]']), options(1));
    await expect(model.ask(request(['[[error: 400]]']), options(2))).rejects.toThrow();
    await model.close();
    const lines = await linesOf(path);
    expect(lines).toMatchObject([
      {
        at: '2026-11-01T00:00:00.000Z',
        callId: 't1:model:1',
        sessionKey: 'agent:main:x',
        transport: 'anthropic-stream',
        request: { model: 'scripted-1', messages: [{ content: [{ text: '[[reply: hi]]' }] }] },
        answer: { content: [{ text: 'hi' }], stopReason: 'end_turn', usage: { outputTokens: 1 } },
      },
      { callId: 't1:model:2', error: { name: 'ModelError', type: 'invalid_request_error' } },
    ]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('holds no secret and no image', async () => {
    const path = freshPath();
    const model = modelWith(createPayloadLog({ path, now, secrets: ['hunter2-hunter2'], onFault: refuse }));
    const data = Buffer.from('an image').toString('base64');
    const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data } };
    const texts = [
      'the word is hunter2-hunter2',
      'sk-ant-api03-abcdefghijkl',
      'postgres://me:letmein@db/x',
      'Bearer abcdef123456',
    ];
    const call = assistant({
      type: 'tool_use',
      id: 'a',
      name: 'read',
      input: { password: 'swordfish', apiKey: 'k1', path: 'a' },
    });
    const asked = request([
      user(...texts, image),
      call,
      user({ type: 'tool_result', tool_use_id: 'a', content: 'ok' }),
    ]);
    await model.ask(asked, options(1));
    await model.close();
    const text = await readFile(path, 'utf8');
    for (const secret of ['hunter2', 'sk-ant', 'letmein', 'abcdef123456', 'swordfish', '"k1"', data])
      expect(text).not.toContain(secret);
    expect(text).toContain('the word is [redacted]');
    expect(text).toContain('characters of base64, sha256');
  });

  test('that cannot be written is reported once and disturbs no call', async () => {
    const blocker = join(folder, 'a-file');
    await writeFile(blocker, '');
    const faults: unknown[] = [];
    const observer = createPayloadLog({
      path: join(blocker, 'x.jsonl'),
      now,
      secrets: [],
      onFault: (error) => faults.push(error),
    });
    const model = modelWith(observer);
    for (const call of [1, 2, 3]) await model.ask(request(['hello']), options(call));
    await model.close();
    expect(faults).toHaveLength(1);
  });
});

describe('a file of lines', () => {
  test('is rotated when it is full, keeps the one before, and drops lines that arrive too fast', async () => {
    const path = freshPath();
    const file = new JsonlFile({ path, bytesMax: 1000, onFault: refuse });
    for (let n = 0; n < 100; n += 1) {
      file.add(() => ({ n, pad: 'x'.repeat(80) }));
      if (n % 10 === 9) await file.flush();
    }
    expect((await stat(path)).size).toBeLessThanOrEqual(1000);
    expect((await stat(`${path}.1`)).size).toBeLessThanOrEqual(1000);
    expect((await linesOf(path)).at(-1)).toMatchObject({ n: 99 });
    const fast = new JsonlFile({ path: freshPath(), bytesMax: 1_000_000, onFault: refuse });
    for (let n = 0; n < 1000; n += 1) fast.add(() => ({ n }));
    await fast.flush();
  });

  test('appends to an existing file', async () => {
    const path = freshPath();
    for (const n of [1, 2]) {
      const file = new JsonlFile({ path, bytesMax: 1000, onFault: refuse });
      file.add(() => ({ n }));
      await file.flush();
    }
    expect(await linesOf(path)).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

test('text that is not secret is unchanged', () => {
  const redact = createRedaction(['short']);
  const value = {
    list: ['short', 1, null],
    token_count: 5,
    text: 'a secret is a secret',
    data: 'x',
    source: { type: 'url', data: 'y' },
  };
  expect(redact(value)).toEqual(value);
});

describe('the cache trace', () => {
  test('has the tokens read and written, and the first part that changed', async () => {
    const path = freshPath();
    const model = modelWith(createCacheTrace({ path, now, onFault: refuse }));
    const first = user(`[[tool: read {}]] [[reply: done]] ${'long '.repeat(200)}`);
    const { answer } = await ask([first], 1);
    const messages: ModelMessage[] = [first, { role: 'assistant', content: answer.content }, results(answer)];
    await ask(messages, 2);
    await ask([user('another beginning'), ...messages.slice(1)], 3);
    await model.close();
    const lines = await linesOf(path);
    expect(lines[0]).toMatchObject({
      callId: 't1:model:1',
      read: expect.any(Number),
      written: expect.any(Number),
      uncached: 0,
    });
    expect(lines[0]).not.toHaveProperty('firstChange');
    const [read, written] = [Number(lines[0]?.['read']), Number(lines[0]?.['written'])];
    expect(lines[1]).toMatchObject({ firstChange: null, read: read + written });
    expect(lines[1]?.['parts']).toMatchObject([
      { name: 'tools' },
      { name: 'system.0' },
      { name: 'messages', count: 3 },
    ]);
    expect(lines[2]).toMatchObject({ firstChange: 'messages.0' });
    expect(await readFile(path, 'utf8')).not.toContain('long long');

    async function ask(asked: ModelMessage[], call: number) {
      return { answer: await model.ask(request(asked), options(call)) };
    }
  });
});
