// Goal: what a prompt says follows the channel of its message and the knobs of the configuration,
// by either of their names. Method: a service with several channels and with knobs turned the other
// way than by default, and the requests that its model server received.
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { headingsOf } from './rig/prompt-text.ts';
import { useService } from './rig/use-service.ts';

const BOUNDARY = '--- SYSTEM PROMPT CACHE BOUNDARY ---';

const holder = useService({
  config: {
    agents: {
      defaults: { prompt_mode: 'full', userTimezone: 'America/New_York', envelopeTimezone: 'user' },
      list: [
        { id: 'main' },
        {
          id: 'provided',
          promptContribution: {
            stablePrefix: 'The prefix of the provider.  \r\n',
            dynamicSuffix: 'The suffix of the provider.',
            sectionOverrides: {
              interactionStyle: '## Interaction Style\nSpeak softly.',
              toolCallStyle: '## Tool Call Style\nSilently.',
              executionBias: '## Execution Bias\nThink first.',
            },
          },
        },
        { id: 'overridden', systemPromptOverride: `Above the line.\n${BOUNDARY}\nBelow the line.` },
        { id: 'below', chatContextPlace: 'dynamic' },
      ],
    },
    workspace: { bootstrap_files: ['AGENTS.md', 'RULES.md'] },
    plugins: [fileURLToPath(new URL('rig/named-tools.ts', import.meta.url))],
    heartbeat: { enabled: false },
    docs: { enabled: false },
    memory: { citations: 'off' },
    channels: {
      telegram: {
        capabilities: ['inlineButtons', 'polls'],
        messageHints: ['Stickers are welcome.', 'A poll has two to ten options.'],
        phone: '+1555',
        accounts: { bot1: { name: 'Bot', details: ['dm:allowlist'] } },
      },
      signal: { reactions: 'extensive', capabilities: ['media'] },
      connected: {
        adapter: 'telegram',
        mode: 'webhook',
        accounts: { main: { token: '1:a', secretToken: 'b', requireMention: false } },
      },
      discord: { enabled: false, label: 'Our Discord', groupActivation: 'always' },
    },
  },
  files: { 'RULES.md': 'Only this rule.' },
});

async function requestOn(channel: string, more: object = {}) {
  const { service } = holder;
  return (await service.say(service.newSession(`${channel}:direct`), { text: 'hi', channel, ...more })).request;
}

describe('the channel of a message', () => {
  test('is named in the runtime line with its capabilities', async () => {
    expect((await requestOn('telegram')).systemText).toContain(
      ' | channel=telegram | capabilities=inlineButtons,polls | ',
    );
    expect((await requestOn('slack')).systemText).toContain(' | channel=slack | capabilities=none | ');
  });

  test('decides whether and how much the agent reacts', async () => {
    expect((await requestOn('telegram')).systemText).toContain('Reactions are enabled for telegram in MINIMAL mode.');
    expect((await requestOn('telegram')).systemText).toContain('at most 1 reaction per 5-10 exchanges');
    expect((await requestOn('signal')).systemText).toContain('Reactions are enabled for signal in EXTENSIVE mode.');
    expect(headingsOf((await requestOn('slack')).systemText)).not.toContain('## Reactions');
  });

  test('has its buttons in the message tool, beside the names of the channels', async () => {
    const { systemText } = await requestOn('telegram');
    expect(systemText).toContain('`action=send` with `buttons=[[{text,callback_data,style?}]]`');
    expect(systemText).toMatch(/name yours in `channel` \(connected\|signal\|telegram\)/);
    expect((await requestOn('signal')).systemText).not.toContain('callback_data');
  });

  test('has the capabilities of its adapter, and the part in groups that its account gives', async () => {
    const { systemText, body } = await requestOn('connected', { chatType: 'group', chatId: '-1', accountId: 'main' });
    for (const sentence of [
      'capabilities=inlineButtons,media,reactions',
      'You are in a group chat on connected.',
      'Activation: always-on.',
      'Inline buttons are supported',
      'Files can be sent',
      'Reactions are supported',
      'Reactions are enabled for connected in MINIMAL mode.',
    ])
      expect(systemText).toContain(sentence);
    const tool = (body.tools as { name: string; input_schema: object }[]).find(({ name }) => name === 'message');
    expect(tool?.input_schema).toMatchObject({
      properties: { buttons: {}, media: {}, emoji: {}, action: { enum: ['send', 'reply', 'react'] } },
    });
  });

  test('decides the capabilities of the message tool, in the prompt and in its schema alike', async () => {
    const fieldsOn = async (channel: string) => {
      const { systemText, body } = await requestOn(channel);
      const tools = body.tools as { name: string; input_schema: { properties: Record<string, { enum?: string[] }> } }[];
      const properties = tools.find(({ name }) => name === 'message')?.input_schema.properties ?? {};
      const tool = systemText.slice(systemText.indexOf('### message tool'));
      return { tool, fields: Object.keys(properties), actions: properties['action']?.enum };
    };
    const plain = await fieldsOn('slack');
    expect(plain.fields).toEqual(['action', 'message', 'to', 'channel', 'replyTo', 'buttons']);
    expect(plain.actions).toEqual(['send', 'reply']);
    expect(plain.tool).not.toMatch(/react|media|poll/i);
    const telegram = await fieldsOn('telegram');
    expect(telegram.actions).toEqual(['send', 'reply', 'react']);
    expect(telegram.fields).toContain('emoji');
    expect(telegram.fields).not.toContain('media');
    expect(telegram.tool).toContain('`action=react` with `emoji`');
    const signal = await fieldsOn('signal');
    expect(signal.fields).toEqual(expect.arrayContaining(['media', 'emoji']));
    expect(signal.tool).toContain('`action=send` with `media`');
  });

  test('decides whether a message with files is followed by the hint how to send files back', async () => {
    const media = [{ path: '/m/a.jpg', type: 'image/jpeg' }];
    const textOn = async (channel: string) => JSON.stringify((await requestOn(channel, { media })).body.messages);
    expect(await textOn('slack')).not.toContain('prefer the message tool');
    expect(await textOn('signal')).toContain('prefer the message tool');
  });

  test('has its hints for the message tool, one line each', async () => {
    const { systemText } = await requestOn('telegram');
    const tool = systemText.slice(systemText.indexOf('### message tool'), systemText.indexOf('## Group Chat Context'));
    expect(tool).toMatch(/\n- Stickers are welcome\.\n- A poll has two to ten options\.\n$/);
    expect((await requestOn('signal')).systemText).not.toContain('Stickers');
  });

  test('decides how the agent takes part in a group, which the first turn explains', async () => {
    const group = { chatType: 'group', chatId: 'g' };
    const { service } = holder;
    const say = async (channel: string) =>
      (await service.say(service.newSession(`${channel}:group`), { text: 'hi', channel, ...group })).request.systemText;
    expect(await say('discord')).toMatch(/Activation: always-on\..*NO_REPLY/);
    expect(await say('telegram')).toContain('Activation: trigger-only.');
  });
});

describe('a new main session', () => {
  test('contains the channels, before its events and without times', async () => {
    const { service } = holder;
    await service.addSystemEvent('main', 'E');
    const { request } = await service.say('main', 'hi');
    expect(request.prompt).toMatch(
      new RegExp(
        [
          '^System: Connected: configured',
          'System: {3}- main',
          'System: Our Discord: disabled',
          'System: Signal: configured',
          'System: Telegram: configured \\+1555',
          'System: {3}- bot1 \\(Bot\\) \\(dm:allowlist\\)',
          'System: \\[[\\d-]+ [\\d:]+ E[SD]T\\] E',
          '',
          'hi$',
        ].join('\n'),
      ),
    );
    expect((await service.say('main', 'again')).request.prompt).toBe('again');
  });
});

describe('a knob', () => {
  let systemText: string;
  let prompt: string;

  shareAmongTests(async () => {
    const request = await requestOn('telegram', { timestamp: '2026-02-27T00:56:00Z' });
    ({ systemText, prompt } = request);
  });

  test('workspace.bootstrap_files says which files are shown', () => {
    const files = headingsOf(systemText).flatMap((line) => /\/([A-Z]+\.md)$/.exec(line)?.[1] ?? []);
    expect(files).toEqual(['AGENTS.md', 'RULES.md']);
    expect(systemText).toContain('Only this rule.');
  });

  test.each([
    ['heartbeat.enabled', '## Heartbeats'],
    ['docs.enabled', '## Documentation'],
    ['sandbox.enabled', '## Sandbox'],
    ['tts.enabled', '## Voice (TTS)'],
    ['reasoning.enabled', '## Reasoning Format'],
    ['owner.phone', '## Authorized Senders'],
  ])('%s leaves its section out when it is off', (_knob, heading) => {
    expect(headingsOf(systemText)).not.toContain(heading);
  });

  test('memory.citations leaves out how sources are named when it is off', () => {
    expect(headingsOf(systemText)).toContain('## Memory Recall');
    expect(systemText).not.toContain('Source: <path#line>');
  });

  test('userTimezone and envelopeTimezone decide how times are written', () => {
    expect(systemText).toContain('Time zone: America/New_York');
    expect(prompt).toContain('"timestamp": "Thu 2026-02-26 19:56 EST"');
  });
});

describe('an agent with words of its provider', () => {
  test('has them at their places and in the three sections that may be reworded', async () => {
    const { request } = await holder.service.say('agent:provided:x', 'hi');
    const [stable, dynamic] = request.system.map(({ text }) => text ?? '');
    expect(stable).toMatch(
      /\n## Interaction Style\nSpeak softly\.\n## Tool Call Style\nSilently\.\n## Execution Bias\nThink first\.\nThe prefix of the provider\.\n## Safety\n/,
    );
    expect(dynamic).toContain('The suffix of the provider.\n## Runtime');
  });

  test('or with its own prompt is sent only that, divided at its boundary', async () => {
    const { request } = await holder.service.say('agent:overridden:x', 'hi');
    expect(request.system.map(({ text }) => text)).toEqual(['Above the line.', 'Below the line.']);
  });

  test('may have the context of the chat below the boundary', async () => {
    const { request } = await holder.service.say('agent:below:x', 'hi');
    expect(request.system[0]?.text).not.toContain('## Inbound Context');
    expect(request.system[1]?.text).toContain('## Inbound Context (trusted metadata)');
  });
});
