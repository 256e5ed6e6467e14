// The hooks of plugins as turns run them: order, merging, and that nothing a handler does harms the
// turn.
import { describe, expect, test } from 'vitest';
import type { ModelMessage } from '../../src/core/model-request.ts';
import type { WorkspaceFile } from '../../src/prompt/system-input.ts';
import { createLogger } from '../../src/logger.ts';
import type { HookContext, HookHandlers, PromptHookResult } from '../../src/plugins/plugin-api.ts';
import { withoutPlugins, type HookFacts } from '../../src/plugins/plugins.ts';
import { pluginsWith } from './plugins-with.ts';

const FACTS: HookFacts = {
  agentId: 'main',
  sessionKey: 'agent:main:main',
  sessionId: 'session',
  workspaceDir: '/workspace',
  messageProvider: 'telegram',
  runId: 'run',
  trigger: 'message',
};
const HISTORY: ModelMessage[] = [{ role: 'user', content: [{ type: 'text', text: 'before' }] }];
const EVENT = { prompt: 'hi', messages: HISTORY };

const returning =
  (result: unknown): HookHandlers['before_prompt_build'] =>
  () =>
    result as PromptHookResult;
const textsOf = (texts: readonly { text: string }[]): string[] => texts.map(({ text }) => text);

describe('prompt hooks', () => {
  test('run in the order of priority, before_prompt_build before before_agent_start', async () => {
    const { plugins } = pluginsWith([
      ['before_agent_start', returning({ prependContext: 'start 9', systemPrompt: 'start' }), { priority: 9 }],
      ['before_prompt_build', returning({ prependContext: 'build 0', systemPrompt: 'build 0' })],
      ['before_prompt_build', returning({ prependContext: 'build 5', systemPrompt: 'build 5' }), { priority: 5 }],
      ['before_prompt_build', returning({ prependContext: 'build 0 later', appendSystemContext: 'end' })],
    ]);
    const changes = await plugins.changePrompt(EVENT, FACTS);
    expect(textsOf(changes.prependContext)).toEqual(['build 5', 'build 0', 'build 0 later', 'start 9']);
    expect(changes.systemPrompt?.text).toBe('build 5');
    expect(textsOf(changes.appendSystemContext)).toEqual(['end']);
  });

  test('receive the prompt, the history and the facts of the turn', async () => {
    const received: unknown[] = [];
    const listen: HookHandlers['before_prompt_build'] = (event, { signal, ...facts }) =>
      void received.push(event, facts, signal.aborted);
    const { plugins } = pluginsWith([
      ['before_prompt_build', listen],
      ['before_agent_start', listen],
    ]);
    await plugins.changePrompt(EVENT, FACTS);
    expect(received).toEqual([EVENT, FACTS, false, EVENT, FACTS, false]);
  });

  test('inject messages in the order of priority', async () => {
    const { plugins } = pluginsWith([
      ['before_agent_start', returning({ injectMessages: [{ role: 'assistant', content: 'second' }] })],
      ['before_agent_start', returning({ injectMessages: [{ role: 'assistant', content: 'first' }] }), { priority: 1 }],
    ]);
    const { injectMessages } = await plugins.changePrompt(EVENT, FACTS);
    expect(injectMessages.map(({ content }) => content)).toEqual([
      [{ type: 'text', text: 'first' }],
      [{ type: 'text', text: 'second' }],
    ]);
  });

  test('cannot change their input', async () => {
    const { plugins, lines } = pluginsWith([
      [
        'before_prompt_build',
        ({ messages }) => void (messages[0] as ModelMessage).content.push({ type: 'text', text: 'x' }),
      ],
      ['before_prompt_build', ({ messages }) => void (messages as ModelMessage[]).push(...messages)],
      ['before_prompt_build', ({ messages }) => ({ prependContext: JSON.stringify(messages) })],
    ]);
    expect(textsOf((await plugins.changePrompt(EVENT, FACTS)).prependContext)).toEqual([JSON.stringify(HISTORY)]);
    expect(lines).toHaveLength(2);
  });

  test.each<[string, HookHandlers['before_prompt_build'], string]>([
    [
      'throws',
      () => {
        throw new Error('no luck');
      },
      'no luck',
    ],
    ['rejects', () => Promise.reject(new Error('no luck')), 'no luck'],
    ['returns no object', returning('hello'), 'must be an object, not a string'],
    ['returns no text', returning({ prependContext: 7 }), 'prependContext: must be a text, not a number'],
    ['injects no list', returning({ injectMessages: {} }), 'injectMessages: must be a list, not an object'],
    [
      'injects no role',
      returning({ injectMessages: [{ role: 'system', content: 'x' }] }),
      'injectMessages[0].role: must be "user" or "assistant", not "system"',
    ],
    ['does not end', () => new Promise(() => undefined), 'took longer than 20 ms'],
  ])('one that %s is logged and changes nothing, the others continue', async (_title, handler, message) => {
    const { plugins, lines } = pluginsWith(
      [
        ['before_prompt_build', handler, { plugin: 'bad', priority: 1 }],
        ['before_prompt_build', returning({ prependContext: 'good' })],
      ],
      { handlerMsMax: 20 },
    );
    expect(textsOf((await plugins.changePrompt(EVENT, FACTS)).prependContext)).toEqual(['good']);
    expect(lines).toMatchObject([
      { plugin: 'bad', hook: 'before_prompt_build', session: FACTS.sessionKey, err: { message } },
    ]);
  });

  test('one that ends after its deadline receives an aborted signal, and changes nothing', async () => {
    const { promise: late, resolve: release } = Promise.withResolvers<void>();
    let context: HookContext | undefined;
    const { plugins } = pluginsWith(
      [
        [
          'before_prompt_build',
          async (_event, given) => {
            context = given;
            await late;
            return { prependContext: 'too late' };
          },
        ],
      ],
      { handlerMsMax: 20 },
    );
    const changes = await plugins.changePrompt(EVENT, FACTS);
    expect(context?.signal.reason).toMatchObject({ code: 'hook_timeout' });
    release();
    await late;
    expect(changes.prependContext).toEqual([]);
  });

  test('unknown fields are reported, the others are used', async () => {
    const { plugins, lines } = pluginsWith([
      ['before_prompt_build', returning({ prependContext: 'a', toolsAllow: ['b'] })],
    ]);
    expect(textsOf((await plugins.changePrompt(EVENT, FACTS)).prependContext)).toEqual(['a']);
    expect(lines).toMatchObject([{ plugin: 'p', fields: ['toolsAllow'] }]);
  });

  test('nothing changes if no plugin changes anything', async () => {
    const { plugins } = pluginsWith([
      ['before_prompt_build', returning(undefined)],
      ['before_agent_start', returning(null)],
      ['before_agent_start', returning({ prependContext: '  ' })],
    ]);
    const nothing = await withoutPlugins(createLogger({ level: 'silent', format: 'json', name: 'test' })).changePrompt(
      EVENT,
      FACTS,
    );
    expect(await plugins.changePrompt(EVENT, FACTS)).toEqual(nothing);
  });
});

describe('agent:bootstrap', () => {
  const FILES: WorkspaceFile[] = [{ name: 'AGENTS.md', path: '/workspace/AGENTS.md', content: 'be good' }];

  test('adds, removes and rewords files, one plugin after the other', async () => {
    const { plugins } = pluginsWith([
      ['agent:bootstrap', (event) => void event.bootstrapFiles.push({ name: 'X.md', path: '/x/X.md', content: 'x' })],
      [
        'agent:bootstrap',
        (event) => {
          event.bootstrapFiles = event.bootstrapFiles.filter(({ name }) => name === 'X.md');
        },
      ],
      [
        'agent:bootstrap',
        async ({ bootstrapFiles: [file] }) => {
          if (file) file.content = `${file.content}!`;
        },
      ],
    ]);
    expect(await plugins.changeBootstrapFiles(FILES, FACTS)).toEqual([
      { name: 'X.md', path: '/x/X.md', content: 'x!' },
    ]);
    expect(FILES[0]?.content).toBe('be good');
  });

  test('entries without a path are dropped with a warning', async () => {
    const { plugins, lines } = pluginsWith([
      [
        'agent:bootstrap',
        ({ bootstrapFiles }) =>
          void bootstrapFiles.push(...([{ name: 'a' }, null, { path: 7 }, { path: '/b/c.md' }] as never[])),
      ],
    ]);
    const files = await plugins.changeBootstrapFiles(FILES, FACTS);
    expect(files.slice(1)).toEqual([{ name: 'c.md', path: '/b/c.md', content: null }]);
    expect(lines).toMatchObject([{ plugin: 'p', dropped: [1, 2, 3] }]);
  });

  test('a handler that fails leaves the files unchanged', async () => {
    const { plugins } = pluginsWith([
      [
        'agent:bootstrap',
        ({ bootstrapFiles }) => {
          bootstrapFiles.length = 0;
          throw new Error('no luck');
        },
      ],
      [
        'agent:bootstrap',
        (event) => {
          (event as { bootstrapFiles: unknown }).bootstrapFiles = 'none';
        },
      ],
    ]);
    expect(await plugins.changeBootstrapFiles(FILES, FACTS)).toEqual(FILES);
  });
});

describe('llm_input', () => {
  const INPUT = {
    runId: 'run',
    sessionId: 'session',
    provider: 'anthropic',
    model: 'claude',
    systemPrompt: 'be good',
    prompt: 'hi',
    historyMessages: HISTORY,
    imagesCount: 0,
  };

  test('all are called in parallel, and none is awaited', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const begun: string[] = [];
    const ended: string[] = [];
    const slow =
      (name: string): HookHandlers['llm_input'] =>
      async (event) => {
        begun.push(name);
        await gate;
        ended.push(`${name} ${event.prompt}`);
      };
    const { plugins } = pluginsWith([
      ['llm_input', slow('a')],
      ['llm_input', () => Promise.reject(new Error('no luck'))],
      ['llm_input', slow('b')],
    ]);
    plugins.notifyLlmInput(INPUT, FACTS);
    expect([begun, ended]).toEqual([['a', 'b'], []]);
    open();
    await expect.poll(() => ended).toEqual(['a hi', 'b hi']);
  });

  test('notifications to a plugin that is too slow are dropped', () => {
    let calls = 0;
    const { plugins, lines } = pluginsWith([
      [
        'llm_input',
        () => {
          calls += 1;
          return new Promise<void>(() => undefined);
        },
      ],
    ]);
    for (let call = 0; call < 101; call += 1) plugins.notifyLlmInput(INPUT, FACTS);
    expect(calls).toBe(100);
    expect(lines).toMatchObject([{ plugin: 'p', waiting: 100 }]);
  });
});
