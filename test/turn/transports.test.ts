// Turns whose model a plugin serves: called, resumed by another worker and derived again like any
// other, and refused if no transport serves the provider.
import { expect, test } from 'vitest';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import { joinText } from '../../src/core/content.ts';
import { type TransportCall, toWireRequest } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const asked: TransportCall[] = [];
const reports: object[] = [];

/** Answers with a tool call until there is a result, then with the prompt in capitals. */
const transport = readTransport('/p.ts', {
  name: 'capitals',
  provider: 'local',
  async send(call: TransportCall) {
    asked.push(call);
    const { request, onSent, onEvent } = call;
    onSent(request.model === 'private' ? 'a form of its own' : JSON.stringify(toWireRequest(request)));
    const last = request.messages.at(-1)?.content ?? [];
    const usesTool = joinText(last).startsWith('look');
    const content = usesTool
      ? [{ type: 'tool_use', id: 'c1', name: 'session_probe', input: {} }]
      : [{ type: 'text', text: (joinText(last) || 'seen').toUpperCase() }];
    const body = { id: 'm', model: request.model, content, stop_reason: usesTool ? 'tool_use' : 'end_turn' };
    for (const event of eventsOfBody(body)) if (onEvent(event)) return;
  },
});

let rig: TurnRig;
const models: string[] = [];

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const { plugins } = pluginsWith([['llm_input', (event) => void reports.push(event)]], { transports: [transport] });
  rig = await createTurnRig(database.url, {
    plugins,
    tools: [
      {
        spec: { name: 'session_probe', description: 'Looks.', input_schema: { type: 'object' } },
        summary: 'looks',
        isIdempotent: true,
        run: async (_input, { model }) => {
          models.push(model);
          return { content: 'ok', isError: false };
        },
      },
    ],
  });
  const made = rig;
  onEnd(() => made.close());
});

async function turnOf(name: string) {
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) })).at(-1);
  return turn as { id: string; reply: string | null; error: { code: string; message: string } | null };
}

async function play(name: string, text: string, model: string) {
  const worker = rig.worker();
  await rig.send(name, text, { model });
  await worker.run(name);
  worker.stop();
  return turnOf(name);
}

test('a model of a provider that a plugin serves answers', async () => {
  expect(await play('plain', 'hello', 'local/small')).toMatchObject({ reply: 'HELLO', error: null });
  const { request, headers } = asked.at(-1)!;
  expect(request).toMatchObject({ provider: 'local', model: 'small' });
  expect(request.system.map(({ text }) => text).join('')).toContain('model=local/small');
  expect(headers['x-holdfast-session']).toBe('agent:main:plain');
  expect(reports.at(-1)).toMatchObject({ provider: 'local', model: 'small' });
  expect(rig.scripted.requests).toEqual([]);
});

test('a request to it is derived with its provider, and proven if its form is known', async () => {
  const provenBy = async (name: string, model: string) => {
    const { id } = await play(name, 'hello', model);
    return deriveRequest(rig.database, { turnId: id, callNo: 1, defaultThinking: () => 'off' });
  };
  expect(await provenBy('proven', 'local/small')).toMatchObject({ matches: true, request: { model: 'small' } });
  expect(await provenBy('private', 'local/private')).toMatchObject({ matches: null, request: { model: 'private' } });
});

test('another worker continues with the same provider', async () => {
  let steps = 0;
  const leaving = rig.worker({ isDraining: () => (steps += 1) > 1 });
  await rig.send('moved', 'look around', { model: 'local/small' });
  await leaving.run('moved');
  leaving.stop();
  expect(await turnOf('moved')).toMatchObject({ reply: null });
  const calls = asked.length;
  const worker = rig.worker();
  await worker.run('moved');
  worker.stop();
  expect(await turnOf('moved')).toMatchObject({ reply: 'SEEN' });
  expect(asked.slice(calls).map(({ request }) => request.provider)).toEqual(['local']);
  expect(models.at(-1)).toBe('local/small');
});

test('a provider without a transport ends the turn with an explanation and without a call', async () => {
  const calls = asked.length;
  const { error } = await play('unserved', 'hello', 'nobody/small');
  expect(error).toMatchObject({
    code: 'unknown_model',
    message:
      'There is no model "nobody/small": use local/<model>, anthropic/<model> or an alias of agents.defaults.models.',
  });
  expect(asked).toHaveLength(calls);
});
