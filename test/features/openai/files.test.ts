// Files and batches of OpenAI's own client, unchanged, against a whole service.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import OpenAI, { toFile } from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { apiKey, openServiceRig, type RunningProcess, type ServiceRig } from '../../service/rig/service-rig.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { changeBatches, countBatches, readBatchItems } from '../../rows/batches.ts';
import {
  changeClientFiles,
  countClientBatches,
  countClientFileParts,
  countClientFiles,
  readClientFileParts,
  readClientFiles,
} from '../../rows/client-files.ts';
import { deleteUploads } from '../../rows/refuse-writes.ts';
import { readSessions } from '../../rows/sessions.ts';
import { now } from '../../rows/table.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const SOON_MS = 240_000;
const LINE_BYTES_MAX = 2_000;
const FILE_BYTES_MAX = 5_000_000;

const holder = {} as { rig: ServiceRig; process: RunningProcess; url: string };
shareAmongTests(async (onEnd) => {
  const limits = { batchLineBytes: LINE_BYTES_MAX, batchBytes: FILE_BYTES_MAX, batchItems: 5_000 };
  holder.rig = await openServiceRig({
    queue: 'postgres',
    config: { limits, agents: { list: [{ id: 'main' }, { id: 'helper' }] } },
  });
  onEnd(() => holder.rig.close());
  holder.process = await holder.rig.start('api,worker,scheduler');
  holder.url = holder.process.url;
});

let openai: OpenAI;
beforeAll(() => {
  openai = new OpenAI({ apiKey, baseURL: `${holder.url}/openai/v1`, maxRetries: 0 });
});

const line = (id: string, content: string, more: object = {}): string =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: '/v1/chat/completions',
    body: { model: 'holdfast', messages: [{ role: 'user', content }], ...more },
  });

const upload = async (lines: readonly string[], name = 'lines.jsonl', options: OpenAI.RequestOptions = {}) =>
  openai.files.create({ purpose: 'batch', file: await toFile(Buffer.from(`${lines.join('\n')}\n`), name) }, options);

const submit = (fileId: string, window = '24h', options: OpenAI.RequestOptions = {}) =>
  openai.batches.create(
    {
      input_file_id: fileId,
      endpoint: '/v1/chat/completions',
      completion_window: window as '24h',
      metadata: { of: 'test' },
    },
    options,
  );

const ended = (id: string): Promise<OpenAI.Batch> =>
  waitUntil('the batch ends', SOON_MS, async () => {
    const batch = await openai.batches.retrieve(id);
    return ['completed', 'failed', 'expired', 'cancelled'].includes(batch.status) ? batch : null;
  });

interface OutputLine {
  custom_id: string;
  response: { status_code: number; body: OpenAI.ChatCompletion } | null;
  error: { code: string; message: string } | null;
}

async function linesOf(fileId: string | null | undefined): Promise<OutputLine[]> {
  const text = await (await openai.files.content(fileId ?? '')).text();
  return text
    .split('\n')
    .filter((one) => one !== '')
    .map((one) => JSON.parse(one) as OutputLine);
}

describe('a batch of a file', () => {
  test('is answered line by line; what failed is in the file of errors', async () => {
    const lines = [
      line('a', 'one [[reply: One.]]'),
      line('b', 'two [[error: 400 times=always]]'),
      line('c', 'three [[reply: Three.]]', { model: 'holdfast:helper', max_tokens: 100 }),
    ];
    const file = await upload(lines);
    expect(file).toMatchObject({
      object: 'file',
      purpose: 'batch',
      filename: 'lines.jsonl',
      bytes: lines.join('\n').length + 1,
      status: 'processed',
    });
    // From the end of the upload on.
    expect((file.expires_at ?? 0) - file.created_at).toBeGreaterThanOrEqual(30 * 86_400);
    expect(await (await openai.files.content(file.id)).text()).toBe(`${lines.join('\n')}\n`);
    const made = await submit(file.id);
    expect(made).toMatchObject({ object: 'batch', input_file_id: file.id, metadata: { of: 'test' }, errors: null });
    expect((made.expires_at ?? 0) - made.created_at).toBeGreaterThan(86_000);
    const batch = await ended(made.id);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
    const output = await linesOf(batch.output_file_id);
    expect(output.map(({ custom_id: id, response }) => [id, response?.body.choices[0]?.message.content])).toEqual([
      ['a', 'One.'],
      ['c', 'Three.'],
    ]);
    expect(await linesOf(batch.error_file_id)).toMatchObject([{ custom_id: 'b', response: null }]);
    expect(await openai.files.retrieve(batch.output_file_id ?? '')).toMatchObject({ purpose: 'batch_output' });
    const items = await readBatchItems(holder.rig, {}, 'sessionId');
    const agents = items.map(({ sessionId }) => readSessions(holder.rig, { id: sessionId! }, 'agentId'));
    expect((await Promise.all(agents)).flat().map(({ agentId }) => agentId)).toEqual(['main', 'main', 'helper']);
  });

  test('with lines that do not fit has failed, with each of them', async () => {
    const file = await upload([
      line('a', 'fits'),
      '{"custom_id": "b"',
      line('c', 'streams?', { tools: [] }),
      line('a', 'the same id'),
      line('d', 'x', { model: 'gpt-9' }),
    ]);
    const batch = await submit(file.id);
    expect(batch).toMatchObject({ status: 'failed', output_file_id: null, error_file_id: null });
    expect(batch.errors?.data?.map(({ line: at, param }) => [at, param])).toEqual([
      [2, null],
      [3, 'body.tools'],
      [1, 'custom_id'],
      [4, 'custom_id'],
      [5, 'body.model'],
    ]);
    expect(await openai.batches.retrieve(batch.id)).toEqual(batch);
    const long = await submit((await upload([line('a', 'x'.repeat(LINE_BYTES_MAX))])).id);
    expect(long).toMatchObject({ status: 'failed', errors: { data: [{ line: 1 }] } });
    const empty = await submit((await upload([''])).id);
    expect(empty).toMatchObject({ status: 'failed', errors: { data: [{ code: 'empty_file' }] } });
    expect(await countBatches(holder.rig, { status: 'uploading' })).toBe(0);
  });

  test('can be cancelled, and expires', async () => {
    const held = Array.from({ length: 100 }, (_, n) => line(String(n), 'x [[delay: 300]] [[reply: y]]'));
    const cancelled = await submit((await upload(held)).id);
    expect(['cancelling', 'cancelled']).toContain((await openai.batches.cancel(cancelled.id)).status);
    const end = await ended(cancelled.id);
    expect(end.status).toBe('cancelled');
    const codes = (await linesOf(end.error_file_id)).map(({ error }) => error?.code);
    expect(codes).toContain('batch_cancelled');

    const late = await submit((await upload(held)).id, '1h');
    await changeBatches(holder.rig, { status: 'running' }, { deadlineAt: now });
    const expired = await ended(late.id);
    expect(expired.status).toBe('expired');
    expect((await linesOf(expired.error_file_id)).map(({ error }) => error?.code)).toContain('batch_expired');
    expect(expired.request_counts?.total).toBe(100);
  });
});

describe('requests for files and batches', () => {
  test('of an upload have their effect once per key (G2)', async () => {
    const once = { headers: { 'Idempotency-Key': 'file-once' } };
    const first = await upload([line('a', 'x')], 'once.jsonl', once);
    expect(await upload([line('a', 'x')], 'once.jsonl', once)).toEqual(first);
    await expect(upload([line('b', 'y')], 'once.jsonl', once)).rejects.toMatchObject({ status: 422 });
  });

  test('page through lists', async () => {
    const ids = [];
    for (const name of ['1', '2', '3']) ids.push((await upload([line('a', 'x')], name)).id);
    const page = await openai.files.list({ limit: 2 });
    expect(page.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    expect(page.hasNextPage()).toBe(true);
    expect((await page.getNextPage()).data[0]?.id).toBe(ids[0]);
    const batches = await openai.batches.list({ limit: 1 });
    expect(batches.data).toHaveLength(1);
    expect((await batches.getNextPage()).data[0]?.id).not.toBe(batches.data[0]?.id);
  });

  test('of a deleted file are not found', async () => {
    const file = await upload([line('a', 'x')]);
    expect(await openai.files.delete(file.id)).toEqual({ id: file.id, object: 'file', deleted: true });
    await expect(openai.files.retrieve(file.id)).rejects.toMatchObject({ status: 404 });
    await expect(submit(file.id)).rejects.toMatchObject({ status: 400, param: 'input_file_id' });
    expect(await countClientFileParts(holder.rig, { fileId: uuidOf(file.id) })).toBe(0);
  });

  test('that do not fit are refused with the parameter, and keep nothing', async () => {
    const before = await countClientFiles(holder.rig);
    const file = await toFile(Buffer.from('x'), 'x');
    const refused = (asked: Promise<unknown>) => expect(asked).rejects;
    await refused(openai.files.create({ purpose: 'fine-tune', file })).toMatchObject({ status: 400, param: 'purpose' });
    const large = await toFile(Buffer.alloc(FILE_BYTES_MAX + 1), 'large');
    await refused(openai.files.create({ purpose: 'batch', file: large })).toMatchObject({ status: 413, param: 'file' });
    for (const seconds of [-1, 0])
      await refused(
        openai.files.create({ purpose: 'batch', file, expires_after: { anchor: 'created_at', seconds } }),
      ).toMatchObject({ status: 400, param: 'expires_after[seconds]' });
    const two = new FormData();
    two.append('purpose', 'batch');
    for (const name of ['one', 'two']) two.append('file', new Blob(['x']), name);
    const answer = await fetch(`${openai.baseURL}/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${openai.apiKey}` },
      body: two,
    });
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'file' } }]);
    const good = await upload([line('a', 'x')], 'a\u0000b');
    expect((await openai.files.retrieve(good.id)).filename).not.toContain('\u0000');
    await refused(
      openai.batches.create({ input_file_id: good.id, endpoint: '/v1/embeddings', completion_window: '24h' }),
    ).toMatchObject({ status: 400, param: 'endpoint' });
    await refused(submit(good.id, 'soon')).toMatchObject({ status: 400, param: 'completion_window' });
    await refused(submit('file-1')).toMatchObject({ status: 400, param: 'input_file_id' });
    await refused(openai.batches.retrieve('batch_1')).toMatchObject({ status: 404 });
    await refused(openai.files.list({ limit: 0 })).toMatchObject({ status: 400, param: 'limit' });
    for (const body of [
      'not a form',
      '--b\r\n\r\n--b--\r\n',
      '--b\r\ncontent-disposition: form-data; name="file"\r\ncontent-type: application/octet-stream\r\n\r\nx\r\n--b--\r\n',
      '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n--b--\r\n',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\nhal',
    ]) {
      const response = await fetch(`${holder.url}/openai/v1/files`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'multipart/form-data; boundary=b' },
        body,
      });
      expect(response.status).toBe(400);
    }
    await openai.files.delete(good.id);
    expect(await countClientFiles(holder.rig)).toBe(before);
  });
});

describe('an upload', () => {
  const uploads = () => readClientFiles(holder.rig, { completedAt: null }, 'id');
  const partsWithoutFile = async () => {
    const files = (await readClientFiles(holder.rig, {}, 'id')).map(({ id }) => id);
    return (await readClientFileParts(holder.rig, {}, 'fileId')).filter(({ fileId }) => !files.includes(fileId));
  };

  /** Sends the first 2 MB of a file, of which some are stored when it resolves. */
  async function begun() {
    const sent = request(`${holder.url}/openai/v1/files`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    sent.write('--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n');
    sent.write('--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n');
    sent.write(`content-type: application/jsonl\r\n\r\n${'x'.repeat(2_000_000)}`);
    await waitUntil('the upload has begun', SOON_MS, async () => (await uploads()).length > 0);
    return { sent, answered };
  }

  test('whose client leaves in the middle keeps nothing', async () => {
    const { sent, answered } = await begun();
    const left = expect(answered).rejects.toThrow();
    sent.destroy();
    await left;
    await waitUntil('the upload is deleted', SOON_MS, async () => (await uploads()).length === 0);
    expect(await partsWithoutFile()).toEqual([]);
    expect(holder.process.isAlive()).toBe(true);
  });

  test.each([
    { when: 'at its next part', rest: 'x'.repeat(2_000_000), ends: false },
    { when: 'at its end', rest: '\r\n--b--\r\n', ends: true },
  ])('that takes longer than a day is answered 408 $when, and nothing is kept', async ({ rest, ends }) => {
    const { sent, answered } = await begun();
    await changeClientFiles(holder.rig, { completedAt: null }, { expiresAt: now });
    sent.write(rest);
    if (ends) sent.end();
    const [answer] = await answered;
    expect(answer.statusCode).toBe(408);
    expect(await json(answer)).toEqual({
      error: {
        message: 'The file took longer than 24 h to arrive, so nothing was kept. Split the file.',
        type: 'invalid_request_error',
        param: null,
        code: 'request_timeout',
      },
    });
    sent.destroy();
    expect(await uploads()).toEqual([]);
    expect(await partsWithoutFile()).toEqual([]);
  });
});

test('a batch whose lines took longer to store than uploads are kept is answered 503, and can be sent again', async () => {
  const file = await upload([line('a', 'x [[reply: y]]')]);
  // The upload of the batch is deleted while its lines are stored, as the housekeeper deletes one
  // that takes too long.
  const stop = await deleteUploads(holder.rig);
  const keyed = { headers: { 'Idempotency-Key': 'slow-once' } };
  await expect(submit(file.id, '24h', keyed)).rejects.toMatchObject({ status: 503, code: 'timeout' });
  await stop();
  expect(await countClientBatches(holder.rig, { inputFileId: uuidOf(file.id) })).toBe(0);
  const batch = await submit(file.id, '24h', keyed);
  expect((await ended(batch.id)).status).toBe('completed');
});

function uuidOf(fileId: string): string {
  return fileId.replace('file-', '').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
