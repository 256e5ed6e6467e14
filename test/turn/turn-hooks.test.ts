// Plugins in turns, judged by the requests that a model server received and by the stored rows.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../src/core/model-request.ts';
import type { HookHandlers, LlmInputEvent } from '../../src/plugins/plugin-api.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readEntries } from '../rows/entries.ts';
import { expireLeases } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let database: Awaited<ReturnType<typeof withTestDatabase>>;
let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const fresh = await withTestDatabase();
  onEnd(() => fresh.drop());
  database = fresh;
  rig = await createTurnRig(database.url);
  const made = rig;
  onEnd(() => made.close());
});

interface Received {
  system: { text: string }[];
  messages: ModelMessage[];
}

/** The requests that the model received for a session, oldest first. */
function requestsOf(name: string): Received[] {
  return rig.scripted.requests
    .filter((request) => request.headers['x-holdfast-session'] === `agent:main:${name}`)
    .map(({ body }) => body as Received);
}

function lastRequest(name: string): Received {
  const last = requestsOf(name).at(-1);
  if (last === undefined) throw new Error(`The model received no request for ${name}.`);
  return last;
}

const textsOf = ({ content }: ModelMessage): string[] =>
  content.map((block) => (block.type === 'text' ? block.text : block.type));
const rolesOf = ({ messages }: Received): string => messages.map(({ role }) => role[0]).join('');
const promptOf = ({ messages }: Received): string => textsOf(messages.at(-1) as ModelMessage).join('\n');
const returning =
  (result: object): HookHandlers['before_prompt_build'] =>
  () =>
    result;

/**
 * Runs a message through a worker with these plugins; the text of the message is the script of the
 * model.
 */
async function say(name: string, text: string, plugins?: ReturnType<typeof pluginsWith>['plugins']): Promise<void> {
  const worker = rig.worker(plugins === undefined ? {} : { plugins });
  await rig.send(name, text);
  expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
  worker.stop();
}

async function derivedAs(name: string): Promise<unknown> {
  const turn = (await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id')).at(-1);
  const wanted = { turnId: String(turn?.['id']), callNo: 1, defaultThinking: () => 'off' as const };
  const derived = await deriveRequest(rig.database, wanted);
  return { matches: derived?.matches, messages: derived?.request.messages };
}

describe('the prompt hooks of two plugins', () => {
  test('put their contexts before the prompt and the system prompt, by priority', async () => {
    const { plugins } = pluginsWith([
      ['before_prompt_build', returning({ prependContext: 'B', appendSystemContext: 'END' })],
      ['before_prompt_build', returning({ prependContext: 'A', prependSystemContext: 'TOP' }), { priority: 10 }],
      ['before_agent_start', returning({ prependContext: 'C' }), { priority: 99 }],
    ]);
    await say('contexts', 'hi', plugins);
    const request = lastRequest('contexts');
    expect(promptOf(request)).toBe('A\n\nB\n\nC\n\nhi');
    expect(request.system[0]?.text).toMatch(/^TOP\n\nYou are a personal assistant/);
    expect(request.system[1]?.text).toMatch(/\n\nEND$/);
  });

  test('replace the system prompt', async () => {
    const { plugins } = pluginsWith([
      ['before_agent_start', returning({ systemPrompt: 'legacy' })],
      ['before_prompt_build', returning({ systemPrompt: 'You are a parrot.' })],
    ]);
    await say('parrot', 'hi', plugins);
    expect(lastRequest('parrot').system).toEqual([
      { type: 'text', text: 'You are a parrot.', cache_control: { type: 'ephemeral' } },
    ]);
  });

  test('receive the prompt as it was written and the history as it will be sent', async () => {
    const seen: { prompt: string; messages: readonly ModelMessage[] }[] = [];
    const { plugins } = pluginsWith([
      ['before_prompt_build', returning({ prependContext: 'not shown' })],
      ['before_agent_start', (event) => void seen.push(event)],
    ]);
    await say('shown', 'first', plugins);
    await say('shown', 'second', plugins);
    expect(seen.map(({ prompt }) => prompt)).toEqual(['first', 'second']);
    expect(seen[0]?.messages).toEqual([]);
    expect(seen[1]?.messages.map(textsOf)).toEqual(lastRequest('shown').messages.slice(0, -1).map(textsOf));
  });
});

describe('injected messages', () => {
  const MEMORIES: HookHandlers['before_agent_start'] = () => ({
    injectMessages: [
      { role: 'assistant', content: [{ type: 'text', text: 'I remember that Ada likes tea.' }] },
      { role: 'assistant', content: 'I remember that Ada lives in Turin.' },
    ],
  });

  test('precede the history, after a first user message, and are not in the transcript', async () => {
    const { plugins } = pluginsWith([['before_agent_start', MEMORIES]]);
    await say('injected', 'first');
    await say('injected', 'second', plugins);
    const request = lastRequest('injected');
    expect(rolesOf(request)).toBe('uauau');
    expect(request.messages.slice(0, 3).map(textsOf)).toEqual([
      ['(session bootstrap)'],
      ['I remember that Ada likes tea.', 'I remember that Ada lives in Turin.'],
      ['first'],
    ]);
    const rows = await readEntries(rig, { sessionId: await rig.sessionOf('injected') }, 'contentText');
    expect(JSON.stringify(rows)).not.toContain('I remember');
  });

  test('disappear when no plugin injects them', async () => {
    const { plugins } = pluginsWith([['before_agent_start', MEMORIES]]);
    await say('forgotten', 'first', plugins);
    await say('forgotten', 'second');
    expect(JSON.stringify(lastRequest('forgotten').messages)).not.toContain('I remember');
  });

  test('with the role user are merged with the first prompt into one message', async () => {
    const { plugins } = pluginsWith([
      ['before_prompt_build', returning({ injectMessages: [{ role: 'user', content: 'earlier' }] })],
    ]);
    await say('meeting', 'hi', plugins);
    expect(lastRequest('meeting').messages.map(textsOf)).toEqual([['earlier', 'hi']]);
  });

  test('with tool calls keep their pairs, and their ids apart from those of the history', async () => {
    const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'look', input: {} };
    const { plugins } = pluginsWith([
      [
        'before_prompt_build',
        returning({
          injectMessages: [
            { role: 'user', content: 'look' },
            { role: 'assistant', content: [call] },
            { role: 'assistant', content: [call] },
            { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
          ],
        }),
      ],
    ]);
    await say('pairs', 'hi', plugins);
    const blocks = lastRequest('pairs').messages.flatMap(({ content }) => content);
    const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
    const results = blocks.flatMap((block) => (block.type === 'tool_result' ? [block.tool_use_id] : []));
    expect(new Set(calls).size).toBe(2);
    expect(results).toEqual(calls);
  });

  test('survive all later steps: a request is derived with them, and with the bytes that were sent', async () => {
    const { plugins } = pluginsWith([['before_agent_start', MEMORIES]]);
    await say('derived', 'first', plugins);
    expect(await derivedAs('derived')).toEqual({ matches: true, messages: lastRequest('derived').messages });
  });

  test('are not counted by the history limit', async () => {
    const limited = await createTurnRig(database.url, { settings: { session: { dmHistoryLimit: 1 } } });
    try {
      const { plugins } = pluginsWith([['before_agent_start', MEMORIES]]);
      const worker = limited.worker({ plugins });
      for (const text of ['one', 'two', 'three']) {
        await limited.send('limited', text, { chatType: 'direct' });
        await worker.run('limited');
      }
      worker.stop();
      const body = limited.scripted.requests.at(-1)?.body as Received;
      expect(body.messages.filter(({ role }) => role === 'user').map(textsOf)).toEqual([
        ['(session bootstrap)'],
        ['two'],
        ['three'],
      ]);
      expect(JSON.stringify(body)).toContain('I remember');
    } finally {
      await limited.close();
    }
  });
});

test('a retry after a crash reuses the results of the hooks and runs none of them again (G13)', async () => {
  let runs = 0;
  let received = 0;
  const { plugins } = pluginsWith([
    [
      'before_prompt_build',
      () => {
        runs += 1;
        return {
          prependContext: `run ${runs}`,
          injectMessages: [{ role: 'assistant' as const, content: `memory ${runs}` }],
        };
      },
    ],
    ['llm_input', () => void (received += 1)],
  ]);
  const session = await rig.sessionOf('crashed');
  const dead = rig.worker({ plugins });
  await rig.send('crashed', 'hi');
  // The worker crashes when the turn is opened: it commits nothing more and releases nothing.
  const dying = Promise.withResolvers<never>();
  dead.context.store.commitStep = () => dying.promise;
  dead.context.store.finishTurn = () => dying.promise;
  void dead.run('crashed');
  await expect.poll(() => requestsOf('crashed').length).toBe(1);
  dead.stop();
  await expireLeases(rig, { id: session });

  const heir = rig.worker({ plugins });
  expect(await heir.run('crashed')).toMatchObject({ kind: 'ended' });
  heir.stop();
  const [first, second] = requestsOf('crashed');
  expect(second?.messages).toEqual(first?.messages);
  expect(promptOf(second as Received)).toBe('run 1\n\nhi');
  expect([runs, received]).toEqual([1, 1]);
});

test('a plugin that fails only loses its own contribution', async () => {
  const { plugins, lines } = pluginsWith([
    [
      'before_prompt_build',
      () => {
        throw new Error('no luck');
      },
    ],
    ['before_prompt_build', returning({ injectMessages: [{ role: 'system', content: 'x' }] })],
    ['before_prompt_build', returning({ prependContext: 'A' })],
  ]);
  await say('failing', 'hi', plugins);
  expect(promptOf(lastRequest('failing'))).toBe('A\n\nhi');
  expect(lines).toHaveLength(2);
});

test('llm_input receives what is sent, once for a turn of several calls', async () => {
  const received: LlmInputEvent[] = [];
  const { plugins } = pluginsWith([
    ['before_prompt_build', returning({ injectMessages: [{ role: 'assistant', content: 'memory' }] })],
    ['llm_input', (event: LlmInputEvent) => void received.push(event)],
  ]);
  await say('told', 'look around [[tool: nowhere {}]] [[reply: done]]', plugins);
  const request = lastRequest('told');
  expect(requestsOf('told').length).toBeGreaterThan(1);
  expect(received).toHaveLength(1);
  expect(received[0]).toMatchObject({
    provider: 'anthropic',
    systemPrompt: request.system.map(({ text }) => text).join('\n'),
    prompt: 'look around [[tool: nowhere {}]] [[reply: done]]',
    historyMessages: [
      { role: 'user', content: [{ type: 'text', text: '(session bootstrap)' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'memory' }] },
    ],
    imagesCount: 0,
  });
});

test('agent:bootstrap changes the files of the project context', async () => {
  const worker = rig.config.workspace.path;
  await mkdir(worker, { recursive: true });
  await writeFile(join(worker, 'AGENTS.md'), 'be good');
  const { plugins } = pluginsWith([
    [
      'agent:bootstrap',
      ({ bootstrapFiles }) => {
        for (const file of bootstrapFiles) if (file.name === 'AGENTS.md') file.content = `${file.content}, very good`;
        bootstrapFiles.push({ name: 'EXTRA.md', path: '/extra/EXTRA.md', content: 'extra text' });
      },
    ],
  ]);
  await say('files', 'hi', plugins);
  const [{ text: system } = { text: '' }] = lastRequest('files').system;
  expect(system).toContain('be good, very good');
  expect(system).toContain('## /extra/EXTRA.md\nextra text');
});

test('a contribution appears at its places in the system prompt, and rewords a section', async () => {
  const { plugins } = pluginsWith([], {
    contributions: [
      {
        provider: null,
        contribution: {
          origin: 'plugin:p',
          stablePrefix: 'STABLE PREFIX',
          dynamicSuffix: 'DYNAMIC SUFFIX',
          sectionOverrides: {
            tool_call_style: '## Tool Call Style\nSay nothing.',
            interaction_style: '## Interaction Style\nBe brief.',
          },
        },
      },
    ],
  });
  await say('contributed', 'hi', plugins);
  const [stable, dynamic] = lastRequest('contributed').system.map(({ text }) => text);
  expect(stable).toContain('STABLE PREFIX');
  expect(stable).toContain('## Tool Call Style\nSay nothing.\n');
  expect(stable).toContain('## Interaction Style\nBe brief.\n');
  expect(dynamic).toContain('DYNAMIC SUFFIX');
});

test('text transforms change requests and answers, and the request can still be derived', async () => {
  const textTransforms = { input: [{ from: 'Ada', to: 'A.' }], output: [{ from: 'tea', to: 'cocoa' }] };
  const { plugins } = pluginsWith([['before_prompt_build', returning({ prependContext: 'Ada is here.' })]], {
    textTransforms,
  });
  await say('transformed', 'What does Ada drink? [[reply: Tea, or tea.]]', plugins);
  expect(promptOf(lastRequest('transformed'))).toBe('A. is here.\n\nWhat does A. drink? [[reply: Tea, or tea.]]');
  const [answer] = await readEntries(rig, { sessionId: await rig.sessionOf('transformed'), kind: 'answer' }, 'content');
  expect(answer).toEqual({ content: [{ type: 'text', text: 'Tea, or cocoa.' }] });
  expect(await derivedAs('transformed')).toEqual({ matches: true, messages: lastRequest('transformed').messages });
});

test('agent:bootstrap runs after the choice of files for subagents: it can add files that they do not get', async () => {
  const seen: string[] = [];
  const { plugins } = pluginsWith([
    [
      'agent:bootstrap',
      ({ bootstrapFiles }) => {
        seen.push(...bootstrapFiles.map(({ name }) => name));
        bootstrapFiles.push({ name: 'HEARTBEAT.md', path: '/extra/HEARTBEAT.md', content: 'put back' });
      },
    ],
  ]);
  await say('subagent:1', 'hi', plugins);
  expect(seen.toSorted()).toEqual(['AGENTS.md', 'IDENTITY.md', 'SOUL.md', 'TOOLS.md', 'USER.md']);
  expect(JSON.stringify(lastRequest('subagent:1').system)).toContain('put back');
});
