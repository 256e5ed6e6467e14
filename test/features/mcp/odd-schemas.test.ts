// Tools whose schemas the APIs of models refuse: each API gets what it takes, and the server, the
// ledger and the transcript have the keys of the tool.
import { expect, onTestFinished, test } from 'vitest';
import { startScriptedModel } from '../../../scripted-model/scripted-model.ts';
import { deriveRequest } from '../../../src/kernel/turn/open/derive-request.ts';
import { ModelError } from '../../../src/model/model.ts';
import { nameRefusedTool } from '../../../src/model/create-model.ts';
import { readModelCalls } from '../../rows/calls.ts';
import { readEntries } from '../../rows/entries.ts';
import { readTurns } from '../../rows/turns.ts';
import { rigWith } from './mcp-rig.ts';
import { serveOdd } from './odd-server.ts';

const KEYS = {
  type: 'object',
  properties: { $top: { type: 'integer' }, 'filter[id]': { type: 'object', properties: { 'a b': {} } } },
  required: ['$top'],
};
const UNION = {
  type: 'object',
  oneOf: [{ properties: { q: { type: 'string' } }, required: ['q'] }, { $ref: '#/$defs/other' }],
  $defs: { other: { $ref: '#/$defs/id', title: 'Other' }, id: { properties: { id: { type: 'integer' } } } },
};
const LOOSE = { properties: { list: { type: 'array' }, any: { type: 'any' }, no: null }, required: null, anyOf: [] };

/** What the model writes, and what the tools get. */
const WRITTEN = {
  odd__keys: { _top: 5, filter_id_: { a_b: 1 } },
  odd__union: { input: { q: 'x' } },
  odd__loose: { list: [1] },
};
const OWN = { odd__keys: { $top: 5, 'filter[id]': { 'a b': 1 } }, odd__union: { q: 'x' }, odd__loose: { list: [1] } };

test.each([
  'anthropic/claude-sonnet-5-5',
  'openai/gpt-5.5',
  'local/qwen',
  'google/gemini-3.1-pro-preview',
  'xai/grok-4.5',
])('%s takes the tools of a server with odd schemas, and requests can be made again (G43)', async (model) => {
  const scripted = await startScriptedModel();
  onTestFinished(() => scripted.close());
  const tools = Object.entries({ keys: KEYS, union: UNION, loose: LOOSE });
  const list = JSON.stringify({ tools: tools.map(([name, inputSchema]) => ({ name, inputSchema })) });
  const server = await serveOdd({ list, answers: {} });
  onTestFinished(() => server.close());
  const at = { apiKey: 'test', baseUrl: `${scripted.url}/v1` };
  const providers = {
    openai: at,
    xai: at,
    google: { apiKey: 'test', baseUrl: `${scripted.url}/v1beta` },
    local: { api: 'openai-compatible', baseUrl: at.baseUrl },
  };
  const rig = await rigWith({ odd: { url: server.url } }, { settings: { models: { providers } } });
  for (const words of ['first', 'second']) {
    const calls = Object.entries(WRITTEN).map(([name, input]) => `[[tool: ${name} ${JSON.stringify(input)}]]`);
    await rig.send('main', `${words} ${calls.join(' & ')}`, { model });
    await rig.runs.run('main');
  }
  const turns = await readTurns(rig, {});
  expect(turns.map(({ status, error }) => ({ status, error }))).toEqual(
    Array(2).fill({ status: 'completed', error: null }),
  );
  expect(server.inputs).toHaveLength(6);
  expect(server.inputs).toEqual(expect.arrayContaining(Object.values(OWN)));
  const answers = await readEntries(rig, { kind: 'answer' }, 'content');
  const stored = answers.flatMap(({ content }) => content as { type: string; name: string; input: object }[]);
  for (const { name, input } of stored.filter(({ type }) => type === 'tool_use'))
    expect(input).toEqual(OWN[name as keyof typeof OWN]);
  const worker = rig.worker();
  worker.stop();
  const { writeBody } = worker.context.models.client;
  const made = await readModelCalls(rig, {});
  expect(made).toHaveLength(4);
  for (const { turnId, callNo } of made)
    expect(
      await deriveRequest(rig.database, { turnId, callNo, defaultThinking: () => 'off', writeBody }),
    ).toMatchObject({ matches: true });
});

test.each([
  'tools.1.custom.input_schema: JSON schema is invalid.',
  "Invalid schema for function 'wiki__search': In context=(), array schema missing items.",
  "Invalid value at 'tools[0].function_declarations[1].parameters_json_schema'",
])('a refusal of a tool names it and its server: %s', (message) => {
  const error = new ModelError({ type: 'invalid_request_error', status: 400, retryAfterMs: null, message });
  const named = nameRefusedTool(error, [{ name: 'read' }, { name: 'wiki__search' }]) as ModelError;
  expect(named).toMatchObject({ status: 400, type: 'invalid_request_error' });
  expect(named.message).toContain(message);
  expect(named.message).toContain('the tool wiki__search of the MCP server wiki');
});
