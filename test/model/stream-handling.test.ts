// What is made of an answer between the wire and the turn: a test for each thing that can be wrong
// with it, over real HTTP against the scripted model.
import { decodeHTMLStrict } from 'entities/decode';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { joinText } from '../../src/core/content.ts';
import type { ModelAnswer } from '../../src/core/model-request.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createModel, type ModelParts } from '../../src/model/create-model.ts';
import type { AskOptions } from '../../src/model/model.ts';
import { type CallResult, type ModelObserver, createCallDiagnostics } from '../../src/model/observers/observer.ts';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { Transport } from '../../src/model/transport.ts';
import { assistant, request, user } from './build-request.ts';

let scripted: ScriptedModel;

beforeAll(async () => {
  scripted = await startScriptedModel();
});
afterAll(() => scripted.close());

/** The model's result for a scripted answer, with its deltas. */
async function ask(
  messages: Parameters<typeof request>[0],
  options: Partial<AskOptions> & { parts?: Partial<ModelParts>; isStreaming?: boolean } = {},
): Promise<{ answer: ModelAnswer; deltas: string[] }> {
  const { parts, isStreaming = true, ...more } = options;
  const transport = createAnthropicTransport({ apiKey: 'any', baseUrl: scripted.url, isStreaming });
  const model = createModel({ transports: [transport], ...parts });
  const deltas: string[] = [];
  const answer = await model.ask(request(messages), {
    signal: new AbortController().signal,
    headers: {},
    onChunk: (delta) => deltas.push(delta),
    ...more,
  });
  return { answer, deltas };
}

describe('the transport of a model', () => {
  test('is the one of its provider, those of plugins first', async () => {
    const ownTransport: Transport = {
      name: 'own',
      provider: 'acme',
      async send({ onEvent }) {
        onEvent({ type: 'message_start', message: { id: 'm1', model: 'acme-1' } });
        onEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'from acme' } });
        onEvent({ type: 'message_delta', delta: { stop_reason: 'stop' } });
        expect(onEvent({ type: 'message_stop' })).toBe(true);
      },
    };
    const model = createModel({
      transports: [ownTransport, createAnthropicTransport({ apiKey: 'any', baseUrl: scripted.url })],
    });
    const options = { signal: new AbortController().signal, headers: {} };
    expect(joinText((await model.ask(request(['hello'], { provider: 'acme' }), options)).content)).toBe('from acme');
    expect(joinText((await model.ask(request(['hello']), options)).content)).toBe('You said: hello');
    await expect(model.ask(request(['x'], { provider: 'missing' }), options)).rejects.toMatchObject({
      errorCode: 'no_transport',
      message: expect.stringContaining('"missing"'),
    });
  });

  test('can deliver the answer as one body', async () => {
    const prompt = '[[thinking: hm]] [[reply: first]] [[tool: read {"path":"a"}]]';
    const whole = await ask([prompt], { isStreaming: false });
    const streamed = await ask([prompt]);
    expect(scripted.requests.map(({ body }) => (body as { stream: boolean }).stream)).toContain(false);
    expect(whole.answer.content).toMatchObject([
      { type: 'thinking', thinking: 'hm' },
      { type: 'text', text: 'first' },
      { type: 'tool_use', name: 'read', input: { path: 'a' } },
    ]);
    expect(whole.answer.stopReason).toBe('tool_use');
    expect(whole.deltas.join('')).toBe(streamed.deltas.join(''));
  });

  test('with one body fails when it is cut, is not an answer, or is an error', async () => {
    await expect(ask(['[[cut: after=0]]'], { isStreaming: false })).rejects.toMatchObject({
      name: 'ModelError',
      type: 'network',
    });
    await expect(ask(['[[error: 529]]'], { isStreaming: false })).rejects.toMatchObject({ status: 529 });
    const abort = new AbortController();
    const asked = ask(['[[stall: after=0]]'], { isStreaming: false, signal: abort.signal });
    const reason = new Error('enough');
    await expect.poll(() => JSON.stringify(scripted.requests.at(-1)?.body)).toContain('stall');
    abort.abort(reason);
    await expect(asked).rejects.toBe(reason);
  });
});

test('a malformed event of the stream makes the call fail, to be asked again', async () => {
  await expect(ask(['[[malformed: stream]] [[reply: x]]'])).rejects.toMatchObject({ type: 'malformed_stream' });
});

describe('a tool call', () => {
  test('by another spelling of a name calls that tool', async () => {
    const { answer } = await ask(['[[tool: x {"path":"a"} name=" Read "]] & [[tool: x {} name="functions.read:3"]]']);
    expect(answer.content).toMatchObject([{ name: 'read', input: { path: 'a' } }, { name: 'read' }]);
    expect(answer.repairs?.map(({ step, was }) => [step, was])).toEqual([
      ['tool-names', ' Read '],
      ['tool-names', 'functions.read:3'],
    ]);
  });

  test('without an id, or with that of another, gets a new id', async () => {
    const { answer } = await ask(['[[tool: read {} id=""]] & [[tool: read {} id=one]] & [[tool: read {} id=one]]']);
    expect(answer.content).toMatchObject([{ id: 'call_auto_1' }, { id: 'one' }, { id: 'call_auto_2' }]);
  });

  test('with arguments that are almost JSON is repaired, and the original is recorded', async () => {
    const { answer } = await ask(["[[arguments: {path: 'a', n: True,}]] [[tool: read {}]]"]);
    expect(answer.content).toMatchObject([{ type: 'tool_use', input: { path: 'a', n: true } }]);
    expect(answer).not.toHaveProperty('malformedInputs');
    expect(answer.repairs).toMatchObject([{ step: 'repair-arguments', was: "{path: 'a', n: True,}" }]);
  });

  test('with arguments that are cut off is never completed', async () => {
    const { answer } = await ask(['[[arguments: {"command": "rm -rf /tmp/x/]] [[tool: read {}]]']);
    expect(Object.values(answer.malformedInputs ?? {})).toEqual(['{"command": "rm -rf /tmp/x/']);
    expect(answer.content).toMatchObject([{ input: {} }]);
  });

  test('with HTML in its arguments is decoded where the provider is said to encode it, and nowhere else', async () => {
    const prompt = '[[tool: read {"query":"a &lt; b &amp;&amp; c &quot;d&quot; &#39;e&#x27;","url":"?x=1&copy=2"}]]';
    const { answer } = await ask([prompt], { parts: { argumentDecoders: { anthropic: decodeHTMLStrict } } });
    expect(answer.content).toMatchObject([{ input: { query: `a < b && c "d" 'e'`, url: '?x=1&copy=2' } }]);
    expect((await ask([prompt])).answer.content).toMatchObject([{ input: { query: expect.stringContaining('&lt;') } }]);
  });

  test('of the same unknown tool, the third time in a row, becomes a text', async () => {
    const strike = (id: string) => [
      assistant({ type: 'tool_use', id, name: 'ghost', input: {} }),
      user({ type: 'tool_result', tool_use_id: id, content: 'Unknown tool', is_error: true }),
    ];
    const prompt = '[[repeat: 5 tool ghost {}]]';
    const options = { unknownToolThreshold: 3 };
    const second = await ask([prompt, ...strike('a')], options);
    expect(second.answer.content).toMatchObject([{ type: 'tool_use', name: 'ghost' }]);
    const third = await ask([prompt, ...strike('a'), ...strike('b')], options);
    expect(third.answer).toMatchObject({ stopReason: 'end_turn', content: [{ type: 'text' }] });
    expect(third.deltas.join('')).toBe(joinText(third.answer.content));
  });
});

describe('a stop reason', () => {
  test.each([
    ['sensitive', 'sensitive'],
    ['content_filter', 'sensitive'],
  ])('%s ends the answer with words and without calls', async (wire, stopReason) => {
    const { answer, deltas } = await ask([`[[stop: ${wire}]] [[reply: so far]] [[tool: read {}]]`]);
    expect(answer.stopReason).toBe(stopReason);
    expect(answer.content.map(({ type }) => type)).toEqual(['text', 'text']);
    expect(joinText(answer.content)).toContain(wire);
    expect(deltas.join('')).toBe(joinText(answer.content));
  });

  test('that is not known ends an answer whose calls are whole, and no other (G12, G43)', async () => {
    const { answer } = await ask(['[[stop: surprise]] [[reply: so far]] [[tool: read {}]]']);
    expect(answer).toMatchObject({
      stopReason: 'tool_use',
      wireStopReason: 'surprise',
      content: [{ text: 'so far' }, { name: 'read' }],
      repairs: [{ step: 'stop-reason', was: 'surprise' }],
    });
    const { answer: torn, deltas } = await ask([
      '[[stop: surprise]] [[malformed]] [[reply: so far]] [[tool: read {}]]',
    ]);
    expect(torn.stopReason).toBe('unhandled');
    expect(torn.content.map(({ type }) => type)).toEqual(['text', 'text']);
    expect(deltas.join('')).toBe(joinText(torn.content));
  });
});

test('texts are replaced in the answer and in its deltas alike, across the borders of events', async () => {
  const text = 'Claude and Claude Code. '.repeat(40).trim();
  const replacements = [
    { from: 'Claude Code', to: 'the tool' },
    { from: 'Claude', to: 'the model' },
  ];
  const { answer, deltas } = await ask([`[[reply: ${text}]] [[tool: read {"who":"Claude"}]]`], { replacements });
  const replaced = 'the model and the tool. '.repeat(40).trim();
  expect(answer.content).toMatchObject([{ text: replaced }, { input: { who: 'Claude' } }]);
  expect(deltas.join('')).toBe(replaced);
  expect(deltas.filter((delta) => delta !== '').length).toBeGreaterThan(5);
});

describe('observers', () => {
  test('receive the request, the bytes of the answer, and the end once', async () => {
    const reports: unknown[] = [];
    const observer: ModelObserver = {
      name: 'test',
      watch: ({ transport, about }) => ({
        sent: (body) => reports.push(['sent', transport, about?.callId, JSON.parse(Buffer.from(body).toString())]),
        bytes: (count) => reports.push(['bytes', count > 0]),
        ended: (end: CallResult) => reports.push(['ended', end.kind]),
      }),
    };
    const about = { callId: 't1:model:1', sessionKey: 's', turnId: 't1' };
    await ask(['hello'], { parts: { observers: [observer] }, about });
    expect(reports[0]).toEqual(['sent', 'anthropic-stream', 't1:model:1', scripted.requests.at(-1)?.body]);
    expect(reports.slice(1, -1)).toEqual(Array.from({ length: reports.length - 2 }, () => ['bytes', true]));
    expect(reports.at(-1)).toEqual(['ended', 'answered']);
    await expect(ask(['[[error: 400]]'], { parts: { observers: [observer] } })).rejects.toThrow();
    expect(reports.at(-1)).toEqual(['ended', 'failed']);
  });

  test('cannot disturb a call', async () => {
    const faults: unknown[] = [];
    const fault = () => {
      throw new Error('broken');
    };
    const { answer } = await ask(['hello'], {
      parts: {
        observers: [
          { name: 'at the start', watch: fault },
          { name: 'later', watch: () => ({ sent: fault, ended: fault }) },
        ],
        onObserverFault: (name) => faults.push(name),
      },
      observers: [{ bytes: fault }],
    });
    expect(joinText(answer.content)).toBe('You said: hello');
    expect(faults).toEqual(['at the start', 'later', 'call']);
  });

  test('measure bytes and the time to the first of them', async () => {
    const diagnostics = createCallDiagnostics(() => performance.now());
    await ask(['[[delay: 30]] [[reply: hello]]'], { observers: [diagnostics] });
    const { requestBytes, responseBytes, firstByteMs, durationMs } = diagnostics.figures();
    expect(requestBytes).toBe(Buffer.byteLength(JSON.stringify(scripted.requests.at(-1)?.body)));
    expect(responseBytes).toBeGreaterThan(300);
    expect(firstByteMs).toBeGreaterThanOrEqual(29);
    expect(durationMs).toBeGreaterThanOrEqual(firstByteMs ?? 0);
  });
});
