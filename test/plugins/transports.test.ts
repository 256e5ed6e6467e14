// Goal: a turn can rely on a call of a plugin's transport as on any other: it ends when it is
// aborted, and whatever goes wrong is a fault of a model call. Method: a model over transports that
// misbehave.
import { describe, expect, test } from 'vitest';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import { joinText } from '../../src/core/content.ts';
import { createModel } from '../../src/model/create-model.ts';
import { ModelError } from '../../src/model/model.ts';
import type { Transport } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';

const REQUEST = { provider: 'local', model: 'small', maxTokens: 10, system: [], tools: [], messages: [] };
const ANSWER = eventsOfBody({
  id: 'm',
  model: 'small',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
});

/** Asks a model that a plugin serves so. */
async function ask(send: Transport['send'], signal = new AbortController().signal) {
  const transport = readTransport('/p.ts', { name: 'own', provider: 'local', send });
  return await createModel({ transports: [transport] }).ask(REQUEST, { signal, headers: {} });
}

const faultOf = (send: Transport['send']): Promise<unknown> => ask(send).catch((error: unknown) => error);

describe('an answer', () => {
  test('is built from the events of the transport, as any other', async () => {
    const answer = await ask(async ({ request, onSent, onEvent }) => {
      onSent(JSON.stringify(request));
      for (const event of ANSWER) if (onEvent(event)) return;
    });
    expect(answer).toMatchObject({ id: 'm', stopReason: 'end_turn' });
    expect(joinText(answer.content)).toBe('Hello.');
  });

  test('that is complete is not changed by later events', async () => {
    let notify: Parameters<Transport['send']>[0]['onEvent'] = () => false;
    const answer = await ask(async ({ onEvent }) => {
      notify = onEvent;
      for (const event of ANSWER) onEvent(event);
    });
    expect(notify({ type: 'error' })).toBe(true);
    expect(joinText(answer.content)).toBe('Hello.');
  });
});

describe('a call fails', () => {
  test('as the transport says, where its error looks like that of a call', async () => {
    const limited = Object.assign(new Error('slow down'), { type: 'rate_limit_error', status: 429, retryAfterMs: 5 });
    expect(await faultOf(() => Promise.reject(limited))).toMatchObject({
      name: 'ModelError',
      type: 'rate_limit_error',
      status: 429,
      retryAfterMs: 5,
      message: 'The transport own failed: slow down',
    });
    const own = new ModelError({ type: 'overloaded_error', status: 529, retryAfterMs: null, message: 'busy' });
    expect(await faultOf(() => Promise.reject(own))).toBe(own);
  });

  test.each<[string, Transport['send'], string]>([
    ['throws anything', () => Promise.reject('no'), 'transport_failed'],
    [
      'throws before it begins',
      () => {
        throw new TypeError('bug');
      },
      'transport_failed',
    ],
    ['ends without an answer', async () => undefined, 'cut_stream'],
    ['brings what is no event', async ({ onEvent }) => void onEvent(null as never), 'malformed_stream'],
    ['brings events out of order', async ({ onEvent }) => void onEvent({ type: 'message_stop' }), 'malformed_stream'],
  ])('when the transport %s', async (_what, send, type) => {
    expect(await faultOf(send)).toMatchObject({ name: 'ModelError', type, status: null });
  });

  test('immediately when it is aborted, although the transport continues', async () => {
    const abort = new AbortController();
    const reason = new Error('stopped');
    const asked = ask(() => new Promise(() => abort.abort(reason)), abort.signal);
    await expect(asked).rejects.toBe(reason);
  });

  test('when its provider has no transport', async () => {
    const model = createModel({ transports: [] });
    const asked = model.ask(REQUEST, { signal: new AbortController().signal, headers: {} });
    await expect(asked).rejects.toMatchObject({
      errorCode: 'no_transport',
      message: expect.stringContaining('"local"'),
    });
  });
});
