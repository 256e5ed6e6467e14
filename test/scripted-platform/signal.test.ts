// The scripted Signal as a client of signal-cli's daemon reads it: its wire, its checks, and the
// faults and people that a test plays.
import { afterEach, beforeEach, expect, test } from 'vitest';
// prettier-ignore
import { SIGNAL_NUMBER, startScriptedSignal, type ScriptedSignal } from '../../scripted-platform/signal/scripted-signal.ts';

let signal: ScriptedSignal;

beforeEach(async () => {
  signal = await startScriptedSignal();
});

afterEach(() => signal.close());

const json = { 'content-type': 'application/json' };

async function call(method: string, params: object = {}): Promise<Record<string, unknown>> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'one', method, params });
  const answer = await fetch(`${signal.url}/api/v1/rpc`, { method: 'POST', headers: json, body });
  return (await answer.json()) as Record<string, unknown>;
}

async function control(route: string, body: object): Promise<Record<string, unknown>> {
  const answer = await fetch(`${signal.url}/control/${route}`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as Record<string, unknown>;
}

test('a daemon receives what people write once, in order, as many at a time as it asks for', async () => {
  const { timestamp, author } = await control('say', { from: { number: '+491', name: 'Ada' }, text: 'Hello @bot' });
  signal.say({ from: '+491', group: 'G=', text: 'All' });
  const first = await call('receive', { timeout: 1, maxMessages: 1 });
  expect(first).toMatchObject({ jsonrpc: '2.0', id: 'one' });
  expect(first['result']).toEqual([
    {
      account: SIGNAL_NUMBER,
      envelope: expect.objectContaining({
        sourceNumber: '+491',
        sourceUuid: author,
        sourceName: 'Ada',
        timestamp,
        dataMessage: expect.objectContaining({
          timestamp,
          message: 'Hello \uFFFC',
          mentions: [expect.objectContaining({ number: SIGNAL_NUMBER, start: 6, length: 1 })],
        }),
      }),
    },
  ]);
  expect((await call('receive', { timeout: 0.01 }))['result']).toMatchObject([
    { envelope: { dataMessage: { message: 'All', groupInfo: { groupId: 'G=', type: 'DELIVER' } } } },
  ]);
  expect((await call('receive', { timeout: 0.01 }))['result']).toEqual([]);
  const late = call('receive', { timeout: 20, maxMessages: 1 });
  await expect.poll(() => signal.calls.count).toBe(4);
  expect(await call('receive', { timeout: 1 })).toMatchObject({
    error: { code: -1, message: 'Receive command cannot be used if messages are already being received.' },
  });
  signal.say('Late');
  expect((await late)['result']).toHaveLength(1);
  expect(signal.pushes.count).toBe(3);
});

test('what the daemon refuses is refused in its words', async () => {
  signal.say({ from: '+491', text: 'Hello' });
  signal.setGroup({ id: 'G=', name: 'Left', isMember: false });
  const errorOf = async (method: string, params: object) => (await call(method, params))['error'] as object;
  expect(await errorOf('listAccounts', {})).toMatchObject({ code: -32_601, message: 'Method not implemented' });
  expect(await errorOf('receive', { account: SIGNAL_NUMBER })).toMatchObject({ code: -32_600 });
  expect(await errorOf('send', { message: 'Hi' })).toMatchObject({ code: -1, message: 'No recipients given' });
  expect(await errorOf('send', { recipient: '+491' })).toMatchObject({ message: expect.stringContaining('empty') });
  expect(await errorOf('send', { recipient: '+499', message: 'Hi' })).toMatchObject({
    message: 'The user +499 is not registered.',
  });
  signal.setPerson('+499');
  expect(await errorOf('send', { recipient: '+499', message: 'Hi' })).toBeUndefined();
  expect(await errorOf('send', { groupId: 'H=', message: 'Hi' })).toMatchObject({ message: 'Group not found: H=' });
  expect(await errorOf('send', { groupId: 'G=', message: 'Hi' })).toMatchObject({
    message: 'User is not a member in group: Left (G=)',
  });
  expect(await errorOf('send', { recipient: '+491', message: 'Hi', textStyle: ['0:2:LOUD'] })).toMatchObject({
    message: 'Invalid textStyle syntax (0:2:LOUD)',
  });
  expect(await errorOf('send', { recipient: '+491', attachment: 'data:,' })).toMatchObject({ code: -32_603 });
  expect(await errorOf('getAttachment', { id: 'none' })).toMatchObject({ code: -1 });
  const plain = await fetch(`${signal.url}/api/v1/rpc`, { method: 'POST', body: '{}' });
  expect([plain.status, (await fetch(`${signal.url}/api/v1/check`)).status]).toEqual([415, 200]);
});

test('faults, limits and lost answers can be asked for, and messages seen as people see them', async () => {
  signal.say({ from: '+491', text: 'Hello' });
  await control('faults', { method: 'send', retryAfter: 1 });
  const send = (message: string) => call('send', { recipient: '+491', message, textStyle: '0:2:BOLD' });
  expect((await send('Hi'))['error']).toMatchObject({
    code: -5,
    data: { response: { results: [{ type: 'RATE_LIMIT_FAILURE', retryAfterSeconds: 1 }] } },
  });
  signal.faults.clear();
  await control('faults', { method: 'send', status: 200, description: '-4 Untrusted' });
  expect((await send('Hi'))['error']).toMatchObject({ code: -4, message: 'Untrusted' });
  await control('faults', { method: 'send', kind: 'accept-then-close' });
  await expect(send('Hi')).rejects.toThrow('fetch failed');
  await send('x'.repeat(2_001));
  expect(signal.messages('+491')).toMatchObject([
    { text: 'Hello' },
    { text: 'Hi', styles: ['0:2:BOLD'], files: [] },
    { files: [{ type: 'text/x-signal-plain' }] },
  ]);
  const shown = await fetch(`${signal.url}/control/messages?chat=%2B491`);
  expect(((await shown.json()) as { messages: unknown[] }).messages).toHaveLength(3);
});

test('envelopes can come twice, or in another order', async () => {
  signal.disturb({ duplicate: 1, reorder: 2 });
  for (const text of ['1', '2', '3']) signal.say(text);
  expect(signal.waiting()).toMatchObject(['2', '1', '1', '3'].map((message) => ({ dataMessage: { message } })));
});
