// The model over the wire: the real SDK against the scripted model server, and against hand-made
// servers where the wire itself has to misbehave.
import { getEventListeners, once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { classifyFailure } from '../../src/core/failure.ts';
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import type { ModelError } from '../../src/model/model.ts';
import type { ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Asker } from './build-request.ts';
import { assistant, createAsker, request, results, user } from './build-request.ts';

let scripted: ScriptedModel;
let asker: Asker;
const closers: (() => void)[] = [];

beforeAll(async () => {
  scripted = await startScriptedModel();
  asker = createAsker(scripted.url);
});
afterAll(() => scripted.close());
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** The error of a call that must fail. */
async function faultOf(prompt: string, turn?: string): Promise<ModelError> {
  return await asker.ask(request([prompt]), turn === undefined ? {} : { turn }).then(
    () => expect.unreachable('The call did not fail.'),
    (error: ModelError) => error,
  );
}

/** A server that answers every request with a handler; its address. */
async function serve(handler: http.RequestListener): Promise<string> {
  const server = http.createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an answer', () => {
  test('streams its text and is returned whole, with its usage', async () => {
    const { answer, deltas } = await asker.ask(
      request(['[[fill: 500]] [[usage: input=11 output=22 cache-read=33 cache-write=44]]']),
    );
    expect(answer.content).toMatchObject([{ type: 'text' }]);
    expect(deltas.join('')).toHaveLength(500);
    expect(deltas.filter((delta) => delta !== '').length).toBeGreaterThan(5);
    expect(answer.usage).toEqual({ inputTokens: 11, outputTokens: 22, cacheReadTokens: 33, cacheWriteTokens: 44 });
    expect(answer).toMatchObject({ stopReason: 'end_turn', model: 'scripted-1', id: expect.stringMatching(/^msg_/) });
  });

  test.each([
    ['a stream', 'text/event-stream', `event: ping\ndata: {"type": "ping"}\n\n`],
    ['one body', 'application/json', '[[[[[[[[[[[[[[[['],
  ])('that does not end, as %s, fails when it is longer than its tokens allow (G28)', async (_as, type, part) => {
    let sent = 0;
    const chunk = part.repeat(4096);
    const baseUrl = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': type });
      const pour = (): void => {
        sent += chunk.length;
        if (response.write(chunk)) void setImmediate().then(pour);
      };
      response.on('drain', pour).on('error', () => undefined);
      pour();
    });
    const isStreaming = type === 'text/event-stream';
    const model = createAnthropicModel({ apiKey: 'any', baseUrl, isStreaming });
    const options = { signal: new AbortController().signal, headers: {} };
    const asked = model.ask(request(['x'], { maxTokens: 100 }), options);
    await expect(asked).rejects.toMatchObject({
      type: 'malformed_stream',
      message: 'The answer is longer than 1150976 bytes, the limit for 100 tokens.',
    });
    expect(sent).toBeLessThan(32 * 1024 * 1024);
  });

  test('is understood without the names of its events', async () => {
    const events = [
      { type: 'message_start', message: { id: 'm1', model: 'other-1' } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'from data alone' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ];
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
    });
    const { answer } = await createAsker(url).ask(request(['x']));
    expect(answer.content).toEqual([{ type: 'text', text: 'from data alone' }]);
  });

  test('keeps characters whole that the network cuts in pieces', async () => {
    const text = '🙂 Größe — 漢字 '.repeat(2000);
    const { answer, deltas } = await asker.ask(request([`[[reply: ${text}]]`]));
    expect(answer.content).toEqual([{ type: 'text', text: text.trim() }]);
    expect(deltas.join('')).toBe(text.trim());
  });

  test('returns thinking with its signature, which is sent back unchanged', async () => {
    const prompt = user('[[thinking: let me see]] [[redacted: c2VjcmV0]] [[tool: read {}]] [[reply: seen]]');
    const options = { thinking: { type: 'enabled', budget_tokens: 1024 } } as const;
    const { answer } = await asker.ask(request([prompt], options));
    expect(answer.content.map((block) => block.type)).toEqual(['thinking', 'redacted_thinking', 'tool_use']);
    expect(scripted.requests.at(-1)?.body).toMatchObject({ thinking: { type: 'enabled', budget_tokens: 1024 } });
    const next = await asker.ask(
      request([prompt, { role: 'assistant', content: answer.content }, results(answer)], options),
    );
    expect(next.answer.content).toEqual([{ type: 'text', text: 'seen' }]);
  });

  test('with tool arguments that are no JSON keeps the call and says so', async () => {
    const { answer } = await asker.ask(request(['[[malformed]] [[tool: read {"path":"a"}]]']));
    const [call] = answer.content;
    expect(call).toMatchObject({ type: 'tool_use', name: 'read', input: {} });
    expect(Object.values(answer.malformedInputs ?? {})).toEqual(['{"path":"a", "unfinished": "']);
    expect(answer.stopReason).toBe('tool_use');
  });

  test.each(['max_tokens', 'refusal', 'pause_turn', 'stop_sequence', 'model_context_window_exceeded'])(
    'can stop for %s',
    async (reason) => {
      const { answer } = await asker.ask(request([`[[stop: ${reason}]] [[reply: so far]]`]));
      expect(answer.stopReason).toBe(reason);
    },
  );

  test('can be empty', async () => {
    const { answer } = await asker.ask(request(['[[empty]]']));
    expect(answer).toMatchObject({ content: [], stopReason: 'end_turn' });
  });

  test('comes with its audit headers and the configured ones on the wire', async () => {
    const seen: http.IncomingHttpHeaders[] = [];
    const url = await serve((incoming, response) => {
      seen.push(incoming.headers);
      incoming.resume().on('end', () => response.writeHead(404).end('{}'));
    });
    const model = createAnthropicModel({ apiKey: 'key-1', baseUrl: url, headers: { 'x-configured': 'yes' } });
    const headers = { 'x-holdfast-turn': 't1', 'x-holdfast-epoch': '7' };
    await expect(
      model.ask(request(['x']), { signal: AbortSignal.timeout(5000), headers, onChunk: () => {} }),
    ).rejects.toThrow();
    expect(seen).toMatchObject([{ 'x-holdfast-turn': 't1', 'x-holdfast-epoch': '7', 'x-configured': 'yes' }]);
    expect(JSON.stringify(seen)).toContain('key-1');
  });
});

describe('a failure', () => {
  test.each([
    [400, 'invalid_request_error', 'fatal'],
    [401, 'authentication_error', 'fatal'],
    [403, 'permission_error', 'fatal'],
    [404, 'not_found_error', 'fatal'],
    [413, 'request_too_large', 'fatal'],
    [409, 'conflict_error', 'retry'],
    [429, 'rate_limit_error', 'retry'],
    [500, 'api_error', 'retry'],
    [503, 'api_error', 'retry'],
    [529, 'overloaded_error', 'retry'],
  ])('with status %i is classified as %s, once: there is no retry here (G16)', async (status, type, kind) => {
    const before = scripted.requestCount;
    const error = await faultOf(`[[error: ${status} times=always]]`);
    expect(error).toMatchObject({
      name: 'ModelError',
      status,
      type,
      retryAfterMs: null,
      requestId: expect.stringMatching(/^req_/),
    });
    expect(error.message).not.toMatch(/^\d/);
    expect(classifyFailure(error).kind).toBe(kind);
    expect(scripted.requestCount).toBe(before + 1);
  });

  test('returns the wait that the provider requests', async () => {
    expect(await faultOf('[[error: 429 retry-after=3]]')).toMatchObject({ status: 429, retryAfterMs: 3000 });
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
    const { retryAfterMs } = await faultOf(`[[error: 529 retry-after="${inAnHour}"]]`);
    expect(retryAfterMs).toBeGreaterThan(3_590_000);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test('at the spend limit is not for asking again', async () => {
    const error = await faultOf('[[error: 429 code=enforced_spend_limit_reached message="You have hit a limit."]]');
    expect(error).toMatchObject({ errorCode: 'enforced_spend_limit_reached', message: 'You have hit a limit.' });
    expect(classifyFailure(error)).toEqual({ kind: 'fatal', code: 'model_spend_limit' });
  });

  test('of a prompt that does not fit is an overflow', async () => {
    const small = await startScriptedModel({ contextTokens: 50 });
    closers.push(() => void small.close());
    const error: unknown = await createAsker(small.url)
      .ask(request(['x'.repeat(400)]))
      .catch((caught: unknown) => caught);
    expect(classifyFailure(error as ModelError)).toEqual({ kind: 'overflow', code: 'model_context_overflow' });
  });

  test('inside the stream is classified by its type', async () => {
    const error = await faultOf('[[error: 529 after=3]] [[reply: never seen]]');
    expect(error).toMatchObject({ status: null, type: 'overloaded_error', message: 'Overloaded' });
    expect(classifyFailure(error)).toMatchObject({ kind: 'retry', code: 'model_overloaded' });
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'of a stream cut after %i events is a cut stream, never an answer (G12)',
    async (after) => {
      const error = await faultOf(`[[cut: after=${after}]] [[reply: hello]] [[tool: read {}]]`);
      expect(error).toMatchObject({ type: 'cut_stream', status: null });
    },
  );

  test('of a stream that ends in good order but early is a cut stream too', async () => {
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: ping\ndata: {"type":"ping"}\n\n');
    });
    await expect(createAsker(url).ask(request(['x']))).rejects.toMatchObject({ type: 'cut_stream' });
  });

  test('of a connection that breaks before the answer is the network', async () => {
    expect(await faultOf('[[cut: after=0]]')).toMatchObject({ type: 'network', status: null });
  });

  test('to connect is the network', async () => {
    const gone = await startScriptedModel();
    await gone.close();
    await expect(createAsker(gone.url).ask(request(['x']))).rejects.toMatchObject({
      type: 'network',
      status: null,
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('of a stream that makes no sense is a malformed stream', async () => {
    expect(await faultOf('[[malformed: stream]]')).toMatchObject({ type: 'malformed_stream', status: null });
    const url = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' }).end('log in');
    });
    await expect(createAsker(url).ask(request(['x']))).rejects.toMatchObject({ type: 'malformed_stream' });
  });

  test('whose body is no JSON keeps its status', async () => {
    const url = await serve((_, response) => {
      response.writeHead(502, { 'content-type': 'text/html', 'retry-after-ms': '70' }).end('<html>bad gateway</html>');
    });
    await expect(createAsker(url).ask(request(['x']))).rejects.toMatchObject({ status: 502, retryAfterMs: 70 });
  });

  test('that is limited to a number of times ends after them', async () => {
    const prompt = '[[error: 529 times=2]] [[cut: after=2]] [[reply: at last]]';
    for (const type of ['overloaded_error', 'overloaded_error', 'cut_stream']) {
      expect(await faultOf(prompt, 'turn-x')).toMatchObject({ type });
    }
    expect((await asker.ask(request([prompt]), { turn: 'turn-x' })).answer.content).toEqual([
      { type: 'text', text: 'at last' },
    ]);
    expect(await faultOf(prompt, 'turn-y')).toMatchObject({ status: 529 });
  });
});

describe('an abort', () => {
  const reason = { kind: 'stopped by a test' };

  test('before the call sends nothing', async () => {
    const before = scripted.requestCount;
    await expect(asker.ask(request(['x']), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(scripted.requestCount).toBe(before);
  });

  test('while the connection is made rejects with its reason', async () => {
    const abort = new AbortController();
    // It never answers the TLS handshake, which is given up after ten seconds.
    const silent = net.createServer((socket) => {
      closers.push(() => void socket.destroy());
      abort.abort(reason);
    });
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    closers.push(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const asked = createAsker(`https://127.0.0.1:${port}`).ask(request(['x']), { signal: abort.signal });
    const ended = asked.catch((error: unknown) => error);
    await once(abort.signal, 'abort');
    await asker.ask(request(['another call']));
    expect(await Promise.race([ended, Promise.resolve('still connecting')])).toBe(reason);
  });

  test('before the answer rejects with its reason', async () => {
    const abort = new AbortController();
    const listening = await startScriptedModel({ onRequest: () => abort.abort(reason) });
    closers.push(() => void listening.close());
    await expect(createAsker(listening.url).ask(request(['[[delay: 60000]]']), { signal: abort.signal })).rejects.toBe(
      reason,
    );
  });

  test.each([
    ['a stalled', '[[stall: after=3]] [[reply: hello]]'],
    ['a slow', '[[slow: 5]] [[fill: 2000]]'],
  ])('in the middle of %s stream rejects with its reason and reports nothing more', async (_, prompt) => {
    const abort = new AbortController();
    const deltas: string[] = [];
    const asked = asker.ask(request([prompt]), {
      signal: abort.signal,
      onChunk: (delta) => {
        deltas.push(delta);
        if (deltas.length === 3) abort.abort(reason);
      },
    });
    await expect(asked).rejects.toBe(reason);
    expect(deltas).toHaveLength(3);
  });

  test('hangs up on the provider', async () => {
    let hungUp = (): void => {};
    const isHungUp = new Promise<void>((resolve) => (hungUp = resolve));
    const abort = new AbortController();
    const url = await serve((_, response) => {
      response.on('close', hungUp);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ping\ndata: {"type":"ping"}\n\n');
    });
    const asked = createAsker(url).ask(request(['x']), { signal: abort.signal, onChunk: () => abort.abort(reason) });
    await expect(asked).rejects.toBe(reason);
    await isHungUp;
  });

  test('leaves no listener on a signal that many calls share', async () => {
    const abort = new AbortController();
    await asker.ask(request(['x']), { signal: abort.signal });
    await asker.ask(request(['[[error: 500]]']), { signal: abort.signal }).catch(() => {});
    await expect.poll(() => getEventListeners(abort.signal, 'abort')).toEqual([]);
  });
});

describe('many calls', () => {
  test('200 simultaneous calls share nothing and all return', async () => {
    const prompts = Array.from({ length: 200 }, (_, index) => `[[delay: 100]] [[reply: number ${index}]]`);
    const asked = await Promise.all(prompts.map((prompt) => asker.ask(request([prompt]))));
    expect(asked.map(({ deltas }) => deltas.join(''))).toEqual(prompts.map((_, index) => `number ${index}`));
  });

  test('one after another use one connection, also after errors', async () => {
    let connections = 0;
    const counting = await startScriptedModel();
    closers.push(() => void counting.close());
    const proxy = http.createServer((incoming, response) => {
      const forwarded = http.request(
        `${counting.url}${incoming.url}`,
        { method: incoming.method ?? 'GET', headers: incoming.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        },
      );
      incoming.pipe(forwarded);
    });
    proxy.on('connection', () => (connections += 1));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    closers.push(
      () => proxy.closeAllConnections(),
      () => proxy.close(),
    );
    const through = createAsker(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
    for (const prompt of ['a', '[[error: 529]]', 'b', '[[tool: read {}]]', 'c']) {
      await through.ask(request([prompt])).catch(() => {});
      // A connection can be used again in the next turn of the event loop.
      await setImmediate();
    }
    expect(connections).toBe(1);
  });

  test('with a history of a megabyte are read once and answered', async () => {
    const history = Array.from({ length: 500 }, (_, index) =>
      index % 2 === 0 ? user('q'.repeat(2000)) : assistant('a'.repeat(2000)),
    );
    const { answer } = await asker.ask(request([...history, 'still there?']));
    expect(answer.content).toEqual([{ type: 'text', text: 'You said: still there?' }]);
    expect(answer.usage.cacheWriteTokens).toBeGreaterThan(250_000);
  });
});
