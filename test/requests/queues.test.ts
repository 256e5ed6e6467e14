// Goal: what waits together reaches the model together in the documented frame, or one by one, as
// the message, else its session, else its channel, else the configuration says. Method: a model
// that takes its time while messages come in, and the requests that its server received.
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { useService } from './rig/use-service.ts';

const holder = useService({
  config: {
    session: { orphanedPrompts: 'merge' },
    messages: { queue: { mode: 'collect', byChannel: { telegram: 'followup', signal: 'collect' }, debounceMs: 0 } },
  },
});

/**
 * Sends two messages while a turn of the session waits for its model; resolves with the prompts
 * after that turn.
 */
async function promptsAfter(message: object, session = holder.service.newSession()): Promise<string[]> {
  const { service } = holder;
  const before = service.requestsOf(session).length;
  const first = await service.api.send(session, { ...message, text: '[[delay: 700]] [[reply: ok]]' });
  await waitUntil('the model is asked', 150_000, () => service.requestsOf(session).length === before + 1);
  const waiting = [
    await service.api.send(session, { ...message, text: 'one' }),
    await service.api.send(session, { ...message, text: 'two' }),
  ];
  for (const one of [first, ...waiting]) await service.api.settled(one);
  return service
    .requestsOf(session)
    .slice(before + 1)
    .map(({ prompt }) => prompt);
}

const together = '[Queued messages while agent was busy]\n\n---\nQueued #1\none\n\n---\nQueued #2\ntwo';

describe('messages that wait together', () => {
  test('are one prompt in a frame', async () => {
    expect(await promptsAfter({})).toEqual([together]);
  });

  test('go one by one when the message says so', async () => {
    expect(await promptsAfter({ mode: 'followup' })).toEqual(['one', 'two']);
  });

  test('use the setting of their session, in any channel', async () => {
    const { service } = holder;
    const session = service.newSession();
    await service.begin(session);
    await service.api.ask('PATCH', `/v1/sessions/${session}`, { queueMode: 'followup' });
    expect(await promptsAfter({ channel: 'signal' }, session)).toEqual(['one', 'two']);
  });

  test('do as the configuration says for their channel', async () => {
    expect(await promptsAfter({ channel: 'telegram' })).toEqual(['one', 'two']);
    expect(await promptsAfter({ channel: 'signal' })).toEqual([together]);
  });
});

test('a prompt without an answer is sent with the next, where prompts are merged', async () => {
  const { service } = holder;
  const session = service.newSession();
  await service.begin(session);
  const sent = await service.api.send(session, { text: 'unanswered [[stall: times=1]]' });
  await waitUntil('the model is asked', 150_000, () => service.requestsOf(session).length === 2);
  await service.api.ask('POST', `/v1/sessions/${session}/abort`, {});
  await service.api.settled(sent);
  await service.api.send(session, { text: 'next' });
  const request = await waitUntil('the next is asked', 150_000, () => service.requestsOf(session)[2] ?? null);
  expect(request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  const texts = request.messages[2]?.content.map(({ text }) => text);
  expect(texts).toEqual(['unanswered [[stall: times=1]]', expect.stringMatching(/^Note: [^\n]+\n\nnext$/)]);
});
