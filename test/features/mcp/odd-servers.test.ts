// Servers that differ from the protocol in one thing: it costs that thing, and no tool, answer or
// session beside it.
import sharp from 'sharp';
import { expect, onTestFinished, test } from 'vitest';
import { listServers, listTools } from '../../../src/features/mcp/views.ts';
import { counting, rigWith } from './mcp-rig.ts';
import { serveOdd, type OddServer } from './odd-server.ts';

const tool = (name: string, more: object = {}) => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  ...more,
});
const listOf = (...tools: unknown[]) => JSON.stringify({ tools });
const answerWith = (result: unknown) => ({ text: `{"jsonrpc":"2.0","id":$ID,"result":${JSON.stringify(result)}}` });

/** A turn rig with an odd server over HTTP. */
async function openOdd(odd: OddServer, settings: object = {}) {
  const server = await serveOdd(odd);
  onTestFinished(() => server.close());
  const rig = await rigWith({ odd: { url: server.url, trust: 'hints', timeoutSeconds: 20, ...settings } });
  const call = async (name: string, input: object = {}, session = 'main') => {
    const [result] = await rig.call([{ tool: `odd__${name}`, input }], session);
    return result;
  };
  return { ...rig, server, call };
}

/** The same as a process. */
async function openOddProcess(odd: OddServer) {
  const server = await counting({ ODD: JSON.stringify(odd) }, new URL('odd-server.ts', import.meta.url).pathname);
  const rig = await rigWith({ odd: { ...server.settings, trust: 'hints', timeoutSeconds: 20 } });
  return { ...rig, server };
}

test('an odd definition is left out with its reason, nulls are absent, and of two tools with one name neither is chosen (G43)', async () => {
  const nulls = { title: null, annotations: null, outputSchema: null, execution: null, description: null, _meta: null };
  const odd = [
    tool('good'),
    tool('nulls', nulls),
    { name: 'untyped', inputSchema: { properties: null } },
    { name: 'listed', inputSchema: { type: ['object', 'null'], properties: [] } },
    { name: 'without' },
    tool('words', { inputSchema: { type: 'string' } }),
    tool('nul', { description: '\0\ud800', inputSchema: { type: 'object', properties: { 'a\0\ud800': {} } } }),
    tool('twice', { description: 'one' }),
    tool('twice', { description: 'two' }),
    tool('a.b'),
    tool('a_b'),
    { description: 'unnamed' },
    null,
    7,
    tool('x'.repeat(5_000)),
  ];
  const deep = `{"name":"deep","inputSchema":${'{"items":'.repeat(5_000)}{}${'}'.repeat(5_001)}`;
  const rig = await openOdd({ list: listOf(...odd).replace(/]}$/, `,${deep}]}`), answers: {} });
  expect(await listServers(rig.config, rig.database.views)).toMatchObject([{ state: 'connected', error: null }]);
  const listed = (await listTools(rig.config, rig.database.views, 'odd')) ?? [];
  const reasons = Object.fromEntries(listed.map(({ name, leftOut }) => [name.slice(0, 20), leftOut]));
  expect(reasons).toEqual({
    good: null,
    nulls: null,
    untyped: null,
    listed: null,
    nul: null,
    without: 'it has no input schema',
    words: 'its input schema is of type "string", not of type object',
    twice: 'the server has several tools of this name',
    'a.b': 'its name would be that of a_b',
    a_b: 'its name would be that of a.b',
    '(tool 12 of the list': 'it has no name',
    '(tool 13 of the list': 'it has no name',
    '(tool 14 of the list': 'it has no name',
    ['x'.repeat(20)]: 'its name would have 205 characters, more than 64',
    deep: 'its input schema has more than 64 levels',
  });
  expect(await rig.call('good')).toMatchObject({ status: 'done', isError: false });
  expect(rig.toolsShown().map(({ name }) => name)).toEqual([
    'odd__good',
    'odd__listed',
    'odd__nul',
    'odd__nulls',
    'odd__untyped',
  ]);
});

test('a server that writes null for what it does not have, and pages without end, has its tools (G43)', async () => {
  const server = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":null},"logging":null},"serverInfo":{"name":"odd","version":null},"instructions":null,"_meta":null}`;
  const list = JSON.stringify({ tools: [tool('good')], nextCursor: 'again', _meta: null });
  const rig = await openOdd({ server, list, answers: {} });
  expect(await listServers(rig.config, rig.database.views)).toMatchObject([{ state: 'connected', serverName: 'odd' }]);
  // The list has the same page more than once.
  expect(await listTools(rig.config, rig.database.views, 'odd')).toMatchObject([{ name: 'good' }]);
});

const READABLE: { form: string; text: string; said: string; isError?: boolean }[] = [
  {
    form: 'nulls',
    text: '{"jsonrpc":"2.0","id":$ID,"error":null,"result":{"content":[{"type":"text","text":"said","annotations":null,"_meta":null}],"structuredContent":null,"isError":null,"_meta":null}}',
    said: 'said',
  },
  {
    form: 'an unknown part',
    text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"chart","points":[1,2]},{"type":"text","text":"said"}]}}',
    said: '{"type":"chart","points":[1,2]}\n\nsaid',
  },
  {
    form: 'a part without a type',
    text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"text":"said"},null,"more"]}}',
    said: 'said\n\nmore',
  },
  {
    form: 'a picture without a MIME type',
    text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"image","data":"AAAA"},{"type":"text","text":"said"}]}}',
    said: '[image of no type, 3 bytes, left out]\n\nsaid',
  },
  {
    form: 'a resource with nulls',
    text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"resource","resource":{"uri":null,"mimeType":null,"text":"said"}}]}}',
    said: '[resource without an address]\nsaid',
  },
  { form: 'content as a text', text: '{"jsonrpc":"2.0","id":$ID,"result":{"content":"said"}}', said: 'said' },
  { form: 'a result as a text', text: '{"jsonrpc":"2.0","id":$ID,"result":"said"}', said: 'said' },
  {
    form: 'a result with other fields',
    text: '{"jsonrpc":"2.0","id":$ID,"result":{"toolResult":"said"}}',
    said: '{"toolResult":"said"}',
  },
  { form: 'no result', text: '{"jsonrpc":"2.0","id":$ID,"result":null}', said: '(empty)' },
  {
    form: 'no version and an id as a text',
    text: '{"id":"$ID","result":{"content":[{"type":"text","text":"said"}]}}',
    said: 'said',
  },
  {
    form: 'a batch',
    text: '[{"jsonrpc":"2.0","method":null},{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"said"}]}}]',
    said: 'said',
  },
  {
    form: 'levels without number',
    text: `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"said"}],"structuredContent":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`,
    said: 'said\n\n[a value with too many levels was left out]',
  },
  {
    form: 'an error as a text',
    text: '{"jsonrpc":"2.0","id":$ID,"error":"no such thing"}',
    said: 'no such thing',
    isError: true,
  },
  {
    form: 'an error without a code',
    text: '{"jsonrpc":"2.0","id":$ID,"error":{"message":"no such thing"}}',
    said: 'no such thing',
    isError: true,
  },
  {
    form: 'an error with a code as a text',
    text: '{"jsonrpc":"2.0","id":$ID,"result":null,"error":{"code":"E_FAIL","message":"no such thing","data":null}}',
    said: 'no such thing',
    isError: true,
  },
  {
    form: 'an error without words',
    text: '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":null,"data":"no such thing"}}',
    said: 'no such thing',
    isError: true,
  },
  {
    form: 'an error without an id',
    text: '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"no such thing"}}',
    said: 'no such thing',
    isError: true,
  },
];

test('an answer in an odd form is read, and its call is sent once, over HTTP and as a process (G43)', async () => {
  const names = READABLE.map((_form, at) => `t${at}`);
  const tools = names.map((name) => tool(name, { annotations: { readOnlyHint: true } }));
  const answers = Object.fromEntries(READABLE.map(({ text }, at) => [`t${at}`, { text }]));
  const list = listOf(...tools);
  const [far, own] = [await openOdd({ list, answers }), await openOddProcess({ list, answers })];
  for (const [at, { form, said, isError = false }] of READABLE.entries()) {
    const [ofProcess] = await own.call([{ tool: `odd__t${at}` }], `s${at}`);
    for (const result of [await far.call(`t${at}`, {}, `s${at}`), ofProcess]) {
      expect(result, form).toMatchObject({ isError, status: isError ? 'failed' : 'done' });
      expect(result?.text, form).toContain(said);
    }
  }
  expect(far.server.runs).toHaveLength(READABLE.length);
  expect(await own.server.runs()).toHaveLength(READABLE.length);
});

test('an answer counts whatever status and type it has; a body that ends early is a lost connection (G11, G43)', async () => {
  const said = answerWith({ content: [{ type: 'text', text: 'said' }] });
  const event = {
    text: `event: message\ndata: ${said.text.replace('"jsonrpc":"2.0",', '')}\n\n`,
    type: 'text/event-stream',
  };
  const answers = {
    untyped: { ...said, type: '' },
    plain: { ...said, type: 'text/plain' },
    accepted: { ...said, status: 202 },
    failed: { ...said, status: 500 },
    event,
    early: { text: said.text.slice(0, -9) },
    other: { text: said.text.replace('$ID', '99') },
  };
  const rig = await openOdd({ list: listOf(...Object.keys(answers).map((name) => tool(name))), answers });
  for (const name of ['untyped', 'plain', 'accepted', 'failed', 'event'])
    expect(await rig.call(name, {}, name), name).toMatchObject({
      status: 'done',
      text: expect.stringContaining('said'),
    });
  for (const name of ['early', 'other'])
    expect(await rig.call(name, {}, name), name).toMatchObject({ status: 'unknown' });
  expect(rig.server.runs).toHaveLength(7);
});

test('text and structured content are both shown, unless they are the same, and a mismatch is a note (G43)', async () => {
  const outputSchema = { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] };
  const text = (words: string) => [{ type: 'text', text: words }];
  const answers = {
    both: answerWith({ content: text('It is warm.'), structuredContent: { degrees: 30 } }),
    same: answerWith({ content: text('{ "degrees": 30 }'), structuredContent: { degrees: 30 } }),
    unfit: answerWith({ content: text('It is warm.'), structuredContent: { degrees: 'warm' } }),
    without: answerWith({ content: text('It is warm.') }),
    long: answerWith({ content: text('x'.repeat(60_000)), structuredContent: { degrees: 30 } }),
  };
  const rig = await openOdd({
    list: listOf(...Object.keys(answers).map((name) => tool(name, { outputSchema }))),
    answers,
  });
  const said = async (name: string) => (await rig.call(name, {}, name))?.text.split('\n').slice(1, -1).join('\n');
  expect(await said('both')).toBe('It is warm.\n\n{"degrees":30}');
  expect(await said('same')).toBe('{ "degrees": 30 }');
  expect(await said('unfit')).toBe(
    'It is warm.\n\n{"degrees":"warm"}\n\n[the structured content does not fit the schema that the tool gives for it: /degrees must be number]',
  );
  expect(await said('without')).toContain('[the result has no structured content, although the tool says that it has]');
  const long = await said('long');
  expect(long).toContain('{"degrees":30}');
  expect(long?.length).toBeLessThan(40_000);
});

test('a session that the server does not know is begun again, and a text about sessions is a text (G11, G43)', async () => {
  const answers = {
    said: answerWith({ content: [{ type: 'text', text: 'Session not found' }], isError: true }),
    failed: { text: '{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"Session not found"}}' },
  };
  const list = listOf(tool('plain'), tool('said'), tool('failed'));
  const rig = await openOdd({ list, answers, hasSessions: true });
  await rig.call('plain');
  rig.server.forgetSessions();
  expect(await rig.call('plain')).toMatchObject({ status: 'done' });
  expect(await rig.call('said')).toMatchObject({ status: 'failed', isError: true });
  expect(await rig.call('failed')).toMatchObject({ status: 'failed', isError: true });
  expect(rig.server.runs).toHaveLength(4);
});

test('pictures in results are scaled, have their real type, or are left out with a note (G43)', async () => {
  const png = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: '#a00' } })
      .png()
      .toBuffer();
  const small = (await png(20, 20)).toString('base64');
  const jpeg = (
    await sharp(await png(20, 20))
      .jpeg()
      .toBuffer()
  ).toString('base64');
  const image = (data: string, mimeType?: string) => ({ type: 'image', data, mimeType });
  const content = [
    image((await png(1_000, 9_000)).toString('base64'), 'image/png'),
    image(jpeg, 'IMAGE/JPG'),
    image(small.replaceAll(/.{20}/g, '$&\r\n'), 'image/jpeg'),
    { type: 'resource', resource: { uri: 'file:///a', blob: small } },
    image(small.slice(0, 60), 'image/png'),
    image('bm90IGEgcGljdHVyZQ==', 'image/png'),
  ];
  const rig = await openOdd({ list: listOf(tool('draw')), answers: { draw: answerWith({ content }) } });
  const result = await rig.call('draw');
  expect(result).toMatchObject({ status: 'done', isError: false });
  const blocks = JSON.parse(result?.text ?? '[]') as {
    type: string;
    text?: string;
    source?: { media_type: string; data: string };
  }[];
  const images = blocks.flatMap(({ source }) => source ?? []);
  expect(images.map(({ media_type: type }) => type)).toEqual(['image/png', 'image/jpeg', 'image/png', 'image/png']);
  const sizes = await Promise.all(
    images.map(async ({ data }) => (await sharp(Buffer.from(data, 'base64')).metadata()).height),
  );
  expect(sizes).toEqual([1_200, 20, 20, 20]);
  const texts = blocks.flatMap(({ text = [] }) => text);
  expect(texts.at(-1)).toBe('[image left out: its PNG data cannot be decoded]');
  expect(texts[0]).toContain('[image of type image/png, 15 bytes, left out]');
  // The next request has the pictures, and the model takes them.
  expect(await rig.call('draw')).toMatchObject({ status: 'done' });
});
