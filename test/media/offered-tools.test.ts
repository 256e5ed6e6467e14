// Which tools agents have, at another provider, and what holds them back.
import { expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
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
