// The message batches of the scripted model, through Anthropic's own client.
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { NO_FAULTS } from '../../scripted-model/batches/batch-faults.ts';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';

let scripted: ScriptedModel;
let client: Anthropic;

beforeAll(async () => {
  scripted = await startScriptedModel({ batchDelayMs: 20, batchCacheHits: 0.5 });
});
afterAll(() => scripted.close());
beforeEach(() => {
  client = new Anthropic({ apiKey: 'test', baseURL: scripted.url, maxRetries: 0 });
  scripted.batches.faults = { ...NO_FAULTS };
});

type Request = Anthropic.Messages.BatchCreateParams.Request;

function requestOf(id: string, text: string, more: object = {}): Request {
  return {
    custom_id: id,
    params: { model: 'claude-sonnet-5-5', max_tokens: 100, messages: [{ role: 'user', content: text }], ...more },
  };
}

async function ended(id: string): Promise<Anthropic.Messages.MessageBatch> {
  await expect
    .poll(async () => (await client.messages.batches.retrieve(id)).processing_status, { interval: 10 })
    .toBe('ended');
  return client.messages.batches.retrieve(id);
}

async function resultsOf(id: string) {
  const results = new Map<string, Anthropic.Messages.MessageBatchResult>();
  for await (const { custom_id: customId, result } of await client.messages.batches.results(id))
    results.set(customId, result);
  return results;
}

describe('a message batch', () => {
  test('shows nothing of its requests until it ends, and answers them in another order', async () => {
    const texts = ['one', 'two', 'three', 'four'];
    const made = await client.messages.batches.create({
      requests: texts.map((text) => requestOf(text, `[[reply: ${text}]]`)),
    });
    expect(made).toMatchObject({
      processing_status: 'in_progress',
      results_url: null,
      request_counts: { processing: 4, succeeded: 0 },
    });
    expect(await ended(made.id)).toMatchObject({ request_counts: { processing: 0, succeeded: 4 } });
    const results = await resultsOf(made.id);
    expect([...results.keys()]).not.toEqual(texts);
    expect([...results.keys()].toSorted()).toEqual(texts.toSorted());
    expect(results.get('two')).toMatchObject({
      type: 'succeeded',
      message: { content: [{ type: 'text', text: 'two' }], stop_reason: 'end_turn', usage: { service_tier: 'batch' } },
    });
  });

  test('validates parameters at the end, and ids when it is made', async () => {
    const made = await client.messages.batches.create({
      requests: [requestOf('bad', 'hello', { max_tokens: -1 }), requestOf('stream', 'hello', { stream: false })],
    });
    expect(await ended(made.id)).toMatchObject({ request_counts: { errored: 2 } });
    const invalid = { type: 'errored', error: { error: { type: 'invalid_request_error' } } };
    const results = await resultsOf(made.id);
    expect(results.get('bad')).toMatchObject(invalid);
    expect(results.get('stream')).toMatchObject(invalid);
    const twice = client.messages.batches.create({ requests: [requestOf('same', 'a'), requestOf('same', 'b')] });
    await expect(twice).rejects.toMatchObject({ status: 400 });
    await expect(client.messages.batches.create({ requests: [requestOf('no id!', 'a')] })).rejects.toMatchObject({
      status: 400,
    });
    await expect(client.messages.batches.create({ requests: [] })).rejects.toBeInstanceOf(APIError);
  });

  test('ends requests as their directives say', async () => {
    const made = await client.messages.batches.create({
      requests: [
        requestOf('errored', '[[batch: errored overloaded_error]] [[reply: errored later]]'),
        requestOf('expired', '[[batch: expired]] [[reply: expired later]]'),
        requestOf('missing', '[[batch: missing]] [[reply: missing later]]'),
      ],
    });
    await ended(made.id);
    const results = await resultsOf(made.id);
    expect(results.get('errored')).toMatchObject({ type: 'errored', error: { error: { type: 'overloaded_error' } } });
    expect(results.get('expired')).toEqual({ type: 'expired' });
    expect(results.has('missing')).toBe(false);
    const again = await client.messages.batches.create({
      requests: [requestOf('again', '[[batch: errored overloaded_error]] [[reply: errored later]]')],
    });
    await ended(again.id);
    expect((await resultsOf(again.id)).get('again')).toMatchObject({ type: 'succeeded' });
  });

  test('is cancelled, and is deleted only after its end', async () => {
    // By itself it would end in an hour.
    const slow = await startScriptedModel({ batchDelayMs: 3_600_000 });
    onTestFinished(() => slow.close());
    client = new Anthropic({ apiKey: 'test', baseURL: slow.url, maxRetries: 0 });
    const { id } = await client.messages.batches.create({ requests: [requestOf('one', 'hello')] });
    await expect(client.messages.batches.delete(id)).rejects.toMatchObject({ status: 400 });
    expect(await client.messages.batches.cancel(id)).toMatchObject({ processing_status: 'canceling' });
    expect(await ended(id)).toMatchObject({ request_counts: { canceled: 1 } });
    expect((await resultsOf(id)).get('one')).toEqual({ type: 'canceled' });
    expect(await client.messages.batches.delete(id)).toEqual({ id, type: 'message_batch_deleted' });
    await expect(client.messages.batches.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  test('is listed newest first, in pages', async () => {
    const ids: string[] = [];
    for (const name of ['a', 'b', 'c']) {
      ids.unshift((await client.messages.batches.create({ requests: [requestOf(name, name)] })).id);
    }
    const listed: string[] = [];
    for await (const { id } of client.messages.batches.list({ limit: 2 })) listed.push(id);
    expect(listed.slice(0, 3)).toEqual(ids);
    expect(new Set(listed).size).toBe(listed.length);
  });

  test('finds the configured part of prefixes that are in the cache', async () => {
    const system = [{ type: 'text', text: 'long '.repeat(1000), cache_control: { type: 'ephemeral', ttl: '1h' } }];
    // The first one writes it.
    const requests = Array.from({ length: 11 }, (_, n) => requestOf(`cached-${n}`, `hello ${n}`, { system }));
    const { id } = await client.messages.batches.create({ requests });
    await ended(id);
    const usages = [...(await resultsOf(id)).values()].flatMap((result) =>
      result.type === 'succeeded' ? [result.message.usage] : [],
    );
    expect(usages.filter((usage) => (usage.cache_read_input_tokens ?? 0) > 0)).toHaveLength(5);
    expect(usages.filter((usage) => (usage.cache_creation?.ephemeral_1h_input_tokens ?? 0) > 0)).toHaveLength(6);
  });
});

describe('with faults', () => {
  const create = (name: string) => client.messages.batches.create({ requests: [requestOf(name, name)] });
  const isMade = (name: string): boolean => scripted.batches.records.some(({ customIds }) => customIds.includes(name));

  test('an answer is cut after its batch was made, before any byte and in the middle', async () => {
    for (const cutAfterBytes of [0, 40]) {
      scripted.batches.faults = { ...NO_FAULTS, cutAnswers: 1, cutAfterBytes };
      await expect(create(`cut-${cutAfterBytes}`)).rejects.toBeInstanceOf(Error);
      expect(isMade(`cut-${cutAfterBytes}`)).toBe(true);
    }
    expect((await create('whole')).processing_status).toBe('in_progress');
  });

  test('a creation is refused and makes nothing', async () => {
    const set = await fetch(`${scripted.url}/batches`, {
      method: 'PUT',
      body: JSON.stringify({ refusals: 1, retryAfter: 3 }),
    });
    expect(await set.json()).toMatchObject({ faults: { refusals: 1, refuseStatus: 429, retryAfter: 3 } });
    const refused = await create('refused').catch((error: unknown) => error);
    expect(refused).toMatchObject({ status: 429 });
    expect(refused instanceof APIError && refused.headers?.get('retry-after')).toBe('3');
    expect(isMade('refused')).toBe(false);
    const unknown = await fetch(`${scripted.url}/batches`, { method: 'PUT', body: JSON.stringify({ unknown: 1 }) });
    expect(unknown.status).toBe(400);
  });

  test('the list lags, and other programs make similar batches', async () => {
    scripted.batches.faults = { ...NO_FAULTS, listingLagMs: 60_000, foreignBatches: 2 };
    const before = scripted.batches.records.length;
    const { id } = await create('lagging');
    expect(scripted.batches.records.slice(before).map(({ isForeign }) => isForeign)).toEqual([true, true, false]);
    expect((await client.messages.batches.list()).data.map((batch) => batch.id)).not.toContain(id);
  });

  test('results are cut, miss a line or are deleted', async () => {
    scripted.batches.faults = { ...NO_FAULTS, brokenResults: 1, missingResults: 1 };
    const { id } = await client.messages.batches.create({
      requests: [requestOf('first', 'a'), requestOf('second', 'b')],
    });
    await ended(id);
    await expect(resultsOf(id)).rejects.toBeInstanceOf(Error);
    expect((await resultsOf(id)).size).toBe(1);
    scripted.batches.faults = { ...NO_FAULTS, areResultsGone: true };
    await expect(resultsOf(id)).rejects.toMatchObject({ status: 404 });
  });
});
