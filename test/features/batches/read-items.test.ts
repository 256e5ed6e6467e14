// The kinds of bad input of a submission: each is refused with its status, code and place, and
// leaves no row.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { LineReader } from '../../../src/api/upload.ts';
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

const deep = `{"text":${'['.repeat(70)}${']'.repeat(70)}}`;
const MESSAGES = '"messages":[{"role":"user","content":"x"}]';
const anthropic = (params: string): string => `{"custom_id":"a","params":{"model":"m",${params}}}`;
const openai = (body: string): string => `{"custom_id":"a","url":"/v1/chat/completions","body":{${body}}}`;

/** With the field after `line 3: `; empty: the line itself. */
const BAD_LINES: [name: string, line: string | Buffer, field: string, message: RegExp][] = [
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), '', /UTF-8/],
  ['a NUL character', '{"text":"a\\u0000b"}', 'text', /NUL/],
  ['a lone surrogate', '{"text":"\\ud800"}', 'text', /lone surrogate/],
  ['a line that is not JSON', '{"text":', '', /not valid JSON/],
  ['JSON that is too deep', deep, `text${'[0]'.repeat(63)}`, /too deeply/],
  ['a line that is no object', '"text"', '', /expected an object/],
  ['an unknown field', '{"text":"a","txet":"b"}', 'txet', /unknown field/],
  ['no text', '{"customId":"a"}', 'text', /allowed: a text/],
  ['an empty text', '{"text":""}', 'text', /empty/],
  ['a text that is no string', '{"text":7}', 'text', /allowed: a text/],
  [
    'an integer beyond 2^53 as text',
    '{"text":12345678901234567890}',
    'text',
    /^is 12345678901234567890; allowed: a text$/,
  ],
  ['an integer beyond 2^53 as line', '12345678901234567890', '', /expected an object/],
  ['an integer beyond 2^53 as request', '{"params":12345678901234567890}', 'params', /expected an object/],
  ['a customId of over 200 characters', `{"text":"a","customId":"${'x'.repeat(201)}"}`, 'customId', /200/],
  ['an invalid session key', '{"text":"a","sessionKey":"a b"}', 'sessionKey', /not valid/],
  ['another mode than followup', '{"text":"a","mode":"steer"}', 'mode', /followup/],
  ['a line of Anthropic with tools', anthropic(`${MESSAGES},"tools":[]`), 'params.tools', /cannot contain/],
  ['a line of Anthropic without a message', anthropic('"messages":[]'), 'params.messages', /one message/],
  ['a line of Anthropic that streams', anthropic(`${MESSAGES},"stream":true`), 'params.stream', /not streamed/],
  ['a length of no answer', anthropic(`${MESSAGES},"max_tokens":"many"`), 'params.max_tokens', /from 1 to 1000000/],
  ['a line of OpenAI that streams', openai(`${MESSAGES},"stream":true`), 'body.stream', /not streamed/],
  [
    'an image',
    openai('"messages":[{"role":"user","content":[{"type":"image_url"}]}]'),
    'body.messages[0].content',
    /only contain text/,
  ],
  [
    'another form of answers',
    openai(`${MESSAGES},"response_format":{"type":"xml"}`),
    'body.response_format.type',
    /json_schema/,
  ],
  ['another endpoint of OpenAI', `{"url":"/v1/embeddings","body":{${MESSAGES}}}`, 'url', /chat\/completions/],
];

const linesWith = (line: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${GOOD}\n\n`), Buffer.from(line), Buffer.from(`\n${GOOD}\n`)]);

/** The answer to a submission that leaves no row. */
async function refused(lines: string | Buffer, query = '', headers: Record<string, string> = {}) {
  const { status, body } = await batchRig(shared.rig).submitLines(lines, query, headers);
  expect(await rowsLeft()).toBe(0);
  const { code, detail, errors } = body;
  return { status, code, detail, errors };
}

test.each(BAD_LINES)(
  'a bad line is refused with its number, and nothing is kept: %s',
  async (_, line, field, message) => {
    expect(await refused(linesWith(line))).toMatchObject({
      status: 400,
      code: 'invalid_items',
      errors: [{ path: field === '' ? 'line 3' : `line 3: ${field}`, message: expect.stringMatching(message) }],
    });
  },
);

const LARGE = `{"text":"${'x'.repeat(900_000)}"}\n`;
const GZIP = { 'content-encoding': 'gzip' };
const named = (path: string, message: string) => ({ path, message: expect.stringContaining(message) });
const CUSTOM_IDS = ['{"text":"a","customId":"x"}', GOOD, '{"text":"b","customId":"x"}'].join('\n');
const NOBODY = linesWith('{"text":"a","agentId":"nobody"}');

interface Refusal {
  lines: string | Buffer;
  query?: string;
  headers?: Record<string, string>;
  is: object;
}

test.each<[string, Refusal]>([
  [
    'a duplicate customId, which names both lines',
    {
      lines: CUSTOM_IDS,
      is: {
        status: 400,
        code: 'invalid_items',
        errors: [named('line 1: customId', 'once'), named('line 3: customId', 'once')],
      },
    },
  ],
  [
    'an agent that does not exist',
    { lines: NOBODY, is: { status: 404, code: 'unknown_agent', errors: [named('line 3: agentId', 'nobody')] } },
  ],
  [
    'one JSON list instead of lines',
    { lines: `[${GOOD}]`, is: { status: 400, code: 'invalid_items', errors: [named('line 1', 'one item per line')] } },
  ],
  [
    'a setting with a NUL character',
    { lines: GOOD, query: '?name=a%00b', is: { status: 400, code: 'invalid_query', errors: [named('name', 'NUL')] } },
  ],
  [
    'a negative cost cap',
    {
      lines: GOOD,
      query: '?maxCostUsd=-1',
      is: { status: 400, code: 'invalid_query', errors: [named('maxCostUsd', 'without a sign')] },
    },
  ],
  [
    'a cost cap with an exponent',
    {
      lines: GOOD,
      query: '?maxCostUsd=1e9',
      is: { status: 400, code: 'invalid_query', errors: [named('maxCostUsd', 'an exponent')] },
    },
  ],
  [
    'a cost cap of parts of a micro-dollar',
    {
      lines: GOOD,
      query: '?maxCostUsd=0.0000001',
      is: { status: 400, code: 'invalid_query', errors: [named('maxCostUsd', 'six decimals')] },
    },
  ],
  [
    'a sentence in a sentence, with one full stop',
    { lines: '{"text":', is: { detail: expect.stringMatching(/[^.]\. Nothing was stored/) } },
  ],
  ['no items', { lines: '\n \n', is: { status: 400, code: 'invalid_items' } }],
  [
    'more items than a batch can have',
    {
      lines: `${GOOD}\n`.repeat(6),
      is: { status: 413, code: 'body_too_large', detail: expect.stringContaining('5 items') },
    },
  ],
  ['more bytes than a batch can have', { lines: LARGE.repeat(4), is: { status: 413, code: 'body_too_large' } }],
  [
    'a line that is too long',
    {
      lines: `${GOOD}\n{"text":"${'x'.repeat(1_048_576)}"}\n`,
      is: { status: 413, code: 'body_too_large', errors: [{ path: 'line 2' }] },
    },
  ],
  [
    'gzip that expands too much',
    { lines: gzipSync(LARGE.repeat(3)), headers: GZIP, is: { status: 413, code: 'body_too_large' } },
  ],
  ['corrupt gzip', { lines: Buffer.from('not gzip at all'), headers: GZIP, is: { status: 400, code: 'invalid_body' } }],
  [
    'gzip that is cut',
    { lines: gzipSync(`${GOOD}\n`).subarray(0, 15), headers: GZIP, is: { status: 400, code: 'invalid_body' } },
  ],
])('a submission is refused, and nothing is kept: %s', async (_, { lines, query, headers, is }) => {
  expect(await refused(lines, query, headers)).toMatchObject(is);
});

test('the faults of all lines are listed', async () => {
  expect((await refused('{}\n'.repeat(4))).errors).toHaveLength(4);
});

/** Bytes that never end. */
async function* endless(bytes: Buffer): AsyncGenerator<Buffer> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    yield bytes;
  }
}

function silent(): PassThrough {
  const source = new PassThrough();
  source.write(GOOD);
  return source;
}

test.each<[string, () => Readable, Partial<ConstructorParameters<typeof LineReader>[1]>, object]>([
  ['nothing comes', silent, { silentMsMax: 20 }, { code: 'request_timeout', status: 408 }],
  [
    'it only drips',
    () => Readable.from(endless(Buffer.from(' '))),
    { hoursMax: 1e-6 },
    { code: 'request_timeout', status: 408 },
  ],
  [
    'its gzip expands to nothing',
    () => Readable.from(endless(gzipSync(''))),
    { isGzip: true, limits: { ...limits, batchBytes: 10_000 } },
    { code: 'body_too_large', status: 413 },
  ],
])('an upload that never ends is ended when %s', async (_, open, options, is) => {
  const reader = new LineReader(open(), { isGzip: false, limits, hoursMax: 1, ...options });
  const fault = await Array.fromAsync(reader.lines()).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(Problem);
  expect(fault).toMatchObject(is);
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
