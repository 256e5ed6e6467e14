// Goal: plugins change a prompt at the documented places, in the order of their priorities, and
// nowhere else; what they put in front of the history survives every later step and is not stored.
// Method: a service with two plugins, and the requests that its model server received.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { textOf } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const log = join(tmpdir(), `holdfast-hooks-${process.pid}.jsonl`);
writeFileSync(log, '');
afterAll(() => rmSync(log, { force: true }));

const holder = useService({
  config: {
    plugins: {
      modules: [
        fileURLToPath(new URL('rig/hook-plugin.ts', import.meta.url)),
        fileURLToPath(new URL('rig/quiet-plugin.ts', import.meta.url)),
      ],
      entries: {
        'hooks-of-the-tests': { config: { log } },
        quiet: { hooks: { allowPromptInjection: false } },
      },
    },
    session: { dmHistoryLimit: 1 },
  },
  files: { 'SOUL.md': 'The soul of the workspace.' },
});

function session(what: string): string {
  return `${holder.service.newSession()}-${what}-1`;
}

function written(sessionName: string, hook: string): Record<string, unknown>[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((entry) => entry['hook'] === hook && entry['session'] === `agent:main:${sessionName}`);
}

describe("a handler's return value", () => {
  test('precedes the prompt: higher priority first, the older hook after the newer', async () => {
    const { service } = holder;
    const { request } = await service.say(session('context'), 'hi');
    expect(request.prompt).toBe('A\n\nB\n\nC\n\nhi');
  });

  test('as messages comes before the limited history, survives tool calls, and is not stored', async () => {
    const { service } = holder;
    const name = session('inject');
    for (const text of ['one', 'two', 'three']) await service.say(name, text);
    const { requests } = await service.say(name, '[[tool: session_status {}]] [[reply: ok]]');
    expect(requests).toHaveLength(2);
    for (const { messages } of requests) {
      const [bootstrap, injected, ...rest] = messages;
      expect([bootstrap?.role, injected?.role]).toEqual(['user', 'assistant']);
      expect(injected?.content.map(({ text }) => text)).toEqual(['m1', 'm2']);
      expect(textOf(rest[0]?.content ?? [])).toBe('three');
    }
    const { body } = await service.api.ask('GET', `/v1/sessions/${name}/transcript?state=all`);
    expect(JSON.stringify(body)).not.toMatch(/"m[12]"/);
  });

  test('replaces the system prompt, the first that says one, with contexts around it', async () => {
    const { service } = holder;
    const { request } = await service.say(session('system'), 'hi');
    expect(request.system.map(({ text }) => text)).toEqual(['Before all.\n\nOnly this.', 'Behind all.']);
  });

  test('precedes and follows the system prompt', async () => {
    const { service } = holder;
    const { request } = await service.say(session('around'), 'hi');
    expect(request.systemText).toMatch(/^Before all\.\n\nYou are a personal assistant[^]*\nBehind all\.$/);
  });

  test('changes nothing when a handler throws, and does not affect others', async () => {
    const { service } = holder;
    const name = session('broken');
    const { request, message } = await service.say(name, 'hi');
    expect(request.prompt).toBe('hi');
    expect(message.status).toBe('answered');
    expect(service.rig.logs.join('\n')).toContain('This handler is broken.');
  });

  test('changes nothing for a plugin that must not change prompts', async () => {
    const { service } = holder;
    const { request } = await service.say(session('plain'), 'hi');
    expect(JSON.stringify(request.body)).not.toMatch(/Never said|Nor this/);
  });

  test('changes the workspace files that the prompt shows', async () => {
    const { service } = holder;
    const { request } = await service.say(session('files'), 'hi');
    expect(request.systemText).toContain(`## ${service.workspaceDir}/EXTRA.md\nFrom a plugin.`);
    expect(request.systemText).toContain(`## ${service.workspaceDir}/SOUL.md\nAnother soul.`);
    expect(request.systemText).not.toContain('The soul of the workspace.');
  });
});

describe("a handler's input", () => {
  test('is the prompt and the history; llm_input is called once for a turn, however many model calls it has', async () => {
    const { service } = holder;
    const name = session('told');
    await service.say(name, 'one');
    const { requests } = await service.say(name, 'two [[tool: session_status {}]] [[reply: ok]]');
    expect(requests).toHaveLength(2);
    expect(written(name, 'before_prompt_build').map(({ prompt, messages }) => [prompt, messages])).toEqual([
      ['one', 0],
      ['two [[tool: session_status {}]] [[reply: ok]]', 2],
    ]);
    const inputs = await waitUntil('both plugins are called', 150_000, () => {
      const found = written(name, 'llm_input');
      return found.length >= 2 && found;
    });
    expect(inputs).toHaveLength(2);
    expect(inputs[1]).toMatchObject({
      provider: 'anthropic',
      model: 'claude-sonnet-5-5',
      historyMessages: 2,
      imagesCount: 0,
    });
  });
});

test('texts are replaced on their way to the model and back', async () => {
  const { service } = holder;
  const { request, message } = await service.say(session('texts'), 'COLOUR-WORD [[reply: sent-by-model]]');
  expect(request.prompt).toContain('color-word');
  expect(message.reply).toBe('shown-to-user');
});
