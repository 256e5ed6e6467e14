// Which tools agents have, at another provider, and what holds them back.
import { expect, test } from 'vitest';
import { cronInput } from '../../../src/features/crons/config.ts';
import { newId } from '../../../src/ids.ts';
import { toDefinition } from '../../../src/features/crons/use-cases.ts';
import { toTickInput } from '../../../src/features/crons/rules/cron.ts';
import { addSystemEvents } from '../../rows/system-events.ts';
import { now } from '../../rows/table.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createMediaRig, type MediaRig } from './media-rig.ts';

let rig: MediaRig;

shareAmongTests(async (onEnd) => {
  const made = await createMediaRig(({ models, tools: { fetch } }) => ({
    models,
    tools: {
      fetch,
      imageGenerate: { model: 'google/gemini-2.5-flash-image', usdPerImage: 0.04 },
      tts: { model: 'openai/tts-1' },
      deny: ['tts'],
      approvals: { rules: [{ tools: ['image_generate'], when: ['untrusted'] }] },
    },
  }));
  onEnd(() => made.close());
  rig = made;
});

const draw = '[[tool: image_generate {"prompt": "a cat"}]] [[reply: Done.]]';
const asked = () => rig.media.requests.filter(({ path }) => path.includes('gemini-2.5-flash-image'));

test('Gemini makes the picture, which costs its price where tokens have none', async () => {
  const stored = await rig.turn('gemini', draw);
  expect(stored.results).toMatchObject([{ isError: false, blocks: ['text', 'image'] }]);
  expect(asked()).toHaveLength(1);
  const calls = stored.turn?.steps?.flatMap((step) => step.calls) ?? [];
  expect(calls).toMatchObject([
    { purpose: 'answer' },
    {
      purpose: 'image_generate',
      status: 'ok',
      model: 'google/gemini-2.5-flash-image',
      costMicros: 40_000,
      simulated: true,
    },
    { purpose: 'answer' },
  ]);
});

test('a tool is offered if its model is configured and the policy lets it through, and the voice section with it', () => {
  const body = rig.scripted.requests.at(-1)?.body as { tools: { name: string }[]; system: unknown };
  const names = body.tools.map(({ name }) => name);
  expect(names).toContain('image_generate');
  expect(names).not.toEqual(expect.arrayContaining(['image']));
  expect(names).not.toEqual(expect.arrayContaining(['tts']));
  expect(JSON.stringify(body.system)).not.toContain('## Voice (TTS)');
});

test('a picture that a rule holds back is not made before a person agrees (G36)', async () => {
  const before = asked().length;
  const stored = await rig.turn('held', draw, { forwarded: { from: 'a stranger' } });
  expect(stored.turn?.status).toBe('parked');
  expect(stored.ledger).toMatchObject([{ name: 'image_generate', runs: 0 }]);
  expect(asked()).toHaveLength(before);
});

test('words of others count for the turns after them: of a message that was answered, and of a line that is not trusted (G36)', async () => {
  await rig.turn('group', 'Hello. [[reply: Hello.]]', { sender: { id: '7' }, chatType: 'group' });
  expect((await rig.turn('group', `Thanks. ${draw}`)).turn?.status).toBe('parked');

  const event = { id: newId<string>(), text: 'x', state: 'queued', isTrusted: false, createdAt: now };
  await addSystemEvents(rig, { ...event, sessionId: await rig.sessionOf('told') });
  await rig.turn('told', 'Hello. [[reply: Hello.]]');
  expect((await rig.turn('told', draw)).turn?.status).toBe('parked');

  await rig.turn('own', 'Hello. [[reply: Hello.]]');
  expect((await rig.turn('own', draw)).turn?.status).toBe('completed');
});

test('the turn of a cron that an agent has made has words of others, that of a person has not (G36)', async () => {
  const { config } = rig;
  const payload = { kind: 'agentTurn', message: draw };
  const definition = toDefinition(cronInput.parse({ schedule: { kind: 'every', everyMs: '1h' }, payload }), {
    config,
    nowMs: 0,
  });
  const statusOf = async (origin: 'agent' | 'api') => {
    const facts = { zone: 'utc', nowMs: 0, eventId: newId<string>(), lastUrl: null };
    const { text, ...body } = toTickInput({ ...definition, id: 'c', origin }, facts).body;
    await rig.send(`cron-${origin}`, text, body, 'cron');
    return (await rig.rerun(`cron-${origin}`)).turn?.status;
  };
  expect([await statusOf('agent'), await statusOf('api')]).toEqual(['parked', 'completed']);
});
