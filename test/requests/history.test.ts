// Goal: the history that a model receives is that of the transcript, whole and well-formed (G12),
// limited to its last turns, without the thinking of another model and without prompts that have no
// answer, and a crash loses or doubles nothing of it. Method: conversations through a running
// service, rows damaged in its database, a process killed; judged by the requests that its model
// server received.
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { changeEntries } from '../rows/entries.ts';
import { changeSessions } from '../rows/sessions.ts';
import { plus, replaced } from '../rows/table.ts';
import { textOf, type ReceivedRequest, type WireMessage } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const holder = useService({
  config: {
    session: { dmHistoryLimit: 2 },
    agents: { defaults: { models: { other: 'anthropic/claude-opus-4-1' } } },
    channels: { signal: { dmHistoryLimit: 1, dms: { 'anna.1': { historyLimit: 3 } } } },
    owner: { ids: ['+15551234567'] },
  },
  env: { HOLDFAST_LEASE_MS: '1500' },
});

/** The users' texts, message by message, without results of tools. */
function saidIn(messages: readonly WireMessage[]): string[] {
  return messages
    .filter(({ role }) => role === 'user')
    .map(({ content }) => textOf(content))
    .filter((text) => text !== '');
}

/** Damages rows that the worker has read before, so that it reads the transcript again. */
async function damage(session: string, change: Parameters<typeof changeEntries>[2]): Promise<void> {
  const { rig } = holder.service;
  const key = `agent:main:${session}`;
  await changeEntries(rig, { sessionKey: key, kind: 'results' }, change);
  await changeSessions(rig, { key }, { transcriptVersion: plus(1) });
}

describe('the limit', () => {
  test('keeps the last turns whole, and mends a pair that was torn', async () => {
    const { service } = holder;
    const session = service.newSession();
    for (const text of ['one', 'two', 'three', 'four [[tool: session_status {}]] [[reply: ok]]', 'five'])
      await service.say(session, text);
    await damage(session, { state: 'hidden' });
    const { request } = await service.say(session, 'six');
    expect(saidIn(request.messages)).toEqual(['four [[tool: session_status {}]] [[reply: ok]]', 'five', 'six']);
    const [, answer, result] = request.messages;
    const call = answer?.content.find(({ type }) => type === 'tool_use');
    expect(result?.content[0]).toMatchObject({
      type: 'tool_result',
      tool_use_id: call?.['id'],
      is_error: true,
      content: expect.stringContaining('missing tool result in session history'),
    });
    expectPairs(request);
  });

  test('is the one of the platform, or of the person on it', async () => {
    const { service } = holder;
    const seen = async (session: string): Promise<number> => {
      for (let n = 1; n <= 4; n += 1) await service.say(session, `m${n}`);
      return saidIn((await service.say(session, 'last')).request.history).length;
    };
    expect(await seen('signal:direct:somebody')).toBe(1);
    expect(await seen('signal:direct:anna.1')).toBe(3);
    expect(await seen('telegram:group:5')).toBe(4);
  });
});

describe('the history', () => {
  test('is user first, in turns, with each call answered once', async () => {
    const { service } = holder;
    const session = service.newSession('telegram:group');
    await service.say(
      session,
      '[[thinking: hm]] [[tool: session_status {}]] & [[tool: session_status {}]] [[reply: ok]]',
    );
    const { request } = await service.say(session, 'next');
    expectPairs(request);
    expect(request.messages.at(-1)?.content.at(-1)?.cache_control).toEqual({ type: 'ephemeral' });
  });

  test('loses the thinking of another model, and keeps that of its own', async () => {
    const { service } = holder;
    const session = service.newSession('telegram:group');
    await service.say(session, '[[thinking: hm]] [[reply: ok]]');
    const same = (await service.say(session, 'next')).request;
    expect(same.messages[1]?.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    const other = (await service.say(session, { text: 'and you?', model: 'other' })).request;
    expect(other.body['model']).toBe('claude-opus-4-1');
    expect(other.messages[1]?.content.map(({ type }) => type)).toEqual(['text']);
  });

  test('has no result without its call', async () => {
    const { service } = holder;
    const session = service.newSession('telegram:group');
    await service.say(session, '[[tool: session_status {}]] [[reply: ok]]');
    await damage(session, { content: replaced('toolu_', 'other_') });
    const { request } = await service.say(session, 'next');
    expectPairs(request);
    expect(JSON.stringify(request.messages)).not.toContain('other_');
  });

  test('does not show a prompt whose turn was stopped before it was answered; its row stays', async () => {
    const { service } = holder;
    const session = service.newSession();
    await service.begin(session);
    const sent = await service.api.send(session, { text: 'never answered [[stall]]' });
    await waitUntil('the model is asked', 150_000, () => service.requestsOf(session).length === 2);
    await service.api.ask('POST', `/v1/sessions/${session}/abort`, {});
    await service.api.settled(sent);
    const { request } = await service.say(session, 'next');
    expect(JSON.stringify(request.messages)).not.toContain('never answered');
    const { body } = await service.api.ask('GET', `/v1/sessions/${session}/transcript?state=all`);
    expect(JSON.stringify(body.items)).toContain('never answered');
  });
});

test('an owner is shown as configured', async () => {
  const { service } = holder;
  const { request } = await service.say(service.newSession(), 'hi');
  expect(request.systemText).toContain('Authorized senders: +15551234567.');
});

describe('a turn whose worker crashed', () => {
  test('is asked again with the same bytes, the words of its user once (G13)', async () => {
    const { service } = holder;
    const session = service.newSession();
    await service.begin(session);
    await service.addSystemEvent(session, 'E');
    const sent = await service.api.send(session, { text: 'said once [[stall]] [[reply: ok]]' });
    await waitUntil('the model is asked', 150_000, () => service.requestsOf(session).length === 2);
    await service.process.end('SIGKILL');
    const api = service.rig.apiOf(await service.rig.start('api,worker,scheduler'));
    expect(await api.settled(sent)).toMatchObject({ status: 'answered', reply: 'ok' });
    const [, first, second] = service.requestsOf(session);
    expect(second?.body).toEqual(first?.body);
    expect(JSON.stringify(second?.messages).split('said once')).toHaveLength(2);
    expect(second?.prompt).toMatch(/^System: \[.*\] E\n\nsaid once/);
  });
});

/**
 * Roles alternate from user to user, and every call has exactly one result, in the next message and
 * in its order.
 */
function expectPairs({ messages }: ReceivedRequest): void {
  expect(messages.map(({ role }) => role)).toEqual(
    messages.map((_, index) => (index % 2 === 0 ? 'user' : 'assistant')),
  );
  expect(messages.at(-1)?.role).toBe('user');
  messages.forEach(({ role, content }, index) => {
    if (role !== 'assistant') return;
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block['id']] : []));
    const results = messages[index + 1]?.content.flatMap((block) =>
      block.type === 'tool_result' ? [block['tool_use_id']] : [],
    );
    expect(results).toEqual(calls);
  });
}
