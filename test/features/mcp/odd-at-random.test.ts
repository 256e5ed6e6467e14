// Goal: whatever one field of a server is, it costs only itself. Method: servers whose definitions,
// results, errors or introduction have one field that is absent, null, of another type, doubled or
// huge; each is listed and called as a worker does it, then called again.
import { expect, onTestFinished, test } from 'vitest';
import { Connections } from '../../../src/features/mcp/connections.ts';
import { createMcpTool } from '../../../src/features/mcp/mcp-tool.ts';
import { judgeTools } from '../../../src/features/mcp/rules.ts';
import type { McpServerSettings } from '../../../src/config.ts';
import { createLogger } from '../../../src/logger.ts';
import { fitTools } from '../../../src/model/stream/fit-tools.ts';
import { createToolset } from '../../../src/tools/toolset.ts';
import { schemaFaultOf } from '../../../scripted-model/schema-fault.ts';
import { runTool } from '../../../src/tools/run-tool.ts';
import type { ToolCall } from '../../../src/tools/tool.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { randomOf, seedOfRun } from '../../crash/rig/random-of.ts';
import { serveOdd, type OddAnswer } from './odd-server.ts';

const SERVERS = isLongForm() ? 3_000 : 100;
const SAID = 'what a person reads';

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Pick = <Item>(items: readonly Item[]) => Item;
type Fields = { [key: string]: Json };

const DEFINITION: Fields = {
  name: 'odd',
  title: 'Odd',
  description: 'An odd tool',
  inputSchema: {
    type: 'object',
    properties: { $top: { type: 'integer', minimum: 1 }, list: { type: 'array', items: { type: 'string' } } },
    required: ['$top'],
    additionalProperties: false,
    $defs: { one: { type: 'string' } },
    anyOf: [{ required: ['list'] }],
  },
  outputSchema: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] },
  annotations: { title: 'Odd', readOnlyHint: false, idempotentHint: false, destructiveHint: true, openWorldHint: true },
  execution: { taskSupport: 'forbidden' },
  icons: [{ src: 'https://example.com/a.png', mimeType: 'image/png', sizes: ['48x48'] }],
  _meta: { a: 1 },
};
const RESULT: Fields = {
  content: [
    { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png', annotations: { audience: ['user'], priority: 1 } },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'demo://1', mimeType: 'text/plain', text: 'a resource' } },
    { type: 'resource', resource: { uri: 'demo://2', mimeType: 'image/png', blob: 'AAAA' } },
    { type: 'resource_link', uri: 'demo://3', name: 'a link', description: 'A link', mimeType: 'text/plain', size: 3 },
  ],
  structuredContent: { degrees: 30, list: [1, { a: 'b' }] },
  isError: false,
  _meta: { a: 1 },
};
const TEXT: Fields = { type: 'text', text: SAID };
const ERROR: Fields = { code: -32_603, message: SAID, data: { a: [1] } };
const SERVER: Fields = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, logging: {}, prompts: { listChanged: false } },
  serverInfo: { name: 'odd', title: 'Odd', version: '1', icons: [] },
  instructions: 'Use it.',
  _meta: { a: 1 },
};

/** The paths of all fields. */
function pathsOf(value: Json, path: string[] = []): string[][] {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return fields.flatMap(([key, inner]) => [[...path, key], ...pathsOf(inner as Json, [...path, key])]);
}

/** The value with one field changed. */
function changeAt(
  value: Json,
  [key = '', ...rest]: readonly string[],
  change: (field: Json) => Json | undefined,
): Json {
  const change1 = (field: Json): Json | undefined =>
    rest.length === 0 ? change(field) : changeAt(field, rest, change);
  if (Array.isArray(value))
    return value.flatMap((item, at) => (String(at) === key ? (change1(item) ?? []) : [item]) as Json[]);
  const entries = Object.entries(value as Fields).map(([name, field]) => [name, name === key ? change1(field) : field]);
  return Object.fromEntries(entries.filter(([, field]) => field !== undefined)) as Fields;
}

const OTHERS: readonly Json[] = [
  true,
  7,
  -1.5,
  'word',
  '',
  [],
  {},
  ['a'],
  { a: 1 },
  [null],
  [[[]]],
  { type: 'object' },
];
const HUGE: readonly Json[] = ['x'.repeat(100_000), Array<Json>(5_000).fill('x'), '\u0000\ud800', 1e300];
const KINDS = ['absent', 'null', 'other', 'doubled', 'huge'] as const;

function oddOf(kind: (typeof KINDS)[number], pick: Pick): (field: Json) => Json | undefined {
  switch (kind) {
    case 'absent':
      return () => undefined;
    case 'null':
      return () => null;
    case 'other':
      return () => pick(OTHERS);
    case 'doubled':
      return (field) => [field, field];
    case 'huge':
      return () => pick(HUGE);
  }
}

/** A server with one odd field, and what has to come of a call to it. */
function makeOdd(pick: Pick) {
  const part = pick(['definition', 'result', 'error', 'message', 'server'] as const);
  const kind = pick(KINDS);
  const change = (value: Fields): { changed: Json; path: string[] } => {
    const path = pick(pathsOf(value));
    return { changed: changeAt(value, path, oddOf(kind, pick)), path };
  };
  const good = { name: 'good', inputSchema: { type: 'object' } };
  const definition = part === 'definition' ? change(DEFINITION) : { changed: DEFINITION, path: [] };
  const twin = part === 'definition' && kind === 'doubled' && pick([true, false]) ? [DEFINITION] : [];
  const list = JSON.stringify({ tools: [good, definition.changed, ...twin] });
  const result = part === 'result' ? change(RESULT) : { changed: RESULT, path: [] };
  // The text is a part of its own, which is never the odd one.
  const content = (result.changed as Fields)['content'];
  const withText = { ...(result.changed as Fields), content: Array.isArray(content) ? [...content, TEXT] : [TEXT] };
  const error = part === 'error' ? change(ERROR) : null;
  const answer = error === null ? { result: withText } : { error: error.changed };
  const message = { jsonrpc: '2.0', id: '$ID', ...answer } as Fields;
  const sent =
    part === 'message' ? changeAt(message, [pick(['jsonrpc', 'id'])], oddOf(pick(['absent', 'null']), pick)) : message;
  const server =
    part === 'server' ? change({ serverInfo: SERVER['serverInfo'] ?? null, instructions: '', _meta: {} }) : null;
  const says = { ...SERVER, ...(server?.changed as Fields | undefined) };
  const json = JSON.stringify(sent).replace('"$ID"', '$ID');
  const text: OddAnswer = pick([true, false])
    ? { text: json }
    : { text: `data: ${json}\n\n`, type: 'text/event-stream' };
  const about = JSON.stringify({
    part,
    kind,
    path: [definition, result, error, server].flatMap((one) => one?.path ?? []),
  });
  const isSaid = error === null || error.path[0] !== 'message';
  return {
    about,
    isError: error !== null,
    isSaid,
    odd: { list, server: JSON.stringify(says), answers: { good: text } },
  };
}

test(`${SERVERS} servers with an odd field lose no tool beside it, no answer and no session, and are sent each call once (G43)`, async () => {
  const seed = seedOfRun();
  const next = randomOf(seed);
  const pick: Pick = (items) => items[Math.floor(next() * items.length)]!;
  const server = await serveOdd({ list: '', answers: {} });
  onTestFinished(() => server.close());
  // What the configuration has of a server over HTTP.
  const settings = {
    url: server.url,
    enabled: true,
    trust: 'none',
    args: [],
    env: {},
    headers: {},
    tools: { deny: [] },
    timeoutSeconds: 60,
  } as unknown as McpServerSettings;
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  for (let n = 1; n <= SERVERS; n += 1) {
    const { about, isError, isSaid, odd } = makeOdd(pick);
    Object.assign(server.odd, odd);
    const words = `server ${n} of seed ${seed}: ${about}`;
    // Only what a server reports, and logins, need the database.
    const connections = new Connections({
      config: undefined as never,
      servers: { odd: settings },
      database: undefined as never,
      logger,
    });
    const { signal } = new AbortController();
    const listed = await connections
      .use('odd', { signal, work: (client) => client.listTools() })
      .catch((fault: unknown) => String(fault));
    expect(listed, words).toBeInstanceOf(Array);
    const tools = judgeTools('odd', settings, listed as Exclude<typeof listed, string>);
    expect(tools.find(({ name }) => name === 'good')?.leftOut, words).toBeNull();
    expect(tools.length, words).toBeGreaterThan(1);
    const offered = tools.filter(({ leftOut }) => leftOut === null);
    const toolset = createToolset({ tools: offered.map((one) => createMcpTool(one, settings, connections)) });
    for (const { input_schema: schema } of fitTools({ tools: toolset.specs, messages: [] }, 'openai').tools) {
      expect(schemaFaultOf(schema), words).toBeNull();
      expect(Object.keys(schema), words).not.toContain('anyOf');
      expect(Object.keys(schema.properties ?? {}), words).not.toContain('$top');
    }
    const [good] = tools.filter(({ name }) => name === 'good').map((one) => createMcpTool(one, settings, connections));
    const call = async (key: string) =>
      await runTool(
        good!,
        {},
        {
          signal,
          sessionKey: 'main',
          idempotencyKey: key,
          lease: { epoch: 1, assertHeld: () => undefined },
        } as ToolCall,
        { timeoutMs: 60_000 },
      );
    server.runs.length = 0;
    const outcome = await call('first');
    expect(outcome, words).not.toHaveProperty('isUnknown');
    if (isError) expect(outcome.isError, words).toBe(true);
    if (isSaid) expect(JSON.stringify(outcome.content), words).toContain(SAID);
    server.odd.answers = {};
    expect(await call('second'), words).toMatchObject({ isError: false });
    expect(server.runs, words).toEqual(['first', 'second']);
    await connections.stop();
  }
}, 300_000);
