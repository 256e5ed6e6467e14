// The spans of a turn follow from its rows alone, and form a tree, whatever the rows contain.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Span } from '../../../src/core/telemetry.ts';
import type { TracedInput, TracedTurn } from '../../../src/features/traces/rules/traced-turn.ts';
import { SPANS_MAX, turnSpans } from '../../../src/features/traces/rules/turn-spans.ts';
import { deriveSpanId, deriveTrace } from '../../../src/trace-ids.ts';

const basis = { spanIdOf: deriveSpanId, traceOf: deriveTrace, msOf: Date.parse };
const surroundings = { servers: new Map([['openai', { address: 'api.openai.com', port: 443 }]]) };
const at = (ms: number): string => new Date(1_800_000_000_000 + ms).toISOString();

function inputOf(seq: number, own: Partial<TracedInput> = {}): TracedInput {
  return {
    id: `message-${seq}`,
    seq,
    kind: 'message',
    disposition: 'queued',
    causeKey: null,
    traceparent: null,
    receivedAt: at(seq),
    ...own,
  };
}

function turnOf(own: Partial<TracedTurn> = {}): TracedTurn {
  return {
    id: 'turn-1',
    sessionKey: 'agent:main:a',
    agentId: 'main',
    kind: 'message',
    lane: 'main',
    status: 'completed',
    attempt: 1,
    model: 'claude-x',
    tags: { customer: '42' },
    costUsd: 0.5,
    error: null,
    claimedAt: at(10),
    startedAt: at(20),
    endedAt: at(1000),
    attempts: [{ attempt: 1, worker: 'one', claimedAt: at(10), endedAt: null, how: null }],
    steps: [{ n: 1, calls: [callOf(1)], tools: [] }],
    spans: [
      { kind: 'queue.wait', name: 'waiting', startedAt: at(1), endedAt: at(10) },
      { kind: 'prompt.assemble', name: 'prompt', startedAt: at(10), endedAt: at(20) },
    ],
    inputs: [inputOf(1)],
    responseIds: { 1: 'msg_1' },
    compactions: [],
    deliveries: [],
    spawnedBy: null,
    cron: null,
    batchId: null,
    content: null,
    ...own,
  };
}

function callOf(n: number): TracedTurn['steps'][number]['calls'][number] {
  return {
    n,
    purpose: 'answer',
    status: 'ok',
    stopReason: 'end_turn',
    error: null,
    model: 'anthropic/claude-x',
    usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 100, cacheWriteTokens: 1 },
    costUsd: 0.5,
    tier: 'standard',
    startedAt: at(20),
    firstChunkAt: at(270),
    endedAt: at(900),
  };
}

const toolOf = (callId: string) => ({
  callId,
  name: 'exec',
  status: 'done',
  runs: 1,
  startedAt: at(900),
  endedAt: null,
});

const spansOf = (turn: TracedTurn): Span[] => turnSpans(turn, basis, surroundings);
const named = (spans: Span[], name: string): Span | undefined => spans.find((span) => span.name.startsWith(name));

test('the span of a turn has an attribute for each of its tags', () => {
  expect(named(spansOf(turnOf()), 'invoke_agent')?.attributes).toMatchObject({ 'holdfast.tag.customer': '42' });
});

test('a turn is one trace from the message to its model calls', () => {
  const spans = spansOf(turnOf());
  expect(spans.map(({ name }) => name)).toEqual([
    'holdfast.accept',
    'holdfast.queue',
    'invoke_agent main',
    'holdfast.assemble',
    'chat claude-x',
  ]);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(named(spans, 'chat')).toMatchObject({
    kind: 'client',
    spanId: createHash('sha256').update('call:turn-1:1').digest('hex').slice(0, 16),
    parentSpanId: named(spans, 'invoke_agent')?.spanId,
    attributes: {
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-x',
      'gen_ai.response.id': 'msg_1',
      'gen_ai.usage.input_tokens': 111,
      'gen_ai.usage.cache_read.input_tokens': 100,
      'gen_ai.response.time_to_first_chunk': 0.25,
    },
  });
});

test('a model call names the server of its provider with its port, and none where it is not known', () => {
  const calls = [{ ...callOf(1), model: 'openai/gpt-x' }, callOf(2)];
  const chats = spansOf(turnOf({ steps: [{ n: 1, calls, tools: [] }] })).filter(({ kind }) => kind === 'client');
  expect(chats[0]?.attributes).toMatchObject({ 'server.address': 'api.openai.com', 'server.port': 443 });
  expect(Object.keys(chats[1]?.attributes ?? {}).filter((name) => name.startsWith('server.'))).toEqual([]);
});

test.each([
  ['end_turn', 'stop'],
  ['max_tokens', 'length'],
  ['refusal', 'content_filter'],
  ['pause_turn', 'pause_turn'],
])('the reply of a turn that ended with %s has the finish reason %s', (stopReason, reason) => {
  const content = { instructions: null, inputs: [], reply: 'Hello.' };
  const calls = [
    { ...callOf(1), stopReason: 'tool_use' },
    { ...callOf(2), stopReason },
  ];
  const { attributes } = named(spansOf(turnOf({ content, steps: [{ n: 1, calls, tools: [] }] })), 'invoke_agent')!;
  expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'Hello.' }], finish_reason: reason },
  ]);
});

test('a turn that was taken over shows the crash', () => {
  const spans = spansOf(
    turnOf({
      attempt: 2,
      attempts: [
        { attempt: 1, worker: 'one', claimedAt: at(10), endedAt: at(400), how: 'lost' },
        { attempt: 2, worker: 'two', claimedAt: at(500), endedAt: null, how: null },
      ],
      spans: [{ kind: 'worker.lost', name: 'one', startedAt: at(400), endedAt: at(500) }],
    }),
  );
  expect(named(spans, 'holdfast.lock')?.attributes).toEqual({ 'holdfast.wait.reason': 'worker_lost' });
  expect(named(spans, 'invoke_agent')).toMatchObject({
    attributes: { 'holdfast.turn.attempt': 2 },
    events: [{ name: 'holdfast.attempt_ended', attributes: { 'holdfast.worker': 'one' } }],
  });
});

test('a message that names a trace puts its turn into it; one that joins a turn ends its own there', () => {
  const traceId = 'a'.repeat(32);
  const traceparent = `00-${traceId}-${'b'.repeat(16)}-01`;
  const spans = spansOf(turnOf({ inputs: [inputOf(1, { traceparent }), inputOf(2)] }));
  expect(spans[0]).toMatchObject({ traceId, parentSpanId: 'b'.repeat(16) });
  const agent = named(spans, 'invoke_agent');
  const joined = spans.at(-1);
  expect(joined).toMatchObject({ name: 'holdfast.accept', attributes: { 'holdfast.message.id': 'message-2' } });
  expect(joined?.traceId).not.toBe(traceId);
  expect(joined?.links).toEqual([{ traceId, spanId: agent?.spanId }]);
  expect(agent?.links).toEqual([{ traceId: joined?.traceId, spanId: joined?.spanId }]);
});

test('the turn of a subagent is linked to the tool call that spawned it', () => {
  const parent = turnOf({ id: 'turn-0', steps: [{ n: 3, calls: [], tools: [toolOf('toolu_1')] }] });
  const child = turnOf({
    inputs: [inputOf(7, { causeKey: 'spawn:1' })],
    spawnedBy: { turnId: 'turn-0', step: 3, callId: 'toolu_1', inputs: parent.inputs },
  });
  const spawning = named(spansOf(parent), 'execute_tool');
  const agent = named(spansOf(child), 'invoke_agent');
  expect(agent?.links).toEqual([{ traceId: spawning?.traceId, spanId: spawning?.spanId }]);
  expect(agent?.traceId).not.toBe(spawning?.traceId);
});

test('a turn of 3,000 calls has at most 2,000 spans, and says how many are missing', () => {
  const calls = Array.from({ length: 3000 }, (_, index) => callOf(index + 1));
  const spans = spansOf(turnOf({ steps: [{ n: 1, calls, tools: [] }] }));
  expect(spans).toHaveLength(SPANS_MAX);
  expect(named(spans, 'invoke_agent')?.attributes['holdfast.spans.dropped']).toBe(1004);
});

test('texts are part of the trace only when they are given', () => {
  expect(JSON.stringify(spansOf(turnOf()))).not.toContain('gen_ai.input.messages');
  const content = { instructions: 'Be brief.', inputs: ['Hello?'], reply: 'Hello.' };
  expect(named(spansOf(turnOf({ content })), 'invoke_agent')?.attributes).toMatchObject({
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Hello?"}]}]',
    'gen_ai.output.messages':
      '[{"role":"assistant","parts":[{"type":"text","content":"Hello."}],"finish_reason":"stop"}]',
    'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
  });
});

// Times in any order: rows are written by machines whose clocks differ.
const time = fc.integer({ min: 0, max: 100_000 }).map(at);
const maybeTime = fc.option(time, { nil: null });
const wait = fc.record({
  kind: fc.constantFrom('accept', 'gather', 'lock.wait', 'queue.wait', 'rate.wait', 'provider.wait', 'worker.lost'),
  name: fc.string({ maxLength: 5 }),
  startedAt: time,
  endedAt: maybeTime,
});
const step = fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 }), time, maybeTime);
const anyTurn = fc
  .record({
    steps: fc.array(step, { maxLength: 20 }),
    spans: fc.array(wait),
    inputs: fc.nat({ max: 5 }),
    time,
    maybeTime,
  })
  .map(({ steps, spans, inputs, ...times }) => {
    let n = 0;
    return turnOf({
      claimedAt: times.time,
      endedAt: times.maybeTime,
      spans,
      inputs: Array.from({ length: inputs }, (_, index) => inputOf(inputs - index)),
      steps: steps.map(([calls, tools, startedAt, endedAt], index) => ({
        n: index + 1,
        calls: Array.from({ length: calls }, () => ({ ...callOf((n += 1)), startedAt, endedAt: endedAt ?? startedAt })),
        tools: Array.from({ length: tools }, (_, tool) => ({ ...toolOf(`toolu_${tool}`), startedAt, endedAt })),
      })),
    });
  });

test('whatever the rows contain, every span follows its parent, has no negative duration and has a unique id', () => {
  fc.assert(
    fc.property(anyTurn, (turn) => {
      const spans = spansOf(turn);
      const seen = new Set<string>();
      for (const { traceId, spanId, parentSpanId, startMs, endMs } of spans) {
        expect(endMs).toBeGreaterThanOrEqual(startMs);
        expect(parentSpanId === null || seen.has(`${traceId}:${parentSpanId}`)).toBe(true);
        seen.add(`${traceId}:${spanId}`);
      }
      expect(seen.size).toBe(spans.length);
      const done = turn.steps.flatMap(({ calls, tools }) => [...calls, ...tools]);
      expect(spans.filter(({ name }) => /^(?:chat|execute_tool) /.test(name))).toHaveLength(done.length);
      expect(spansOf(turn)).toEqual(spans);
    }),
  );
});
