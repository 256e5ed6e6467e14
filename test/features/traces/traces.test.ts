// Goal: the traces of a service say what its journal says, whatever crashes, and cost its turns
// nothing. Method: real processes, a collector that takes OTLP JSON, workers that are killed at
// random, and rows as the judge.
import { expect, test } from 'vitest';
import { SPAN_KEYS } from '../../../src/core/telemetry.ts';
import { deriveSpanId } from '../../../src/trace-ids.ts';
import { randomOf, seedOfRun } from '../../crash/rig/random-of.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { countModelCalls, readModelCalls, readToolCalls } from '../../rows/calls.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import type { ServiceApi } from '../../service/rig/service-api.ts';
import { apiKey, openServiceRig, type RunningProcess, type ServiceRig } from '../../service/rig/service-rig.ts';
import { startReceiver, type WebhookReceiver } from '../../service/rig/webhook-receiver.ts';
import { startCollector, type CollectedSpan, type Collector } from './collector.ts';

const TURNS = isFullForm() ? 200 : 20;
const KILLS = isFullForm() ? 10 : 2;
const SOON_MS = 150_000;

/**
 * Reports the OpenTelemetry modules that a process loads; the SDK of the model loads the API, which
 * does nothing by itself.
 */
const REPORT_LOADED = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module';
registerHooks({ resolve(name, context, next) {
  const found = next(name, context);
  if (/@opentelemetry\\/(?!api\\/)|src\\/telemetry\\//.test(found.url)) console.error('telemetry is loaded: ' + found.url);
  return found;
} });`)}`;

let rig: ServiceRig;
let collector: Collector;
let receiver: WebhookReceiver;
let front: RunningProcess;
let workers: RunningProcess[];
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  collector = await startCollector();
  onEnd(() => collector.close());
  receiver = await startReceiver();
  onEnd(() => receiver.close());
  rig = await openServiceRig({
    queue: 'postgres',
    env: { NODE_OPTIONS: `--import=${REPORT_LOADED}` },
    config: { telemetry: { content: true, trustParent: true }, tools: { fetch: { allowPrivate: ['127.0.0.1'] } } },
  });
  onEnd(() => rig.close());
  front = await start('api,scheduler');
  workers = await Promise.all([start('worker'), start('worker')]);
  api = rig.apiOf(front);
});

/**
 * Starts a process that exports its traces, and waits so long for the collector that a turn that
 * waited too would never end.
 */
function start(roles: string): Promise<RunningProcess> {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_TIMEOUT: '600000' };
  return rig.start(roles, { env });
}

function spansNamed(pattern: RegExp): CollectedSpan[] {
  return [...collector.spans.values()].filter(({ name }) => pattern.test(name));
}

function sumOf(spans: CollectedSpan[], attribute: string): number {
  return spans.reduce((sum, { attributes }) => sum + Number(attributes[attribute] ?? 0), 0);
}

/** The spans of all model and tool calls that the journal has. */
async function journalled(): Promise<string[]> {
  const calls = await readModelCalls(rig, {}, 'turnId', 'callNo');
  const tools = await readToolCalls(rig, {}, 'turnId', 'step', 'callId');
  return [
    ...calls.map((row) => deriveSpanId(SPAN_KEYS.call(row.turnId, row.callNo))),
    ...tools.map((row) => deriveSpanId(SPAN_KEYS.tool(row.turnId, row.step, row.callId))),
  ].toSorted();
}

test.runIf(isLongForm())(
  'after random kills of workers, every call of the journal is in a complete trace',
  { timeout: 600_000 },
  async () => {
    const random = randomOf(seedOfRun());
    const text = (n: number) => `[[delay: 150 each]] [[tool: http_effect {"key":"k${n}"}]] [[reply: ok]]`;
    const sent = Promise.all(
      Array.from({ length: TURNS }, (_, n) => api.send(`s${n % (TURNS / 2)}`, { text: text(n) })),
    );
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = await countModelCalls(rig);
      const more = 1 + Math.floor(random() * TURNS);
      await waitUntil(
        'some calls were made',
        SOON_MS,
        async () => (await countModelCalls(rig)) >= Math.min(before + more, TURNS),
      );
      const [victim] = workers.splice(Math.floor(random() * workers.length), 1);
      if (victim !== undefined) await rig.kill(victim);
      workers.push(await start('worker'));
    }
    await Promise.all((await sent).map((message) => api.settled(message)));
    const expected = await journalled();
    const missing = (): string[] => {
      const seen = new Set([...collector.spans.values()].map(({ spanId }) => spanId));
      return expected.filter((spanId) => !seen.has(spanId));
    };
    await expect.poll(missing, { timeout: SOON_MS }).toEqual([]);
    expect(
      spansNamed(/^(?:chat|execute_tool) /)
        .map(({ spanId }) => spanId)
        .toSorted(),
    ).toEqual(expected);
    for (const { traceId, parentSpanId, startTimeUnixNano, endTimeUnixNano } of collector.spans.values()) {
      expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);
      expect(parentSpanId === undefined || collector.spans.has(`${traceId}:${parentSpanId}`)).toBe(true);
    }
    const { body } = await api.ask('GET', '/v1/usage');
    const used = (name: string) =>
      body.items.reduce((sum: number, item: Record<string, number>) => sum + Number(item[name]), 0);
    const chats = spansNamed(/^chat /);
    expect(sumOf(chats, 'gen_ai.usage.output_tokens')).toBe(used('outputTokens'));
    expect(sumOf(chats, 'gen_ai.usage.input_tokens')).toBe(
      used('inputTokens') + used('cacheReadTokens') + used('cacheWriteTokens'),
    );
    expect([...collector.schemas]).toEqual(['https://opentelemetry.io/schemas/gen-ai/1.42.0']);
  },
);

test('a trace continues in the requests that a turn makes, its span has the tags, and its log line names it', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const parentId = 'b7ad6b7169203331';
  const text = `[[tool: web_fetch {"url":"${collector.url}/page"}]] [[reply: ok]]`;
  const answer = await api.ask(
    'POST',
    '/v1/sessions/traced/messages',
    { text, tags: { customer: '42' }, deliver: { url: receiver.url } },
    { traceparent: `00-${traceId}-${parentId}-01` },
  );
  const { turnId } = await api.settled(answer.body.message);
  const spanOf = (pattern: RegExp) => spansNamed(pattern).find((span) => span.traceId === traceId);
  // Two workers may export them.
  await expect
    .poll(() => spanOf(/^invoke_agent/) !== undefined && spanOf(/^holdfast.deliver/) !== undefined)
    .toBe(true);
  expect(spanOf(/^holdfast.accept/)?.parentSpanId).toBe(parentId);
  expect(collector.fetched.map(({ traceparent }) => traceparent)).toEqual([
    `00-${traceId}-${spanOf(/^execute_tool web_fetch/)?.spanId}-01`,
  ]);
  expect(receiver.received.at(-1)?.headers['traceparent']).toBe(
    `00-${traceId}-${spanOf(/^holdfast.deliver/)?.spanId}-01`,
  );
  const line = rig.logs.find((each) => each.includes('"Turn ended"') && each.includes(String(turnId)));
  expect(spanOf(/^invoke_agent/)?.attributes).toMatchObject({ 'holdfast.tag.customer': '42' });
  expect(JSON.parse(line ?? '{}')).toMatchObject({ traceId, spanId: spanOf(/^invoke_agent/)?.spanId });
});

test('the texts of a turn are exported when that is configured, without secrets', async () => {
  const { turnId } = await api.settled(
    await api.send('texts', { text: `The key is ${apiKey}. [[reply: Thank you.]]` }),
  );
  const turn = () => spansNamed(/^invoke_agent/).find((span) => span.attributes['holdfast.turn.id'] === turnId);
  await expect.poll(turn).toBeDefined();
  const { attributes } = turn() as CollectedSpan;
  expect(attributes['gen_ai.input.messages']).toContain('The key is [redacted].');
  expect(JSON.parse(String(attributes['gen_ai.output.messages']))).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: 'Thank you.' }], finish_reason: 'stop' },
  ]);
  const chat = spansNamed(/^chat /).find(({ traceId }) => traceId === turn()?.traceId);
  const { hostname, port } = new URL(rig.model.url);
  expect(chat?.attributes).toMatchObject({ 'server.address': hostname, 'server.port': Number(port) });
  const [instructions] = JSON.parse(String(attributes['gen_ai.system_instructions'])) as { content: string }[];
  expect(instructions?.content).toContain('## Tooling');
});

test('the turn of an item is linked to the span of its batch', async () => {
  const item = { text: '[[reply: ok]]' };
  const { status, body } = await api.ask('POST', '/v1/batches', { name: 'traced', items: [item, item] });
  expect(status).toBe(201);
  const ended = () => spansNamed(/^invoke_workflow traced/)[0];
  await expect.poll(ended, { timeout: SOON_MS }).toBeDefined();
  const { traceId, spanId, attributes } = ended() as CollectedSpan;
  expect(attributes).toMatchObject({ 'holdfast.batch.items.total': 2, 'holdfast.batch.items.answered': 2 });
  const turns = () => spansNamed(/^invoke_agent/).filter((span) => span.attributes['holdfast.batch.id'] === body.id);
  await expect
    .poll(() => turns().map(({ links }) => links))
    .toMatchObject([[{ traceId, spanId }], [{ traceId, spanId }]]);
});

test.runIf(isLongForm())(
  'a worker that is killed when it has ended a turn leaves the trace to another process',
  async () => {
    const gate = rig.gate();
    const message = await api.send('left', { text: `${gate.call} [[reply: ok]]` });
    const holder = await rig.holderOf('left');
    gate.open();
    const { turnId } = await api.settled(message);
    await holder.end('SIGKILL');
    await start('worker');
    const turn = () => spansNamed(/^invoke_agent/).find((span) => span.attributes['holdfast.turn.id'] === turnId);
    await expect.poll(turn, { timeout: SOON_MS }).toBeDefined();
  },
);

test('a collector that hangs delays no turn', async () => {
  collector.hang();
  const before = collector.requests;
  await api.settled(await api.send('hanging', { text: '[[reply: one]]' }));
  await waitUntil('the collector holds a request', SOON_MS, () => collector.requests > before);
  for (const reply of ['two', 'three']) {
    expect(await api.settled(await api.send('hanging', { text: `[[reply: ${reply}]]` }))).toMatchObject({ reply });
  }
});

test('without an endpoint, no part of the telemetry is loaded', async () => {
  const plain = await rig.start('api,worker,scheduler');
  expect(plain.output()).toContain('holdfast');
  expect(plain.output()).not.toContain('telemetry is loaded');
  expect(front.output()).toContain('telemetry is loaded');
});
