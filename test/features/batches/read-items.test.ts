// The 24 kinds of bad input of a submission: each is refused with its status, code and place, and
// leaves no row.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { LineReader } from '../../../src/api/batch-lines.ts';
import { Problem } from '../../../src/api/problem.ts';
import { trimBatches } from '../../../src/features/batches/store/control.ts';
import { ADMIN_KEY } from '../../api/api-rig.ts';
import { eventually, useApiRig } from '../../api/use-api-rig.ts';
import {
  changeBatches,
  countBatchItems,
  countBatches,
  readBatchItems,
  removeBatchItems,
  removeBatches,
} from '../../rows/batches.ts';
import { countInputs } from '../../rows/inputs.ts';
import { ago } from '../../rows/table.ts';
import { batchRig } from './batch-rig.ts';

const limits = { batchItems: 5, batchBytes: 3_000_000, batchLineBytes: 1_048_576, batchGzipRatio: 100 };
const shared = useApiRig({ limits });

const GOOD = '{"text":"good"}';

async function rowsLeft(): Promise<number> {
  const { rig } = shared;
  return (await countBatches(rig)) + (await countBatchItems(rig)) + (await countInputs(rig, { kind: 'batch' }));
}

afterEach(async () => {
  await removeBatchItems(shared.rig);
  await removeBatches(shared.rig);
});

interface BadLine {
  name: string;
  line: string | Buffer;
  /** After `line 3: `; empty: the line itself. */
  field: string;
  message: RegExp;
}

const deep = `{"text":${'['.repeat(70)}${']'.repeat(70)}}`;

const BAD_LINES: BadLine[] = [
  { name: 'bytes that are not UTF-8', line: Buffer.from([0x7b, 0xff, 0x7d]), field: '', message: /UTF-8/ },
  { name: 'a NUL character', line: '{"text":"a\\u0000b"}', field: 'text', message: /NUL/ },
  { name: 'a lone surrogate', line: '{"text":"\\ud800"}', field: 'text', message: /lone surrogate/ },
  { name: 'a line that is not JSON', line: '{"text":', field: '', message: /not valid JSON/ },
  { name: 'JSON that is too deep', line: deep, field: `text${'[0]'.repeat(63)}`, message: /too deeply/ },
  { name: 'a line that is no object', line: '"text"', field: '', message: /expected an object/ },
  { name: 'an unknown field', line: '{"text":"a","txet":"b"}', field: 'txet', message: /unknown field/ },
  { name: 'no text', line: '{"customId":"a"}', field: 'text', message: /string/ },
  { name: 'an empty text', line: '{"text":""}', field: 'text', message: /empty/ },
  { name: 'a text that is no string', line: '{"text":7}', field: 'text', message: /string/ },
  {
    name: 'an integer beyond 2^53 as text',
    line: '{"text":12345678901234567890}',
    field: 'text',
    message: /^Invalid input: expected string, received number 12345678901234567890$/,
  },
  { name: 'an integer beyond 2^53 as line', line: '12345678901234567890', field: '', message: /expected an object/ },
  {
    name: 'an integer beyond 2^53 in a line of Anthropic',
    line: '{"custom_id":"a","params":12345678901234567890}',
    field: 'params',
    message: /expected an object/,
  },
  {
    name: 'a customId of over 200 characters',
    line: `{"text":"a","customId":"${'x'.repeat(201)}"}`,
    field: 'customId',
    message: /200/,
  },
  {
    name: 'an invalid session key',
    line: '{"text":"a","sessionKey":"a b"}',
    field: 'sessionKey',
    message: /not valid/,
  },
  { name: 'another mode than followup', line: '{"text":"a","mode":"steer"}', field: 'mode', message: /followup/ },
  {
    name: 'a line of Anthropic that is no item',
    line: '{"custom_id":"a","params":{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[]}}',
    field: 'params.tools',
    message: /cannot contain/,
  },
  {
    name: 'a line of OpenAI that streams',
    line: '{"custom_id":"a","url":"/v1/chat/completions","body":{"messages":[{"role":"user","content":"x"}],"stream":true}}',
    field: 'body.stream',
    message: /not streamed/,
  },
  {
    name: 'a line of Anthropic that streams',
    line: '{"custom_id":"a","params":{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"stream":true}}',
    field: 'params.stream',
    message: /not streamed/,
  },
  {
    name: 'a length of the answer that is none',
    line: '{"custom_id":"a","params":{"model":"m","max_tokens":"many","messages":[{"role":"user","content":"x"}]}}',
    field: 'params.max_tokens',
    message: /from 1 to 1000000/,
  },
  {
    name: 'a line of OpenAI that is no item',
    line: '{"custom_id":"a","method":"POST","url":"/v1/embeddings","body":{"messages":[{"role":"user","content":"x"}]}}',
    field: 'url',
    message: /chat\/completions/,
  },
];

function linesWith(line: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${GOOD}\n\n`), Buffer.from(line), Buffer.from(`\n${GOOD}\n`)]);
}

describe('a bad line is refused with its number, and nothing is kept', () => {
  test.each(BAD_LINES)('$name', async ({ line, field, message }) => {
    const answer = await batchRig(shared.rig).submitLines(linesWith(line));
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe('invalid_items');
    expect(answer.body.errors).toEqual([
      { path: field === '' ? 'line 3' : `line 3: ${field}`, message: expect.stringMatching(message) },
    ]);
    expect(await rowsLeft()).toBe(0);
  });

  test('a duplicate customId names both lines', async () => {
    const lines = ['{"text":"a","customId":"x"}', GOOD, '{"text":"b","customId":"x"}'].join('\n');
    const answer = await batchRig(shared.rig).submitLines(lines);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_items']);
    expect(answer.body.errors.map(({ path }: { path: string }) => path)).toEqual([
      'line 1: customId',
      'line 3: customId',
    ]);
    expect(await rowsLeft()).toBe(0);
  });

  test('an agent that does not exist is 404', async () => {
    const answer = await batchRig(shared.rig).submitLines(linesWith('{"text":"a","agentId":"nobody"}'));
    expect([answer.status, answer.body.code]).toEqual([404, 'unknown_agent']);
    expect(answer.body.errors).toEqual([{ path: 'line 3: agentId', message: expect.stringContaining('nobody') }]);
    expect(await rowsLeft()).toBe(0);
  });

  test('the first 100 faults are listed', async () => {
    const answer = await batchRig(shared.rig).submitLines('{}\n'.repeat(4));
    expect(answer.body.errors).toHaveLength(4);
  });
});

describe('a submission that cannot be read as a whole is refused, and nothing is kept', () => {
  const refused = async (lines: string | Buffer, headers: Record<string, string> = {}) => {
    const { status, body } = await batchRig(shared.rig).submitLines(lines, '', headers);
    expect(await rowsLeft()).toBe(0);
    return { status, code: body.code, detail: body.detail, errors: body.errors };
  };

  test('one JSON list instead of lines, with a hint', async () => {
    expect(await refused(`[${GOOD}]`)).toMatchObject({
      status: 400,
      code: 'invalid_items',
      errors: [{ path: 'line 1', message: expect.stringContaining('one item per line') }],
    });
  });

  test('a setting of the query with a NUL character', async () => {
    const { status, body } = await batchRig(shared.rig).submitLines(GOOD, '?name=a%00b');
    expect([status, body.code]).toEqual([400, 'invalid_query']);
    expect(body.errors).toEqual([{ path: 'name', message: expect.stringContaining('NUL') }]);
    expect(await rowsLeft()).toBe(0);
  });

  test.each(['-1', '1e9', '0.0000001'])('a cost cap of %s dollars', async (maxCostUsd) => {
    const { status, body } = await batchRig(shared.rig).submitLines(GOOD, `?maxCostUsd=${maxCostUsd}`);
    expect([status, body.code]).toEqual([400, 'invalid_query']);
    expect(body.errors).toEqual([
      { path: 'maxCostUsd', message: expect.stringMatching(/without a sign or an exponent|at most six decimals/) },
    ]);
    expect(await rowsLeft()).toBe(0);
  });

  test('a detail that quotes a whole sentence has one full stop', async () => {
    expect((await refused('{"text":')).detail).toMatch(/[^.]\. Nothing was stored/);
  });

  test('no items', async () => {
    expect(await refused('\n \n')).toMatchObject({ status: 400, code: 'invalid_items' });
  });

  test('more items than a batch can have', async () => {
    const answer = await refused(`${GOOD}\n`.repeat(6));
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large', detail: expect.stringContaining('5 items') });
  });

  test('more bytes than a batch can have', async () => {
    const line = `{"text":"${'x'.repeat(900_000)}"}\n`;
    expect(await refused(line.repeat(4))).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  test('a line that is too long', async () => {
    const answer = await refused(`${GOOD}\n{"text":"${'x'.repeat(1_048_576)}"}\n`);
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large', errors: [{ path: 'line 2' }] });
  });

  test('gzip that expands too much', async () => {
    const body = gzipSync(`{"text":"${'x'.repeat(900_000)}"}\n`.repeat(3));
    expect(await refused(body, { 'content-encoding': 'gzip' })).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  test.each([
    ['corrupt', Buffer.from('not gzip at all')],
    ['cut', gzipSync(`${GOOD}\n`).subarray(0, 15)],
  ])('%s gzip', async (_name, body) => {
    expect(await refused(body, { 'content-encoding': 'gzip' })).toMatchObject({ status: 400, code: 'invalid_body' });
  });

  test('60 s without a byte', async () => {
    const source = new PassThrough();
    source.write(GOOD);
    const reader = new LineReader(source, { isGzip: false, limits, hoursMax: 1, silentMsMax: 20 });
    const fault = await Array.fromAsync(reader.lines()).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Problem);
    expect(fault).toMatchObject({ code: 'request_timeout', status: 408 });
  });
});

const immediately = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('an upload that never ends is ended', () => {
  test('when its gzip expands to nothing', async () => {
    const empty = gzipSync('');
    async function* members(): AsyncGenerator<Buffer> {
      for (;;) {
        await immediately();
        yield empty;
      }
    }
    const reader = new LineReader(Readable.from(members()), {
      isGzip: true,
      hoursMax: 1,
      limits: { ...limits, batchBytes: 10_000 },
    });
    const fault = await Array.fromAsync(reader.lines()).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'body_too_large', status: 413 });
  });

  test('when it only drips', async () => {
    async function* drips(): AsyncGenerator<Buffer> {
      for (;;) {
        await immediately();
        yield Buffer.from(' ');
      }
    }
    const reader = new LineReader(Readable.from(drips()), { isGzip: false, limits, hoursMax: 1e-6 });
    const fault = await Array.fromAsync(reader.lines()).catch((error: unknown) => error);
    expect(fault).toMatchObject({ code: 'request_timeout', status: 408 });
  });
});

test('the same Idempotency-Key with other lines is 422, and with the same lines the first batch again', async () => {
  const batches = batchRig(shared.rig);
  const headers = { 'idempotency-key': 'lines-1' };
  const first = await batches.submitLines(`${GOOD}\n`, '?name=one', headers);
  expect(first.status).toBe(201);
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  const other = await batches.submitLines(`${GOOD}\n${GOOD}\n`, '?name=one', headers);
  expect([other.status, other.body.code]).toEqual([422, 'idempotency_mismatch']);
  const again = await batches.submitLines(`${GOOD}\n`, '?name=one', headers);
  expect([again.status, again.body.id, again.headers['idempotent-replayed']]).toEqual([201, first.body.id, 'true']);
  expect(await rowsLeft()).toBe(2);
});

test('a connection that breaks in the middle leaves nothing, and its key is free', async () => {
  const url = new URL('/v1/batches', await shared.rig.listen());
  const headers = {
    authorization: `Bearer ${ADMIN_KEY}`,
    'content-type': 'application/x-ndjson',
    'idempotency-key': 'broken-1',
  };
  const upload = request(url, { method: 'POST', headers });
  upload.on('error', () => undefined);
  upload.write(`${GOOD}\n`);
  await eventually(rowsLeft).toBeGreaterThan(0);
  upload.destroy();
  await eventually(rowsLeft).toBe(0);
  const again = await batchRig(shared.rig).submitLines(`${GOOD}\n`, '', { 'idempotency-key': 'broken-1' });
  expect(again.status).toBe(201);
});

test('a body that takes longer to arrive than uploads are kept is answered 408, and nothing is kept', async () => {
  const url = new URL('/v1/batches', await shared.rig.listen());
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/x-ndjson' };
  const upload = request(url, { method: 'POST', headers });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.write(`${GOOD}\n`);
  await eventually(rowsLeft).toBeGreaterThan(0);
  await changeBatches(shared.rig, {}, { createdAt: ago('61 minutes') });
  await trimBatches(shared.rig.turns.database, 1_000_000);
  upload.end(`${GOOD}\n`);
  const [answer] = await answered;
  expect(answer.statusCode).toBe(408);
  expect(await json(answer)).toMatchObject({
    code: 'request_timeout',
    detail: expect.stringContaining('longer than 1 h'),
  });
  expect(await rowsLeft()).toBe(0);
});

test('a byte order mark, CRLF, blank lines, gzip and a last line without its end are accepted', async () => {
  const lines = `\ufeff${GOOD}\r\n\r\n{"custom_id":"a","params":{"model":"claude-sonnet-5-5","max_tokens":9,"system":"Be short.","messages":[{"role":"user","content":"hello"}]}}\r\n{"custom_id":"b","method":"POST","url":"/v1/chat/completions","body":{"model":"anthropic/claude-sonnet-5-5","messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}}`;
  const answer = await batchRig(shared.rig).submitLines(gzipSync(lines), '', { 'content-encoding': 'gzip' });
  expect([answer.status, answer.body.counts?.total]).toEqual([201, 3]);
  const rows = await readBatchItems(shared.rig, {}, 'customId', 'body');
  expect(rows.map((row) => row['customId'])).toEqual([null, 'a', 'b']);
  expect(rows[1]?.['body']).toMatchObject({ text: 'hello', extraSystemPrompt: 'Be short.', caller: { maxTokens: 9 } });
});
