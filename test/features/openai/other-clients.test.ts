// Goal: clients and coding agents that others wrote work unchanged. Method: a whole service with
// the scripted model; the AI SDK and OpenAI's agents as applications use them, and the shapes of
// requests that Codex CLI, Qwen Code and LibreChat send.
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIProvider, Runner, tool as agentTool, type AgentInputItem } from '@openai/agents';
import { generateText, isStepCount, tool, type ModelMessage } from 'ai';
import OpenAI from 'openai';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runCli } from '../../cli/run-cli.ts';
import { readEntries } from '../../rows/entries.ts';
import { removeEvents } from '../../rows/events.ts';
import { apiKey, openServiceRig } from '../../service/rig/service-rig.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const OTHER_KEY = 'hf_another_key_0123456789';
const holder = {} as { rig: Awaited<ReturnType<typeof openServiceRig>>; url: string };
shareAmongTests(async (onEnd) => {
  holder.rig = await openServiceRig({
    queue: 'postgres',
    config: {
      lanes: { main: 8 },
      api: { keys: [{ name: 'other', key: OTHER_KEY }] },
      agents: {
        list: [
          { id: 'main' },
          { id: 'plain', tools: { allow: [] } },
          { id: 'offline', tools: { deny: ['web_search'] } },
        ],
      },
      tools: { search: { searxng: { baseUrl: 'http://127.0.0.1:9' } } },
    },
  });
  onEnd(() => holder.rig.close());
  holder.url = (await holder.rig.start('api,worker,scheduler')).url;
});

let openai: OpenAI;
beforeAll(() => {
  openai = new OpenAI({ baseURL: `${holder.url}/openai/v1`, apiKey, maxRetries: 0 });
});

interface SentBody {
  tools: { name: string; description: string; input_schema: object }[];
  messages: { role: string; content: { type: string; name?: string; text?: string }[] }[];
  tool_choice?: object;
}

const lastSent = (): SentBody => holder.rig.model.requests.at(-1)?.body as SentBody;
const toolNames = (): string[] => lastSent().tools.map(({ name }) => name);
const said = (): string => JSON.stringify(lastSent().messages);
const calledNames = (): (string | undefined)[] =>
  lastSent().messages.flatMap(({ content }) =>
    content.filter(({ type }) => type === 'tool_use').map(({ name }) => name),
  );

/** The request of a turn is derived again, byte for byte. */
async function expectDerivable(turnId: string | null): Promise<void> {
  const asked = ['turns', 'request', turnId ?? '', '1', '--json', '--url', holder.url];
  const { stdout } = await runCli(asked, { env: { HOLDFAST_API_KEY: apiKey } });
  expect(JSON.parse(stdout)).toMatchObject({ matches: true });
}

const refusal = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );

type ResponseBody = OpenAI.Responses.ResponseCreateParamsNonStreaming;
const respond = (body: object, client = openai) =>
  client.responses.create({ model: 'holdfast', ...body } as ResponseBody).withResponse();
const chat = (body: object) =>
  openai.chat.completions
    .create({ model: 'holdfast', ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    .withResponse();

const fn = (name: string) => ({
  type: 'function',
  name,
  strict: false,
  parameters: { type: 'object', properties: {} },
});

describe('the AI SDK', () => {
  /** Its provider with the settings that it has by itself, and what it sends. */
  function sdk() {
    const bodies: string[] = [];
    const provider = createOpenAI({
      baseURL: `${holder.url}/openai/v1`,
      apiKey,
      fetch: (url, init) => {
        bodies.push(typeof init?.body === 'string' ? init.body : '');
        return fetch(url, init);
      },
    });
    return { model: provider('holdfast'), bodies };
  }

  test('holds a conversation, in which it names the answers by their ids', async () => {
    const { model, bodies } = sdk();
    const messages: ModelMessage[] = [{ role: 'user', content: 'My name is Ada. [[reply: Hello Ada.]]' }];
    const first = await generateText({ model, messages });
    messages.push(...first.response.messages, { role: 'user', content: 'And now? [[reply: Water the trees.]]' });
    const second = await generateText({ model, messages });
    expect([first.text, second.text]).toEqual(['Hello Ada.', 'Water the trees.']);
    expect(bodies.at(-1)).toContain('item_reference');
    expect(said()).toContain('"Hello Ada."');
  });

  test('runs its tools after a text, also when they are named like those of the agent', async () => {
    const { model, bodies } = sdk();
    const read = tool({ inputSchema: z.object({ path: z.string() }), execute: ({ path }) => `contents of ${path}` });
    const { text } = await generateText({
      model,
      tools: { read },
      stopWhen: isStepCount(3),
      prompt: 'Go [[reply: Let me look.]] [[tool: client_read {"path": "a.txt"}]] [[reply: Done.]]',
    });
    expect(text).toBe('Done.');
    expect(bodies.at(-1)).toContain('item_reference');
    expect(said()).toContain('contents of a.txt');
  });
});

describe('an item that a request names by its id', () => {
  const refer = (id: string) => ({
    input: [
      { type: 'item_reference', id },
      { role: 'user', content: 'x [[reply: y]]' },
    ],
  });

  test('is one that its API key has been given, and that was not deleted', async () => {
    const { data } = await respond({ input: 'Hi [[reply: Hello.]]' });
    const [item] = data.output;
    const id = item?.id ?? '';
    await respond(refer(id));
    expect(said()).toContain('"Hello."');
    // Its type need not be said.
    await respond({ input: [{ id }, { role: 'user', content: 'x [[reply: y]]' }] });
    expect(said()).toContain('"Hello."');
    const unknown = { status: 404, code: 'not_found', param: 'input[0].id' };
    const stranger = new OpenAI({ baseURL: `${holder.url}/openai/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
    expect(await refusal(respond(refer(id), stranger))).toMatchObject(unknown);
    for (const other of ['x', `${id}_7`, id.replace('msg_', 'fc_'), `${id.replace('msg_', 'fc_')}_1`])
      expect([other, await refusal(respond(refer(other)))]).toMatchObject([other, unknown]);
    await openai.responses.delete(data.id);
    expect(await refusal(respond(refer(id)))).toMatchObject(unknown);
  });

  test('is gone with its session', async () => {
    const { data, response } = await respond({ input: 'Hi [[reply: Hello.]]' });
    const key = response.headers.get('x-holdfast-session-key') ?? '';
    const erased = await fetch(`${holder.url}/v1/sessions/${encodeURIComponent(key)}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${apiKey}` },
    });
    expect(erased.ok).toBe(true);
    expect(await refusal(respond(refer(data.output[0]?.id ?? '')))).toMatchObject({ status: 404 });
  });

  test('is a call of the client', async () => {
    const { data, response } = await respond({
      input: 'Go [[reply: First.]] [[tool: weather {"n": 1}]] [[reply: Done.]]',
      tools: [fn('weather')],
    });
    const [text, call] = data.output as { id: string; call_id: string }[];
    const { data: last } = await respond({
      input: [
        { type: 'item_reference', id: text?.id },
        { type: 'item_reference', id: call?.id },
        { type: 'function_call_output', call_id: call?.call_id, output: 'sun' },
      ],
      tools: [fn('weather')],
    });
    expect(last.output_text).toBe('Done.');
    // It is in its response as long as the rows of the turn are.
    expect((await openai.responses.retrieve(data.id)).output).toEqual(data.output);
    await removeEvents(holder.rig, { turnId: response.headers.get('x-holdfast-turn-id') });
    expect((await openai.responses.retrieve(data.id)).output).toEqual(data.output);
    // The text of the second response begins after the results.
    await respond(refer(last.output[0]?.id ?? ''));
    expect(said()).toContain('"Done."');
    expect(said()).not.toContain('First.');
  });
});

test('the conversation of a response is in it', async () => {
  const { data } = await respond({ input: 'Hi [[reply: Hello.]]', conversation: 'diary' });
  expect(data.conversation).toEqual({ id: 'diary' });
  expect(await openai.responses.retrieve(data.id)).toMatchObject({ conversation: { id: 'diary' } });
  expect((await respond({ input: 'Hi [[reply: Hello.]]', conversation: { id: 'diary' } })).data).toMatchObject({
    conversation: { id: 'diary' },
  });
});

// The functions of Qwen Code and opencode.
const CODING = ['edit', 'glob', 'grep', 'read', 'web_fetch', 'web_search', 'write', 'bash', 'todo_write', 'exec'];
const functions = (names: readonly string[]) =>
  names.map((name) => ({ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } }));

describe('functions of a client that are named like tools of the agent', () => {
  test('are the client’s under another name: in choices, histories, streams and results', async () => {
    const messages: object[] = [
      { role: 'system', content: 'You are a coding agent.' },
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"file_path":"a"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'A' },
      { role: 'assistant', content: 'It says A.' },
      { role: 'user', content: 'And b? [[tool: client_read {"file_path": "b"}]] [[reply: It says B.]]' },
    ];
    const asked = {
      model: 'holdfast',
      messages,
      tools: functions(CODING),
      tool_choice: { type: 'function', function: { name: 'read' } },
      stream: true,
      stream_options: { include_usage: true },
      metadata: { sessionId: 's', promptId: 'p' },
    } as OpenAI.ChatCompletionCreateParamsStreaming;
    const { data: stream, response } = await openai.chat.completions.create(asked).withResponse();
    const calls: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    for await (const { choices } of stream) calls.push(...(choices[0]?.delta.tool_calls ?? []));
    expect(calls).toMatchObject([{ type: 'function', function: { name: 'read', arguments: '{"file_path":"b"}' } }]);
    const names = toolNames();
    for (const name of ['read', 'client_read', 'client_exec', 'bash', 'todo_write']) expect(names).toContain(name);
    expect(new Set(names).size).toBe(names.length);
    expect(calledNames()).toEqual(['client_read']);
    expect(lastSent().tool_choice).toMatchObject({ type: 'tool', name: 'client_read' });
    await expectDerivable(response.headers.get('x-holdfast-turn-id'));

    const [call] = calls;
    messages.push(
      { role: 'assistant', content: null, tool_calls: [{ id: call?.id, type: 'function', function: call?.function }] },
      { role: 'tool', tool_call_id: call?.id, content: 'B' },
    );
    const { data } = await chat({ messages, tools: functions(CODING) });
    expect(data.choices[0]?.message.content).toBe('It says B.');
    expect(calledNames()).toEqual(['client_read', 'client_read']);
  });

  test('keep their names where the agent has no such tool', async () => {
    const { data, response } = await chat({
      model: 'holdfast:plain',
      messages: [{ role: 'user', content: 'Go [[tool: read {"file_path": "b"}]]' }],
      tools: functions(CODING),
    });
    expect(data.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: 'read' } }]);
    expect(toolNames()).toEqual(CODING);
    await expectDerivable(response.headers.get('x-holdfast-turn-id'));
  });

  test('have names of at most 64 characters that nothing else has', async () => {
    const long = `read_${'x'.repeat(59)}`;
    const names = ['read', 'Read', 'client_read', 'constructor', '__proto__', long];
    await chat({ messages: [{ role: 'user', content: 'Go [[reply: Done.]]' }], tools: functions(names) });
    const sent = toolNames();
    expect(sent.slice(-names.length)).toEqual([
      'client_read_2',
      'client_Read_3',
      'client_read',
      'constructor',
      '__proto__',
      long,
    ]);
  });
});

test('one of two calls is made when the client runs one tool at a time, and its result is enough', async () => {
  const messages: object[] = [
    { role: 'user', content: 'Go [[tool: bash {"n": 1}]] & [[tool: bash {"n": 2}]] [[reply: Done.]]' },
  ];
  const asked = { tools: functions(['bash']), parallel_tool_calls: false };
  const { data } = await chat({ ...asked, messages });
  const called = data.choices[0]?.message;
  expect(called?.tool_calls).toHaveLength(1);
  const result = { role: 'tool', tool_call_id: called?.tool_calls?.[0]?.id, content: 'ok' };
  const last = await chat({ ...asked, messages: [...messages, called, result] });
  expect(last.data.choices[0]?.message.content).toBe('Done.');
});

// The request of Codex CLI: its fields, its tools and its items.
const GRAMMAR = 'start: "*** Begin Patch" LF "*** End Patch"';
const CODEX = {
  instructions: 'You are a coding agent.',
  tools: [
    fn('exec_command'),
    fn('update_plan'),
    {
      type: 'custom',
      name: 'apply_patch',
      description: 'Edits files.',
      format: { type: 'grammar', syntax: 'lark', definition: GRAMMAR },
    },
    {
      type: 'namespace',
      name: 'mcp__docs__',
      description: 'Tools in the mcp__docs__ namespace.',
      tools: [fn('search'), fn('exec_command')],
    },
    { type: 'web_search', external_web_access: true },
    { type: 'local_shell' },
    { type: 'image_generation', output_format: 'png' },
    {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds tools.',
      parameters: { type: 'object', properties: {} },
    },
  ],
  tool_choice: 'auto',
  parallel_tool_calls: false,
  reasoning: { effort: 'medium', summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: '0190',
  service_tier: 'auto',
  text: { verbosity: 'low' },
  client_metadata: { 'x-codex-installation-id': '1' },
};
const input = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });

describe('Codex CLI', () => {
  test('calls its tools of every kind, over several requests', async () => {
    const items: object[] = [
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Sandboxed.' }] },
      input(
        'Go [[reply: Looking.]] [[tool: mcp__docs____search {"q": "x"}]] [[tool: apply_patch {"input": "*** Begin Patch"}]] [[reply: Done.]]',
      ),
    ];
    const ask = async () => {
      const stream = await openai.responses.create({
        model: 'holdfast',
        ...CODEX,
        input: items,
        stream: true,
      } as OpenAI.Responses.ResponseCreateParamsStreaming);
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of stream) events.push(event);
      expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, n) => n));
      return events;
    };
    const done = (events: OpenAI.Responses.ResponseStreamEvent[]) =>
      events.flatMap((event) =>
        event.type === 'response.output_item.done' ? [event.item as { type: string; call_id: string }] : [],
      );
    const first = await ask();
    const [text, search] = done(first);
    expect(search).toMatchObject({
      type: 'function_call',
      namespace: 'mcp__docs__',
      name: 'search',
      arguments: '{"q":"x"}',
    });
    const { tools } = lastSent();
    expect(tools.find(({ name }) => name === 'apply_patch')).toMatchObject({
      description: expect.stringContaining(GRAMMAR),
      input_schema: { required: ['input'] },
    });
    expect(toolNames()).toContain('mcp__docs____exec_command');

    items.push(text ?? {}, search ?? {}, {
      type: 'function_call_output',
      call_id: search?.call_id,
      output: [{ type: 'input_text', text: 'found' }],
    });
    const second = await ask();
    const [patch] = done(second);
    expect(patch).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch' });
    expect(second.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['response.custom_tool_call_input.delta', 'response.custom_tool_call_input.done']),
    );
    items.push(patch ?? {}, { type: 'custom_tool_call_output', call_id: patch?.call_id, output: 'Success' });
    const last = (await ask()).at(-1);
    expect(last?.type === 'response.completed' && last.response.output).toMatchObject([
      { content: [{ text: 'Done.' }] },
    ]);
    expect(said()).toContain('found');
    expect(said()).toContain('Success');
  });

  test('continues with a history of its own, and is told what was left out', async () => {
    const image =
      'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const { response } = await respond({
      ...CODEX,
      input: [
        input('Find it.'),
        { type: 'reasoning', summary: [], encrypted_content: 'xyz' },
        { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'it' } },
        { type: 'function_call', namespace: 'mcp__docs__', name: 'exec_command', arguments: '{}', call_id: 'c1' },
        { type: 'custom_tool_call', name: 'apply_patch', input: 'patch', call_id: 'c2' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: image }] },
        { type: 'custom_tool_call_output', call_id: 'c2', output: 'Success' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] },
        input('Go on. [[reply: Sure.]]'),
      ],
    });
    const ignored = response.headers.get('x-holdfast-ignored')?.split(', ');
    expect(ignored).toEqual(expect.arrayContaining(['tools[5]', 'tools[6]', 'tools[7]', 'input.web_search_call']));
    // The agent searches the web itself.
    expect(ignored).not.toContain('tools[4]');
    expect(toolNames()).toContain('web_search');
    expect(calledNames()).toEqual(['mcp__docs____exec_command', 'apply_patch']);
    expect(said()).toContain(image.slice(-40));
    await expectDerivable(response.headers.get('x-holdfast-turn-id'));
  });
});

describe('a choice of tools', () => {
  const asked = {
    input: 'Go [[reply: Done.]]',
    tools: [fn('web_search'), fn('a'), fn('b'), { type: 'web_search' }, { type: 'file_search' }],
  };

  test('names functions, or a tool of the agent for one of OpenAI', async () => {
    for (const [tool_choice, sent] of [
      [{ type: 'web_search_preview' }, { type: 'tool', name: 'web_search' }],
      [
        { type: 'function', name: 'web_search' },
        { type: 'tool', name: 'client_web_search' },
      ],
      ['required', { type: 'any' }],
      ['none', { type: 'none' }],
    ] as const) {
      await respond({ ...asked, tool_choice });
      expect(lastSent().tool_choice).toMatchObject(sent);
    }
    const choice = (error: unknown) =>
      expect(error).toMatchObject({ status: 400, param: expect.stringMatching(/^tool_choice/) });
    choice(await refusal(respond({ ...asked, tool_choice: { type: 'file_search' } })));
    choice(await refusal(respond({ ...asked, tool_choice: { type: 'computer' } })));
    choice(await refusal(respond({ ...asked, model: 'holdfast:offline', tool_choice: { type: 'web_search' } })));
    choice(await refusal(respond({ ...asked, tools: [{ type: 'file_search' }], tool_choice: 'required' })));
    choice(await refusal(respond({ ...asked, tool_choice: { type: 'function', name: 'c' } })));
    const { response } = await respond({ ...asked, model: 'holdfast:offline' });
    expect(response.headers.get('x-holdfast-ignored')).toContain('tools[3]');
  });

  test('may allow some of them, in both forms', async () => {
    const allowed = [
      { type: 'function', name: 'a' },
      { type: 'function', name: 'b' },
    ];
    await respond({ ...asked, tool_choice: { type: 'allowed_tools', mode: 'auto', tools: allowed } });
    expect(lastSent().tool_choice).toBeUndefined();
    expect(toolNames().slice(-2)).toEqual(['a', 'b']);
    expect(toolNames()).not.toContain('client_web_search');
    await respond({ ...asked, tool_choice: { type: 'allowed_tools', mode: 'required', tools: allowed } });
    expect(lastSent().tool_choice).toMatchObject({ type: 'any' });
    const one = { mode: 'required', tools: [{ type: 'custom', custom: { name: 'patch' } }] };
    const { data } = await chat({
      messages: [{ role: 'user', content: 'Go [[tool: patch {"input": "text"}]]' }],
      tools: [
        ...functions(['a']),
        {
          type: 'custom',
          custom: { name: 'patch', format: { type: 'grammar', grammar: { syntax: 'regex', definition: '.*' } } },
        },
      ],
      tool_choice: { type: 'allowed_tools', allowed_tools: one },
    });
    expect(lastSent().tool_choice).toMatchObject({ type: 'tool', name: 'patch' });
    expect(toolNames()).not.toContain('a');
    expect(data.choices[0]?.message.tool_calls).toMatchObject([
      { type: 'custom', custom: { name: 'patch', input: 'text' } },
    ]);
  });
});

describe('OpenAI’s agents', () => {
  test('run a tool that is named like one of the agent, and continue', async () => {
    const runner = new Runner({
      modelProvider: new OpenAIProvider({ openAIClient: openai as never, useResponses: true }),
      tracingDisabled: true,
    });
    const read = agentTool({
      name: 'read',
      description: 'Reads.',
      parameters: z.object({ path: z.string() }),
      execute: ({ path }) => `contents of ${path}`,
    });
    const agent = new Agent({ name: 'Reader', instructions: 'Read.', model: 'holdfast', tools: [read] });
    const first = await runner.run(agent, 'Go [[tool: client_read {"path": "a.txt"}]] [[reply: Read it.]]');
    expect(first.finalOutput).toBe('Read it.');
    expect(said()).toContain('contents of a.txt');
    const next: AgentInputItem[] = [...first.history, { role: 'user', content: 'More? [[reply: No.]]' }];
    expect((await runner.run(agent, next)).finalOutput).toBe('No.');
    expect(calledNames()).toEqual(['client_read']);
  });
});

test('two chats of a LibreChat user that take turns do not see each other', async () => {
  const chats = ['red', 'blue'].map((color) => ({ color, key: '', messages: [] as object[] }));
  for (let n = 1; n <= 3; n += 1) {
    for (const one of chats) {
      // Both begin with the same words.
      const text = n === 1 ? 'Hi [[reply: Hello.]]' : `${one.color} ${n} [[reply: ${one.color}.]]`;
      one.messages.push({ role: 'user', content: text });
      const { data, response } = await chat({
        user: '66f0c0ffee',
        messages: one.messages,
        temperature: 1,
        top_p: 1,
        presence_penalty: 0,
      });
      one.messages.push({ role: 'assistant', content: data.choices[0]?.message.content });
      const other = one.color === 'red' ? 'blue' : 'red';
      expect(said()).not.toContain(`${other} 2`);
      const key = response.headers.get('x-holdfast-session-key') ?? '';
      if (n === 3) expect(key).toBe(one.key);
      one.key = key;
    }
  }
  expect(chats[0]?.key).not.toBe(chats[1]?.key);
  const entries = await readEntries(holder.rig, { sessionKey: chats[0]?.key ?? '' }, 'kind');
  expect(entries).toHaveLength(6);
});

describe('a history that is odd', () => {
  const results = [
    { role: 'tool', tool_call_id: 'a', content: 'sun' },
    { role: 'user', content: 'Stop. [[reply: Stopped.]]' },
  ];
  const call = (id: string) => ({ id, type: 'function', function: { name: 'weather', arguments: '{}' } });

  test('may end with results and a new message, as that of a client that was interrupted', async () => {
    const { data } = await chat({
      messages: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
        ...results,
      ],
    });
    expect(data.choices[0]?.message.content).toBe('Stopped.');
    expect(said()).toMatch(/sun.*No result: a new message came instead/);
    const answered = await respond({
      input: [
        { role: 'user', content: 'Weather?' },
        { type: 'function_call', call_id: 'a', name: 'weather', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'sun' },
        { role: 'user', content: 'Stop. [[reply: Stopped.]]' },
      ],
    });
    expect(answered.data.output_text).toBe('Stopped.');
    expect(said()).toContain('sun');
  });

  test('whose calls a turn of the same session still waits for sends the results first', async () => {
    const headers = { 'x-holdfast-session-key': 'odd-history' };
    const create = (messages: object[]) =>
      openai.chat.completions.create({ model: 'holdfast', messages, tools: functions(['weather']) } as never, {
        headers,
      });
    const asked = { role: 'user', content: 'Weather? [[tool: weather {}]] [[reply: Sun.]]' };
    const { choices } = (await create([asked])) as OpenAI.ChatCompletion;
    const called = choices[0]?.message;
    const late = [asked, called ?? {}, { ...results[0], tool_call_id: called?.tool_calls?.[0]?.id }, results[1] ?? {}];
    expect(await refusal(create(late))).toMatchObject({ status: 400, param: 'messages[3]' });
    // Without the session, it is a new one.
    const { data } = await chat({ messages: late });
    expect(data.choices[0]?.message.content).toBe('Stopped.');
  });

  test('may have nothing but a system message', async () => {
    const { data } = await chat({ messages: [{ role: 'system', content: 'Name this chat. [[reply: Weather.]]' }] });
    expect(data.choices[0]?.message.content).toBe('Weather.');
    const { data: response } = await respond({
      input: [{ role: 'developer', content: 'Name it. [[reply: Weather.]]' }],
    });
    expect(response.output_text).toBe('Weather.');
  });
});
