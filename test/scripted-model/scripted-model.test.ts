// The scripted model as a model: whole turns through the real client, and its own HTTP endpoints.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ModelAnswer } from '../../src/core/model-request.ts';
import { joinText } from '../../src/core/content.ts';
import type { RecordedRequest } from '../../scripted-model/request-log.ts';
import type { ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Asker } from '../model/build-request.ts';
import { assistant, createAsker, request, results, user } from '../model/build-request.ts';

let scripted: ScriptedModel;
let asker: Asker;
const received: RecordedRequest[] = [];

beforeAll(async () => {
  scripted = await startScriptedModel({ onRequest: (record) => received.push(record) });
  asker = createAsker(scripted.url);
});
afterAll(() => scripted.close());

/** A turn in short: per answer its text and its calls. */
function outline(answers: ModelAnswer[]): string[] {
  return answers.map(({ content }) =>
    content
      .map((block) => (block.type === 'tool_use' ? `${block.name}(${JSON.stringify(block.input)})` : joinText([block])))
      .join(' + '),
  );
}

async function reply(prompt: string): Promise<string> {
  return joinText((await asker.ask(request([prompt]))).answer.content);
}

function post(path: string, body: unknown): Promise<Response> {
  return fetch(scripted.url + path, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) });
}

const BODY = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] };

describe('a turn', () => {
  test('plays its script: calls in sequence, in parallel, and the reply', async () => {
    const answers = await asker.play(
      '[[reply: looking]] [[tool: read {"path":"a"}]] [[tool: b]] & [[tool: c]] [[reply: all done]]',
    );
    expect(outline(answers)).toEqual(['looking + read({"path":"a"})', 'b({}) + c({})', 'all done']);
    expect(answers.map(({ stopReason }) => stopReason)).toEqual(['tool_use', 'tool_use', 'end_turn']);
    const ids = answers.flatMap(({ content }) =>
      content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
    );
    expect(new Set(ids).size).toBe(3);
  });

  test('makes the calls of pages, tools and senders, once each, when it is obedient', async () => {
    const obedient = await startScriptedModel({ isObedient: true });
    const obedientAsker = createAsker(obedient.url);
    const message = '{"name": "[[tool: a {\\"x\\":1}]]"} [[reply: not said]]';
    const page = 'Do [[tool: b {"y":2}]]';
    const { answer } = await obedientAsker.ask(request([user(message)]));
    const afterPage = [user(message), assistant(...answer.content), results(answer, page)];
    const { answer: second } = await obedientAsker.ask(request(afterPage));
    const { answer: last } = await obedientAsker.ask(
      request([...afterPage, assistant(...second.content), results(second)]),
    );
    expect(outline([answer, second, last])).toEqual(['a({"x":1})', 'b({"y":2})', 'Done.']);
    await obedient.close();
  });

  test('plays the script that the text has for the model', async () => {
    const prompt = user(
      'Prices? [[tool: read]] [[for: small]] [[error: 529]] [[reply: 12]] [[for: others]] [[error: 503]] [[reply: 21]]',
    );
    const first = await asker.ask(request([prompt], { model: 'small' }), { turn: 'by-model' });
    const after = [prompt, assistant(...first.answer.content), results(first.answer)];
    const askNext = (model: string) => asker.ask(request(after, { model }), { turn: 'by-model' });
    // Each of them has an error of its own before its answer.
    await expect(askNext('small')).rejects.toMatchObject({ status: 529 });
    await expect(askNext('large')).rejects.toMatchObject({ status: 503 });
    expect(outline([first.answer, (await askNext('small')).answer, (await askNext('large')).answer])).toEqual([
      'read({})',
      '12',
      '21',
    ]);
  });

  test('can loop for a long time', async () => {
    expect(outline(await asker.play('[[repeat: 30 tool count {"n":"$i"}]] [[reply: counted]]'))).toEqual([
      ...Array.from({ length: 30 }, (_, index) => `count({"n":"${index + 1}"})`),
      'counted',
    ]);
  });

  test('ends by itself when the script has no last word', async () => {
    expect(outline(await asker.play('[[tool: a]]'))).toEqual(['a({})', 'Done.']);
    expect(outline(await asker.play('Please read it. [[tool: a]]'))).toEqual(['a({})', 'You said: Please read it.']);
  });

  test('takes a steered text in at its end', async () => {
    const prompt = user('[[tool: a]]');
    const { answer } = await asker.ask(request([prompt]));
    const steered = await asker.ask(
      request([prompt, { role: 'assistant', content: answer.content }, results(answer), user('and be quick')]),
    );
    expect(outline([steered.answer])).toEqual(['You said: and be quick']);
  });

  test('reads the prompt cache from its second call on', async () => {
    const answers = await asker.play(`Unique to this test. ${'x'.repeat(4000)} [[tool: a]] [[tool: b]] [[reply: ok]]`);
    const [first, second, third] = answers.map(({ usage }) => usage);
    expect(first).toMatchObject({ cacheReadTokens: expect.any(Number), inputTokens: 0 });
    expect(second?.cacheReadTokens).toBe((first?.cacheReadTokens ?? 0) + (first?.cacheWriteTokens ?? 0));
    expect(third?.cacheReadTokens).toBe((second?.cacheReadTokens ?? 0) + (second?.cacheWriteTokens ?? 0));
    expect(third?.cacheWriteTokens).toBeLessThan(100);
  });

  test('is not led by the script of one that was cut off', async () => {
    const cutOff = [
      user('[[tool: a]] [[tool: b]]'),
      assistant({ type: 'tool_use', id: 'x', name: 'a', input: {} }),
      user({ type: 'tool_result', tool_use_id: 'x', content: 'aborted' }),
    ];
    const { answer } = await asker.ask(request([...cutOff, user('never mind')]), { turn: 'the-next' });
    expect(outline([answer])).toEqual(['You said: never mind']);
  });
});

describe('without directives the model', () => {
  test('says the last line back', async () => {
    expect(await reply('hello\nworld')).toBe('You said: world');
  });

  test('says each queued message back', async () => {
    const text = '[Queued messages while agent was busy]\n\n---\nQueued #1\none\n\n---\nQueued #2\ntwo';
    expect(await reply(text)).toBe('You said: one\nYou said: two');
  });

  test('has nothing to report to a heartbeat', async () => {
    expect(await reply('Read HEARTBEAT.md if it exists. Follow it strictly.')).toBe('HEARTBEAT_OK');
    expect(await reply('System: [2026-01-01 00:00:00 UTC] woke\n\nRead HEARTBEAT.md if it exists.')).toBe(
      'HEARTBEAT_OK',
    );
  });

  test("passes on a subagent's announcement", async () => {
    const text =
      '[System Message] [sessionId: s1] A subagent task "count" just completed successfully.\n\nResult:\nforty-two\n\nStats: none';
    expect(await reply(text)).toBe('A subagent task "count" just completed successfully. It says: forty-two');
  });

  test('greets in a new session', async () => {
    expect(await reply('A new session was started via /new or /reset. Greet the user.')).toContain('Hello!');
  });
});

describe('the server', () => {
  test('answers without streaming too', async () => {
    const response = await post('/v1/messages', {
      ...BODY,
      messages: [{ role: 'user', content: 'x [[tool: read {"a":1}]]' }],
    });
    expect(response.headers.get('request-id')).toMatch(/^req_/);
    expect(await response.json()).toMatchObject({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'tool_use', name: 'read', input: { a: 1 } }],
      stop_reason: 'tool_use',
      usage: { input_tokens: 6 },
    });
  });

  test('gives JSON that fits a schema', async () => {
    const schema = { type: 'object', properties: { label: { enum: ['bug', 'question'] } }, required: ['label'] };
    const response = await post('/v1/messages', {
      ...BODY,
      output_config: { format: { type: 'json_schema', schema } },
    });
    expect(await response.json()).toMatchObject({ content: [{ type: 'text', text: '{"label":"bug"}' }] });
  });

  test('cuts and fails without streaming too', async () => {
    await expect(
      post('/v1/messages', { ...BODY, messages: [{ role: 'user', content: '[[cut: after=0]]' }] }),
    ).rejects.toThrow('fetch failed');
    expect(
      (await post('/v1/messages', { ...BODY, messages: [{ role: 'user', content: '[[error: 503]]' }] })).status,
    ).toBe(503);
  });

  test('gives errors in the form of the API', async () => {
    const response = await post('/v1/messages', {
      ...BODY,
      messages: [{ role: 'user', content: '[[error: 429 retry-after=7]]' }],
    });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'rate_limit_error', message: expect.any(String) },
      request_id: response.headers.get('request-id'),
    });
  });

  test('refuses an invalid request', async () => {
    expect(await (await post('/v1/messages', '{"model":')).json()).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringContaining('not valid JSON') },
    });
    expect(await (await post('/v1/messages', {})).json()).toMatchObject({
      error: { message: 'max_tokens: Field required' },
    });
    expect((await post('/v1/elsewhere', {})).status).toBe(404);
    const tooLarge = await post('/v1/messages', 'x'.repeat(33 * 1024 * 1024));
    expect(tooLarge.status).toBe(413);
    expect(await tooLarge.json()).toMatchObject({ error: { type: 'request_too_large' } });
  });

  test('counts tokens and lists models', async () => {
    const { max_tokens: _, ...countable } = BODY;
    expect(await (await post('/v1/messages/count_tokens', countable)).json()).toEqual({ input_tokens: 2 });
    expect(await (await fetch(`${scripted.url}/v1/models`)).json()).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ type: 'model' })]),
    });
  });

  test('shows the received requests: body, audit headers and status, but no key', async () => {
    await asker.ask(request(['shown']), { turn: 'shown-turn' });
    await asker.ask(request(['[[error: 529]]']), { turn: 'shown-turn' }).catch(() => {});
    const shown = await (await fetch(`${scripted.url}/requests?turn=shown-turn`)).json();
    expect(shown).toMatchObject({
      requests: [
        {
          status: 200,
          path: '/v1/messages',
          headers: { 'x-holdfast-turn': 'shown-turn' },
          body: { model: 'scripted-1', stream: true },
        },
        { status: 529, receivedAt: expect.stringMatching(/Z$/) },
      ],
    });
    expect(JSON.stringify(shown)).not.toContain('Bearer');
    expect(received.some(({ headers }) => headers['x-holdfast-turn'] === 'shown-turn')).toBe(true);
    await fetch(`${scripted.url}/requests`, { method: 'DELETE' });
    expect(scripted.requests).toEqual([]);
  });

  test('remembers only the latest requests', async () => {
    const small = await startScriptedModel({ recordedRequestsMax: 3, recordedCharsMax: 2000 });
    const smallAsker = createAsker(small.url);
    for (const prompt of ['1', '2', '3', '4', '5']) await smallAsker.ask(request([prompt]));
    expect(small.requests.map(({ number }) => number)).toEqual([3, 4, 5]);
    await smallAsker.ask(request(['x'.repeat(1900)]));
    expect(small.requests.map(({ number }) => number)).toEqual([]);
    expect(small.requestCount).toBe(6);
    await small.close();
  });

  test('closes while calls are open', async () => {
    let arrived = (): void => {};
    const isArrived = new Promise<void>((resolve) => (arrived = resolve));
    const closing = await startScriptedModel({ onRequest: () => arrived() });
    const open = createAsker(closing.url).ask(request(['[[stall: after=0]]']));
    const ended = expect(open).rejects.toMatchObject({ name: 'ModelError' });
    await isArrived;
    await closing.close();
    await ended;
  });

  test('rejects when its port is in use', async () => {
    await expect(startScriptedModel({ port: scripted.port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });
});
