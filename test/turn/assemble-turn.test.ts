// The request that the model gets and its stored description: workspace, skills, chat, notes, and
// every setting that adds to a prompt.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { agentOf } from '../../src/config.ts';
import type { InboundMessage } from '../../src/core/inbound.ts';
import { createReadTool } from '../../src/tools/file-tools.ts';
import { readEntries, readSnapshots } from '../rows/entries.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

interface Received {
  system: { text: string; cache_control?: object }[];
  messages: { role: string; content: { type: string; text?: string }[] }[];
}

let database: Awaited<ReturnType<typeof withTestDatabase>>;
let rig: TurnRig;

const closers: (() => Promise<void>)[] = [];
shareAmongTests(async (onEnd) => {
  const made = await withTestDatabase();
  onEnd(() => made.drop());
  database = made;
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** A rig with these settings, and its workspace with these files. */
async function arrange(settings: object = {}, files: Record<string, string> = {}): Promise<void> {
  const made = await createTurnRig(database.url, { settings, tools: [createReadTool([])] });
  rig = made;
  closers.push(() => made.close());
  await mkdir(workspaceDir(), { recursive: true });
  for (const [name, text] of Object.entries(files)) await put(name, text);
}

const workspaceDir = (): string => agentOf(rig.config, 'main').workspaceDir;

async function put(name: string, text: string): Promise<void> {
  await mkdir(dirname(join(workspaceDir(), name)), { recursive: true });
  await writeFile(join(workspaceDir(), name), text);
}

const DOCS = join(import.meta.dirname, '..', '..', 'docs');

let sessions = 0;
const newName = (shape = 's'): string => `${shape}${(sessions += 1)}`;

/** Runs one turn in a worker and returns the request that the model received. */
async function say(
  name: string,
  text: string,
  more: Partial<InboundMessage> = {},
  kind: Parameters<TurnRig['send']>[3] = 'message',
): Promise<Received> {
  const worker = rig.worker();
  closers.push(async () => worker.stop());
  await rig.send(name, text, more, kind);
  await worker.run(name);
  return lastRequest(name);
}

function lastRequest(name: string): Received {
  const last = rig.scripted.requests
    .filter((each) => each.headers['x-holdfast-session'] === `agent:main:${name}`)
    .at(-1);
  if (last === undefined) throw new Error(`The model received no request for ${name}.`);
  return last.body as unknown as Received;
}

const promptOf = ({ messages }: Received): string => messages.at(-1)?.content[0]?.text ?? '';
const systemOf = ({ system }: Received): string => system.map(({ text }) => text).join('\n');
const stableOf = ({ system }: Received): string => system[0]?.text ?? '';

describe('the stored description of a prompt', () => {
  test('names the place, the author and the trust of every part (G29)', async () => {
    await arrange();
    const name = newName();
    const request = await say(name, 'hi', { messageId: '5', untrustedContext: ['x'], media: [{ path: '/a.bin' }] });
    const [row] = await readEntries(rig, { sessionId: await rig.sessionOf(name) }, 'parts');
    const parts = row?.['parts'] as { name: string; origin: string; trust: string; start: number; end: number }[];
    const text = promptOf(request);
    expect(
      parts.slice(0, -1).map((part) => [part.name, part.origin, part.trust, text.slice(part.start, part.end)]),
    ).toEqual([
      ['media-note', 'channel', 'untrusted', expect.stringMatching(/^\[media attached: \/a\.bin/)],
      ['context', 'channel', 'untrusted', expect.stringMatching(/^Conversation info/)],
      ['body', 'sender', 'untrusted', 'hi'],
      ['untrusted-context', 'channel', 'untrusted', expect.stringMatching(/^Untrusted context/)],
    ]);
    expect(parts.at(-1)).toEqual({ name: 'clean-body', text: 'hi' });
  });

  test('does the same for the sections of the system prompt', async () => {
    await arrange();
    const name = newName();
    const request = await say(name, 'hi');
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'view');
    const { sectionsSha256 } = turn!.view as { sectionsSha256: string };
    const [snapshot] = await readSnapshots(rig, { sha256: sectionsSha256 }, 'content');
    const sections = snapshot?.content as {
      name: string;
      trust: string;
      isStable: boolean;
      start: number;
      end: number;
    }[];
    expect(new Set(sections.map(({ trust }) => trust))).toEqual(new Set(['trusted']));
    for (const [at, { text }] of request.system.entries()) {
      const here = sections.filter(({ isStable }) => isStable === (at === 0));
      expect(here.map(({ start, end }) => text.slice(start, end)).join('\n')).toBe(text);
    }
  });
});

describe('the workspace', () => {
  test('is fixed when a session begins, for every worker; a later session gets the edit', async () => {
    await arrange({}, { 'AGENTS.md': 'first', 'HEARTBEAT.md': 'beat one' });
    const name = newName();
    const before = await say(name, 'one');
    await put('AGENTS.md', 'second');
    await put('HEARTBEAT.md', 'beat two');
    expect(systemOf(await say(name, 'two'))).toBe(systemOf(before));
    const later = await say(newName(), 'three');
    expect(stableOf(later)).toContain('AGENTS.md\nsecond\n');
    expect(later.system[1]?.text).toContain('beat two');
  });

  test('shows a poll the current checklist, and everything else as it was', async () => {
    await arrange({}, { 'AGENTS.md': 'first', 'HEARTBEAT.md': 'beat one' });
    const name = newName();
    const before = await say(name, 'one');
    await put('AGENTS.md', 'second');
    await put('HEARTBEAT.md', 'beat two');
    const poll = await say(name, 'Read HEARTBEAT.md if it exists.', {}, 'heartbeat');
    expect(stableOf(poll)).toBe(stableOf(before));
    expect(poll.system[1]?.text).toContain('beat two');
    expect(poll.system[1]?.text).not.toContain('beat one');
  });

  test('lists its skills, escaped, as they were when the session began', async () => {
    await arrange(
      {},
      {
        'skills/git/SKILL.md': '---\nname: git-workflow\ndescription: Branches & <commits>\n---\nbody',
        'skills/none/SKILL.md': 'no head',
      },
    );
    const name = newName();
    const stable = stableOf(await say(name, 'one'));
    expect(stable).toContain('## Skills (mandatory)');
    expect(stable).toContain(
      `<available_skills>\n  <skill>\n    <name>git-workflow</name>\n    <description>Branches &amp; &lt;commits&gt;</description>\n    <location>${workspaceDir()}/skills/git/SKILL.md</location>\n  </skill>\n</available_skills>`,
    );
    await put('skills/new/SKILL.md', '---\ndescription: d\n---\n');
    expect(stableOf(await say(name, 'two'))).toBe(stable);
    expect(stableOf(await say(newName(), 'three'))).toContain('<name>new</name>');
  });

  test('that does not fit causes one warning for each state, and none in polls', async () => {
    await arrange({ agents: { defaults: { bootstrapMaxChars: 300 } } }, { 'AGENTS.md': 'a'.repeat(500) });
    const name = newName();
    expect(promptOf(await say(name, 'poll', {}, 'heartbeat'))).toBe('poll');
    const warned = promptOf(await say(name, 'one'));
    expect(warned).toMatch(
      /^⚠️ Bootstrap budget: .*\n- AGENTS\.md: 500 raw -> \d+ injected \(~\d+% removed; max\/file\)\.\n.*\n\none$/,
    );
    expect(promptOf(await say(name, 'two'))).toBe('two');
  });

  test.each([
    ['always', true],
    ['off', false],
  ])('is warned of in a second turn when set to %s: %s', async (bootstrapWarning, isWarned) => {
    await arrange(
      { agents: { defaults: { bootstrapMaxChars: 300, bootstrapWarning } } },
      { 'AGENTS.md': 'a'.repeat(500) },
    );
    const name = newName();
    await say(name, 'one');
    expect(promptOf(await say(name, 'two')).startsWith('⚠️ Bootstrap budget')).toBe(isWarned);
  });

  test('with a BOOTSTRAP.md says that setup is pending, until the file is deleted', async () => {
    await arrange({}, { 'BOOTSTRAP.md': 'Ask for a name.' });
    const name = newName();
    const first = await say(name, 'hello');
    expect(stableOf(first)).toContain('BOOTSTRAP.md\nAsk for a name.');
    expect(promptOf(first)).toMatch(/^\[Bootstrap pending\]\n[^]*\n\nhello$/);
    expect(promptOf(await say(name, 'tick', {}, 'cron'))).toBe('tick');
    await rm(join(workspaceDir(), 'BOOTSTRAP.md'));
    // A worker reads a workspace again only after some time.
    await expect.poll(async () => promptOf(await say(name, 'again'))).toBe('again');
  });

  test('offers setup only if its files can be read and changed', async () => {
    await arrange({ tools: { allow: ['session_status'] } }, { 'BOOTSTRAP.md': 'Ask for a name.' });
    expect(promptOf(await say(newName(), 'hello'))).toContain('cannot be carried out from this session');
    expect(promptOf(await say(newName('subagent:'), 'hello'))).toBe('hello');
  });
});

describe('a chat', () => {
  const group: Partial<InboundMessage> = {
    channel: 'telegram',
    chatId: '-100',
    chatType: 'group',
    messageId: '77',
    group: { subject: 'Team Chat', members: ['Mallory'] },
    sender: { id: '9', name: 'Wayne' },
    groupSystemPrompt: 'Be kind.',
  };

  test('explains the role in a group in its first turn; the system role contains no text of other people (G29)', async () => {
    await arrange();
    const name = newName('telegram:group:');
    const [first, second, third] = [
      await say(name, 'one', group),
      await say(name, 'two', { ...group, messageId: '78' }),
      await say(name, 'three', { ...group, messageId: '79', sender: { id: '3', name: 'Eve' } }),
    ];
    expect(systemOf(first)).toContain('Activation: trigger-only.');
    expect(systemOf(second)).not.toContain('Activation:');
    expect(systemOf(third)).toBe(systemOf(second));
    expect(stableOf(first)).toBe(stableOf(second));
    expect(stableOf(first)).toContain(
      '"schema": "holdfast.inbound_meta.v1",\n  "chat_id": "-100",\n  "channel": "telegram"',
    );
    expect(stableOf(first)).toMatch(/\n\nBe kind\.\n/);
    for (const text of ['Team Chat', 'Mallory', 'Wayne', '"77"']) expect(systemOf(first)).not.toContain(text);
  });

  test("is explained again when the agent's role changes", async () => {
    await arrange();
    const name = newName('telegram:group:');
    await say(name, 'one', group);
    await arrange({ channels: { telegram: { groupActivation: 'always' } } });
    expect(systemOf(await say(name, 'two', group))).toContain('Activation: always-on.');
  });

  test('keeps its further instructions until new ones arrive', async () => {
    await arrange();
    const name = newName('subagent:');
    expect(stableOf(await say(name, 'one', { extraSystemPrompt: 'Your task: count.' }))).toContain(
      '## Subagent Context\n## Inbound Context (trusted metadata)',
    );
    expect(stableOf(await say(name, 'two'))).toContain('\n\nYour task: count.\n');
    const [withdrawn, later] = [await say(name, 'three', { extraSystemPrompt: '' }), await say(name, 'four')];
    for (const turn of [withdrawn, later])
      expect(systemOf(turn)).toContain('## Further Instructions\nThe further instructions above no longer hold.\n');
  });

  test('changes its further instructions below the cache boundary, and the part above keeps its bytes', async () => {
    await arrange();
    const name = newName('subagent:');
    const first = await say(name, 'one', { extraSystemPrompt: 'Count to ten.' });
    const second = await say(name, 'two', { extraSystemPrompt: 'Count to twenty.' });
    const third = await say(name, 'three', { extraSystemPrompt: 'Count to ten.' });
    expect(stableOf(second)).toBe(stableOf(first));
    expect(systemOf(second)).toContain(
      '## Further Instructions\nThese replace the further instructions above:\n\nCount to twenty.\n',
    );
    expect(systemOf(third)).toBe(systemOf(first));

    const plain = newName('subagent:');
    const without = await say(plain, 'one');
    const given = await say(plain, 'two', { extraSystemPrompt: 'Count.' });
    expect(stableOf(given)).toBe(stableOf(without));
    expect(systemOf(given)).toContain('## Further Instructions\nCount.\n');
  });

  test('is not changed by messages of another session, nor by a tick, which can choose its model', async () => {
    await arrange();
    const name = newName('telegram:direct:');
    const { chatType: _group, ...direct } = group;
    const before = stableOf(await say(name, 'one', direct));
    const provenance = { kind: 'inter_session', sourceSession: 'agent:main:main' };
    expect(stableOf(await say(name, 'two', { provenance } as object))).toBe(before);
    const tick = await say(name, 'three', { model: 'anthropic/claude-haiku-4-5' }, 'cron');
    expect(stableOf(tick)).toBe(before);
    expect(tick.system[1]?.text).toContain(' | model=anthropic/claude-haiku-4-5 | default_model=');
  });

  test('that begins the main session contains the list of channels', async () => {
    const accounts = { main: { name: 'Bot', details: ['dm:allowlist', 'token:env'] } };
    await arrange({ channels: { telegram: { phone: '+1555', accounts }, signal: { enabled: false } } });
    const name = 'main';
    expect(promptOf(await say(name, 'hi'))).toBe(
      'System: Signal: disabled\nSystem: Telegram: configured +1555\nSystem:   - main (Bot) (dm:allowlist, token:env)\n\nhi',
    );
    expect(promptOf(await say(name, 'hi'))).toBe('hi');
  });
});

test('50 turns of every kind have one stable part', async () => {
  await arrange(
    { agents: { defaults: { models: { fast: 'anthropic/claude-haiku-4-5' } } }, channels: { telegram: {} } },
    { 'AGENTS.md': 'agents', 'HEARTBEAT.md': 'beat', 'skills/a/SKILL.md': '---\ndescription: d\n---\n' },
  );
  const name = newName('telegram:group:');
  const worker = rig.worker();
  closers.push(async () => worker.stop());
  const chat: Partial<InboundMessage> = { channel: 'telegram', chatId: '-1', chatType: 'group' };
  const turns: [text: string, more: Partial<InboundMessage>, kind: Parameters<TurnRig['send']>[3]][] = [
    ['hi', chat, 'message'],
    ['high think', { ...chat, sender: { name: 'Eve' }, replyTo: { body: 'q' }, wasMentioned: true }, 'message'],
    ['[System Message] done', {}, 'announcement'],
    ['poll', {}, 'heartbeat'],
    ['tick', {}, 'cron'],
    ['again', { ...chat, model: 'fast', media: [{ path: '/x.pdf' }] }, 'followup'],
    ['item', { ...chat, untrustedContext: ['c'], thread: { historyBody: 'h' } }, 'batch'],
  ];
  for (let turn = 0; turn < 50; turn += 1) {
    const [text, more, kind] = turns[turn % turns.length] as (typeof turns)[number];
    if (turn % 10 === 5) await put('AGENTS.md', `edited in turn ${turn}`);
    await rig.send(name, text, { ...more, ...(kind === 'message' && { messageId: `${turn}` }) }, kind);
    await worker.run(name);
  }
  const requests = rig.scripted.requests.filter((each) => each.headers['x-holdfast-session']?.endsWith(name));
  expect(requests).toHaveLength(50);
  expect(new Set(requests.map(({ body }) => stableOf(body as unknown as Received))).size).toBe(1);
});

describe('settings', () => {
  test('all appear in their place', async () => {
    await arrange({
      agents: {
        defaults: {
          models: { smart: 'anthropic/claude-opus-4-5', fast: 'anthropic/claude-haiku-4-5' },
          userTimezone: 'Europe/Berlin',
          promptContribution: {
            stablePrefix: 'Prefix.',
            dynamicSuffix: 'Suffix.',
            section_overrides: {
              interaction_style: '## Interaction\nCalm.',
              execution_bias: '## Execution Bias\nAct.',
            },
          },
        },
      },
      owner: { phone: '+15551234567', display: 'hash', displaySecret: 's3cret' },
      sandbox: { enabled: true, runtime: 'external', hostMount: '/srv/box', browserUrl: 'http://localhost:6080' },
      docs: { path: DOCS },
      tts: { enabled: true, hint: 'Speak slowly.' },
      reactions: { mode: 'extensive' },
      reasoning: { enabled: true },
      channels: { telegram: { capabilities: ['inlineButtons'] } },
    });
    const { system } = await say(newName(), 'hi', { channel: 'telegram' });
    const [stable, dynamic] = system.map(({ text }) => text);
    for (const text of [
      '\n## Interaction\nCalm.\n## Tool Call Style\n',
      '\n## Execution Bias\nAct.\nPrefix.\n## Safety\n',
      '\n## Model Aliases\n',
      '\n- fast: anthropic/claude-haiku-4-5\n- smart: anthropic/claude-opus-4-5\n',
      `\nHoldfast docs: ${DOCS}\nFiles, to be read with \`read\` by their whole path: `,
      `\nContainer workspace: ${workspaceDir()}\nHost mount: /srv/box\nWorkspace access: read-write\n`,
      '\nBrowser: http://localhost:6080\n',
      '\nAuthorized senders: d57f50733cac. These senders are allowlisted; do not assume they are the owner.\n',
      '\nTime zone: Europe/Berlin\n',
      '\n## Voice (TTS)\nSpeak slowly.\n',
      '\nReactions are enabled for telegram in EXTENSIVE mode.\n',
      '\n## Reasoning Format\n',
    ]) {
      expect(stable).toContain(text);
    }
    expect(dynamic).toMatch(/Suffix\.\n## Heartbeats\nHeartbeat prompt: Read HEARTBEAT\.md[^]*\n## Runtime\n/);
    expect(dynamic).toMatch(/ \| shell=(bash|sh) \| channel=telegram \| capabilities=inlineButtons \| thinking=off\n/);
  });

  test('add nothing by default where they are off', async () => {
    await arrange({ heartbeat: { enabled: false }, docs: { enabled: false }, owner: { ids: ['+15551234567'] } });
    const system = systemOf(await say(newName(), 'hi', { channel: 'discord' }));
    expect(system).not.toMatch(
      /^## (?:Sandbox|Documentation|Voice|Reactions|Reasoning Format|Heartbeats|Model Aliases)/m,
    );
    expect(system).toContain('Authorized senders: +15551234567.');
  });

  test('without a secret the owner is shown as a plain hash', async () => {
    await arrange({ owner: { phone: '+15551234567', display: 'hash' } });
    expect(systemOf(await say(newName(), 'hi'))).toContain('Authorized senders: 8a59780bb8cd.');
  });

  test('can replace the whole prompt', async () => {
    const systemPromptOverride = 'You are a pipe.\n--- SYSTEM PROMPT CACHE BOUNDARY ---\nToday: calm.';
    await arrange({ agents: { list: [{ id: 'main', systemPromptOverride }] } }, { 'AGENTS.md': 'a'.repeat(30_000) });
    const request = await say(newName(), 'hi');
    expect(request.system).toEqual([
      { type: 'text', text: 'You are a pipe.', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'Today: calm.' },
    ]);
    expect(promptOf(request)).toBe('hi');
  });

  test.each(['subagent:x', 'cron:x'])('a session %s is minimal at most', async (name) => {
    await arrange({}, { 'AGENTS.md': 'agents', 'MEMORY.md': 'memory', 'HEARTBEAT.md': 'beat' });
    const system = systemOf(await say(name, 'go'));
    expect(system).toContain('agents');
    expect(system).not.toMatch(/memory\n|beat|## (?:Messaging|Heartbeats|Silent Replies)/);
  });

  test('a mode of none leaves the identity line', async () => {
    await arrange({ agents: { defaults: { prompt_mode: 'none' } } }, { 'AGENTS.md': 'a'.repeat(30_000) });
    const request = await say(newName(), 'hi');
    expect(request.system).toEqual([
      expect.objectContaining({ text: 'You are a personal assistant running inside Holdfast.' }),
    ]);
    expect(promptOf(request)).toBe('hi');
  });
});
