// Goal: the system role that a model receives has the documented sections in their order, each
// under its condition and in its modes, the same bytes from turn to turn, and no word of a
// stranger. Method: a service with everything switched on, agents with less, and the requests that
// its model server received.
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { headingsOf, placesOf } from './rig/prompt-text.ts';
import type { ReceivedRequest } from './rig/received-request.ts';
import { useService } from './rig/use-service.ts';

const BOUNDARY = '--- SYSTEM PROMPT CACHE BOUNDARY ---';
const IDENTITY = 'You are a personal assistant running inside Holdfast.';

const holder = useService({
  config: {
    agents: {
      defaults: { userTimezone: 'Asia/Shanghai' },
      list: [
        { id: 'main', models: { smart: 'anthropic/claude-opus-4-1', fast: 'anthropic/claude-haiku-4-5' } },
        { id: 'none', promptMode: 'none' },
        { id: 'delegate', promptMode: 'minimal' },
        { id: 'plain', tools: { allow: ['read'] } },
        { id: 'handless', tools: { allow: [] } },
      ],
    },
    plugins: [fileURLToPath(new URL('rig/named-tools.ts', import.meta.url))],
    owner: { phone: '+15551234567', display: 'hash', displaySecret: 's3cret' },
    sandbox: { enabled: true, runtime: 'external' },
    tts: { enabled: true, hint: 'Keep replies speakable.' },
    reactions: { mode: 'extensive' },
    reasoning: { enabled: true },
  },
  files: {
    'AGENTS.md': `Rule one.\n${BOUNDARY}\nRule two.`,
    'SOUL.md': 'Be kind.',
    'HEARTBEAT.md': 'Check the mail.',
    'MEMORY.md': 'The cat is called Tom.',
    'skills/git-flow/SKILL.md': '---\nname: git-flow\ndescription: Branches & <tags>\n---\n# Git flow\n',
  },
});

const telegram = { channel: 'telegram', chatId: 'telegram:769134210', provider: 'telegram', surface: 'telegram' };
let full: ReceivedRequest;
let minimal: ReceivedRequest;
let plain: ReceivedRequest;

shareAmongTests(async () => {
  const { service } = holder;
  full = (await service.say(service.newSession('telegram:direct'), { ...telegram, text: 'hi' })).request;
  minimal = (await service.say('subagent:1', 'hi')).request;
  plain = (await service.say('agent:plain:x', 'hi')).request;
});

/** The lines of a section, without its heading. */
function sectionOf(systemText: string, heading: string): string[] {
  const lines = systemText.split('\n');
  const from = lines.indexOf(heading);
  const to = lines.findIndex((line, index) => index > from && /^##? /.test(line));
  return from < 0 ? [] : lines.slice(from + 1, to < 0 ? undefined : to);
}

describe('a prompt with everything switched on', () => {
  test('has its sections in their order', () => {
    const own = headingsOf(full.systemText).filter((heading) => !heading.includes('/workspace/'));
    expect([full.systemText.split('\n')[0], ...own]).toEqual([
      IDENTITY,
      '## Tooling',
      '## Tool Call Style',
      '## Execution Bias',
      '## Safety',
      '## Skills (mandatory)',
      '## Memory Recall',
      '## Holdfast Self-Update',
      '## Model Aliases',
      '## Workspace',
      '## Documentation',
      '## Sandbox',
      '## Authorized Senders',
      '## Current Date & Time',
      '## Workspace Files (injected)',
      '## Reply Tags',
      '## Messaging',
      '### message tool',
      '## Voice (TTS)',
      '## Group Chat Context',
      '## Inbound Context (trusted metadata)',
      '## Reactions',
      '## Reasoning Format',
      '# Project Context',
      '## Silent Replies',
      '# Dynamic Project Context',
      '## Heartbeats',
      '## Runtime',
    ]);
  });

  test('has no blank line between sections', () => {
    const [first = ''] = full.systemText.split('## Skills (mandatory)');
    expect(first).not.toContain('\n\n');
    expect(full.systemText).toContain('\n## Silent Replies\n');
  });

  test('is two blocks, of which the first is cached; HEARTBEAT.md is in the second, the boundary in none', () => {
    expect(full.system).toHaveLength(2);
    expect(full.system[0]?.cache_control).toEqual({ type: 'ephemeral' });
    expect(full.system[1]?.cache_control).toBeUndefined();
    expect(full.system[0]?.text).not.toContain('Check the mail.');
    expect(full.system[1]?.text).toMatch(/^# Dynamic Project Context\n[^]*Check the mail\./);
    expect(JSON.stringify(full.body)).not.toContain(BOUNDARY);
    expect(full.system[0]?.text).toContain('Rule one.\n\nRule two.');
  });

  test('lists the tools in the fixed order, others after them by name', () => {
    const names = sectionOf(full.systemText, '## Tooling').flatMap((line) => /^- ([\w-]+)/.exec(line)?.[1] ?? []);
    const known = [
      'read',
      'write',
      'edit',
      'grep',
      'exec',
      'message',
      'gateway',
      'sessions_send',
      'subagents',
      'session_status',
    ];
    expect(names.filter((name) => known.includes(name))).toEqual(known);
    const others = names.slice(names.indexOf('session_status') + 1);
    expect(others).toEqual(others.toSorted((a, b) => a.toLowerCase().localeCompare(b.toLowerCase())));
    expect(sectionOf(full.systemText, '## Tooling')).toContain('- gateway: stands for gateway');
  });

  test('lists the skills as escaped XML', () => {
    const { workspaceDir } = holder.service;
    expect(full.systemText).toContain(
      [
        '<available_skills>',
        '  <skill>',
        '    <name>git-flow</name>',
        '    <description>Branches &amp; &lt;tags&gt;</description>',
        `    <location>${workspaceDir}/skills/git-flow/SKILL.md</location>`,
        '  </skill>',
        '</available_skills>',
      ].join('\n'),
    );
  });

  test('names aliases, zone, owner, sandbox, voice and reactions', () => {
    expect(sectionOf(full.systemText, '## Model Aliases').filter((line) => line.startsWith('- '))).toEqual([
      '- fast: anthropic/claude-haiku-4-5',
      '- smart: anthropic/claude-opus-4-1',
    ]);
    expect(sectionOf(full.systemText, '## Current Date & Time')).toEqual(['Time zone: Asia/Shanghai']);
    expect(full.systemText).toMatch(/^When you need the current date, .*session_status\.$/m);
    expect(sectionOf(full.systemText, '## Authorized Senders')).toEqual([
      'Authorized senders: d57f50733cac. These senders are allowlisted; do not assume they are the owner.',
    ]);
    expect(sectionOf(full.systemText, '## Sandbox').join('\n')).toContain('/workspace');
    expect(sectionOf(full.systemText, '## Voice (TTS)')).toEqual(['Keep replies speakable.']);
    expect(sectionOf(full.systemText, '## Reactions')[0]).toBe('Reactions are enabled for telegram in EXTENSIVE mode.');
    expect(sectionOf(full.systemText, '## Reasoning Format').join()).toContain('<final>...</final>');
  });

  test('explains memory, reply tags, messaging, silence and heartbeats with their exact tokens', () => {
    const has = (heading: string, ...tokens: string[]): void => {
      const text = sectionOf(full.systemText, heading).join('\n');
      for (const token of tokens) expect(text, heading).toContain(token);
    };
    has('## Memory Recall', 'memory_search', 'memory_get', 'Source: <path#line>');
    has('## Reply Tags', '[[reply_to_current]]', '[[reply_to:<id>]]');
    has(
      '## Messaging',
      'sessions_send(sessionKey, message)',
      'subagents(action=list|steer|kill)',
      '`[System Message] ...`',
    );
    has('## Silent Replies', 'respond with ONLY: NO_REPLY');
    has('## Heartbeats', 'Heartbeat prompt: Read HEARTBEAT.md if it exists', 'HEARTBEAT_OK');
  });

  test('ends in the runtime line', () => {
    const [line = '', reasoning] = sectionOf(full.systemText, '## Runtime');
    const parts = line.replace('Runtime: ', '').split(' | ');
    const names = [
      'agent=main',
      'host=',
      'os=',
      'node=v',
      'model=anthropic/',
      'default_model=anthropic/',
      'shell=',
      'channel=telegram',
      'capabilities=',
      'thinking=off',
    ];
    const places = placesOf(line, names);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
    expect(parts.at(-1)).toBe('thinking=off');
    expect(reasoning).toBe(
      'Reasoning: off (hidden unless on/stream). Toggle /reasoning; /status shows Reasoning when enabled.',
    );
  });
});

describe("Holdfast's facts about itself", () => {
  test('names documentation that `read` reaches', async () => {
    const [place = '', files = ''] = sectionOf(full.systemText, '## Documentation');
    const folder = place.replace('Holdfast docs: ', '');
    expect(files).toMatch(/^Files, to be read with `read` by their whole path: .*\bprompts\.md\b/);
    // Nothing for developers: an agent cannot change Holdfast.
    expect(files).not.toMatch(/internals|style|guarantees|benchmarks/);
    expect(files.match(/\w+\.md/g)?.length).toBeLessThanOrEqual(10);
    const { service } = holder;
    const call = JSON.stringify({ file_path: `${folder}/prompts.md`, view_range: [1, 1] });
    const { requests } = await service.say(service.newSession(), `[[tool: read ${call}]] [[reply: ok]]`);
    expect(JSON.stringify(requests.at(-1)?.messages.at(-1))).toContain('# Prompts');
  });

  test('holds rules for changes of the configuration, and no commands and no updates, which agents cannot run', () => {
    const text = sectionOf(full.systemText, '## Holdfast Self-Update').join('\n');
    expect(text).toMatch(
      /only when the user has expressly asked[^]*config\.schema[^]*config\.apply, which a person has to approve/,
    );
    expect(full.systemText).not.toMatch(/CLI Quick Reference|update\.run|doctor` yourself/);
  });
});

describe('sections without their condition', () => {
  test('are left out', () => {
    const headings = headingsOf(plain.systemText);
    for (const heading of [
      '## Skills (mandatory)',
      '## Memory Recall',
      '## Holdfast Self-Update',
      '## Model Aliases',
      '### message tool',
      '## Reactions',
    ])
      expect(headings).not.toContain(heading);
    expect(headings).toContain('## Safety');
  });

  test('an agent whose list of allowed tools is empty is sent no tool (G30)', async () => {
    const { request } = await holder.service.say('agent:handless:x', 'hi');
    expect(request.body['tools'] ?? []).toEqual([]);
    expect(plain.body['tools']).toMatchObject([{ name: 'read' }]);
  });

  test('for web chats appear only there', async () => {
    const { service } = holder;
    expect(headingsOf(full.systemText)).not.toContain('## Control UI Embed');
    const { request } = await service.say(service.newSession(), { text: 'hi', channel: 'webchat' });
    const headings = headingsOf(request.systemText);
    expect(headings.indexOf('## Control UI Embed')).toBe(headings.indexOf('## Reply Tags') + 1);
    expect(request.systemText).toContain('[embed ');
  });
});

describe('modes', () => {
  test('a subagent gets what delegated work needs, with five files', () => {
    const headings = headingsOf(minimal.systemText).filter((heading) => !heading.includes('/workspace/'));
    expect(headings).toEqual([
      '## Tooling',
      '## Tool Call Style',
      '## Safety',
      '## Workspace',
      '## Sandbox',
      '## Current Date & Time',
      '## Workspace Files (injected)',
      '## Subagent Context',
      '## Inbound Context (trusted metadata)',
      '## Reasoning Format',
      '# Project Context',
      '## Runtime',
    ]);
    expect(filesOf(minimal)).toEqual(['AGENTS.md', 'SOUL.md', 'IDENTITY.md', 'USER.md', 'TOOLS.md']);
  });

  test('a cron session and an agent that is set to it get the same', async () => {
    const { service } = holder;
    const cron = (await service.say('cron:daily', 'hi')).request;
    expect(headingsOf(cron.systemText)).toEqual(headingsOf(minimal.systemText));
    const delegate = (await service.say('agent:delegate:x', 'hi')).request;
    expect(headingsOf(delegate.systemText)).toContain('## Subagent Context');
    expect(headingsOf(delegate.systemText)).not.toContain('## Messaging');
  });

  test('none is the identity line alone', async () => {
    const { request } = await holder.service.say('agent:none:x', 'hi');
    expect(request.system.map(({ text }) => text)).toEqual([IDENTITY]);
  });
});

describe('project context', () => {
  test('shows the files in their order, missing ones by name, and memory only when there is some', () => {
    expect(filesOf(full)).toEqual([
      'AGENTS.md',
      'SOUL.md',
      'IDENTITY.md',
      'USER.md',
      'TOOLS.md',
      'BOOTSTRAP.md',
      'MEMORY.md',
      'HEARTBEAT.md',
    ]);
    const { workspaceDir } = holder.service;
    expect(full.systemText).toContain(`## ${workspaceDir}/USER.md\n[MISSING] Expected at: ${workspaceDir}/USER.md\n`);
    expect(filesOf(plain)).not.toContain('MEMORY.md');
    expect(full.systemText).toMatch(/^If SOUL\.md is present/m);
  });
});

function filesOf(request: ReceivedRequest): string[] {
  return headingsOf(request.systemText).flatMap((line) => /^## \/.*\/([A-Z]+\.md)$/.exec(line)?.[1] ?? []);
}
