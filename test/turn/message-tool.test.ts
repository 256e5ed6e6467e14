// The message tool in real turns: its message is in the outbox before the turn ends, once per call;
// where it can be sent; and the reply does not repeat it (G21, G30).
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { webhookPayloads } from '../../src/contract/webhooks.ts';
import type { InboundMessage } from '../../src/core/inbound.ts';
import { outgoingFolder } from '../../src/files/copies.ts';
import { newId } from '../../src/ids.ts';
import { createLogger } from '../../src/logger.ts';
import { createMessageTool } from '../../src/tools/message-tool.ts';
import type { ToolCall } from '../../src/tools/tool.ts';
import { createToolPorts } from '../../workers/create-turn-context.ts';
import { countDeliveries, readDeliveries } from '../rows/deliveries.ts';
import { readEntries } from '../rows/entries.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { aToolCall } from '../tools/tool-call.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let rig: TurnRig;
let recorded: ReturnType<typeof recordedService>;
const calls: ToolCall[] = [];

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const settings = {
    channels: {
      webhook: { url: 'http://127.0.0.1:9/hook' },
      telegram: { capabilities: ['media'] },
      signal: { reactions: 'off' },
      matrix: { enabled: false },
    },
    tools: { message: { channels: ['signal', 'matrix'] } },
  };
  rig = await createTurnRig(database.url, { settings });
  recorded = recordedService(rig);
  const made = rig;
  onEnd(() => made.close());
});

function messageTool() {
  const { service } = recorded;
  const { options } = createToolPorts({
    service,
    logger: createLogger({ level: 'silent', format: 'json', name: 'test' }),
    owner: 'test',
  });
  if (options.message === undefined) throw new Error('There is no message tool.');
  const tool = createMessageTool(options.message);
  return { ...tool, run: (input: unknown, call: ToolCall) => (calls.push(call), tool.run(input, call)) };
}

const CHAT: Partial<InboundMessage> = {
  channel: 'telegram',
  chatId: '42',
  accountId: 'bot',
  messageId: 'm7',
  sender: { id: '42' },
};

/** Runs a turn in which the model calls the tool with these inputs and then replies. */
async function play(name: string, inputs: object[], reply: string, more: Partial<InboundMessage> = CHAT) {
  const tools = inputs.map((input) => `[[tool: message ${JSON.stringify(input)}]]`).join('');
  const worker = rig.worker({ tools: [messageTool()] });
  const id = `${name}-${Math.trunc(performance.now())}`;
  await rig.send(name, `${tools}[[reply: ${reply}]]`, { ...more, ...(more.messageId && { messageId: id }) });
  await worker.run(name);
  worker.stop();
  const sessionId = await rig.sessionOf(name);
  const deliveries = await readDeliveries(rig, { sessionId });
  const results = await readEntries(rig, { sessionId, kind: 'results' }, 'content');
  return {
    id,
    deliveries: deliveries.map((row) => ({ ...row, payload: row.payload as Record<string, unknown> })),
    results: results.flatMap((row) => row['content'] as { content: string; is_error?: boolean }[]),
  };
}

describe('a message', () => {
  test('is sent before the reply, to the chat of the session', async () => {
    const { deliveries, results } = await play('plain', [{ action: 'send', message: 'On it.' }], 'Done.');
    expect(deliveries.map(({ seq, payload }) => [seq, payload['type'], payload['text']])).toEqual([
      [1, 'message', 'On it.'],
      [2, 'reply', 'Done.'],
    ]);
    expect(deliveries[0]).toMatchObject({
      target: { url: 'http://127.0.0.1:9/hook' },
      payload: { recipient: { channel: 'telegram', accountId: 'bot', chatId: '42' }, sessionKey: 'agent:main:plain' },
    });
    expect(results[0]?.content).toMatch(/^Queued for telegram 42 as delivery [0-9a-f-]{36}\.$/);
    expect(recorded.rings.at(-1)).toMatchObject({ kind: 'deliver', ringNo: 1000 });
  });

  test('is sent to the reply address of the message', async () => {
    const { deliveries } = await play('own', [{ action: 'send', message: 'On it.' }], 'NO_REPLY', {
      deliver: { url: 'http://127.0.0.1:9/own' },
    });
    expect(deliveries).toMatchObject([{ target: { url: 'http://127.0.0.1:9/own' } }]);
  });

  test('can quote the message that is answered, or another', async () => {
    const { id, deliveries } = await play('quotes', [{ action: 'reply', message: 'This.' }], 'NO_REPLY');
    expect(deliveries[0]?.payload).toMatchObject({ replyToMessageId: id });
    const other = await play('quotes', [{ action: 'reply', message: 'That.', replyTo: 'x1' }], 'NO_REPLY');
    expect(other.deliveries.at(-1)?.payload).toMatchObject({ replyToMessageId: 'x1' });
  });

  test('is in the outbox once, however often its call is run (G21)', async () => {
    await play('twice', [{ action: 'send', message: 'Once.' }], '[[delay: 0]]ok');
    const { deliveries } = await play('twice', [{ action: 'send', message: 'Once.' }], 'ok');
    const last = calls.at(-1)!;
    const outcome = await messageTool().run({ action: 'send', message: 'Once.' }, last);
    expect(outcome.content).toMatch(/^Queued for telegram 42/);
    const n = await countDeliveries(rig, { sessionId: await rig.sessionOf('twice') });
    expect(n).toBe(deliveries.length);
  });

  test('of a turn that is over is not sent', async () => {
    await play('over', [{ action: 'send', message: 'In time.' }], 'ok');
    const late = aToolCall({ ...calls.at(-1)!, idempotencyKey: 'late' });
    expect(await messageTool().run({ action: 'send', message: 'Late.' }, late)).toEqual({
      content: 'message: the turn has ended; nothing was sent',
      isError: true,
    });
  });

  test('has buttons whose data every platform takes, or is refused', async () => {
    const withData = (data: string) => ({
      action: 'send',
      message: 'Choose.',
      buttons: [[{ text: 'Yes', callback_data: data }]],
    });
    const inputs = ['é'.repeat(33), ' /approve 1', 'é'.repeat(32)].map(withData);
    const { deliveries, results } = await play('buttons', inputs, 'ok');
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringContaining('callback_data: must have at most 64 bytes'),
      expect.stringContaining('callback_data: must not begin with a slash'),
      expect.stringMatching(/^Queued for telegram 42/),
    ]);
    expect(deliveries.filter(({ payload }) => payload['type'] === 'message')).toHaveLength(1);
  });

  test('is one of at most thirty in a turn', async () => {
    const inputs = Array.from({ length: 32 }, (_, index) => ({ action: 'send', message: `No. ${index}` }));
    const { deliveries, results } = await play('many', inputs, 'ok');
    expect(deliveries.filter(({ payload }) => payload['type'] === 'message')).toHaveLength(30);
    expect(results.at(-1)?.content).toContain('this turn has sent 30 messages');
  });
});

describe('a file', () => {
  const workspaceFile = (name: string) => join(rig.config.workspace.path, name);
  const copies = () => readdir(outgoingFolder(rig.config.runtime.dataDir)).catch((): string[] => []);

  test('of the workspace is a copy under the id of its delivery, a remote one is named by its URL', async () => {
    const workspace = rig.config.workspace.path;
    await mkdir(workspace, { recursive: true });
    await writeFile(join(workspace, 'chart.png'), 'x');
    await symlink('chart.png', join(workspace, 'latest'));
    const { deliveries } = await play(
      'media',
      [
        { action: 'send', message: 'The chart.', media: 'latest' },
        { action: 'send', media: 'https://example.org/a.png' },
      ],
      'NO_REPLY',
    );
    const path = join(outgoingFolder(rig.config.runtime.dataDir), deliveries[0]!.id);
    expect(await readFile(path, 'utf8')).toBe('x');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    expect(deliveries[0]?.payload).toMatchObject({ text: 'The chart.', media: [{ path, name: 'chart.png' }] });
    expect(deliveries[1]?.payload).toMatchObject({ text: '', media: [{ url: 'https://example.org/a.png' }] });
    for (const { payload } of deliveries) webhookPayloads.message.parse({ ...payload, deliveryId: newId() });
  });

  test.each(['../holdfast.json', '/etc/passwd', 'missing.png', 'ftp://example.org/a', 'https://u:p@example.org/a'])(
    'is not sent when it is %s (G30)',
    async (media) => {
      const { deliveries, results } = await play(
        `no-media-${media.replaceAll(/[^a-z]/g, '')}`,
        [{ action: 'send', message: 'Here.', media }],
        'NO_REPLY',
      );
      expect(deliveries).toEqual([]);
      expect(results[0]).toMatchObject({ is_error: true, content: expect.stringContaining('message: media: ') });
    },
  );

  test('is copied once, however often its call is run, and as it was at the first (G21)', async () => {
    await writeFile(workspaceFile('report.txt'), 'first');
    const before = await copies();
    const input = { action: 'send', media: 'report.txt' };
    const { deliveries } = await play('copied', [input], 'NO_REPLY');
    await writeFile(workspaceFile('report.txt'), 'second');
    const outcome = await messageTool().run(input, calls.at(-1)!);
    expect(outcome.content).toContain(deliveries[0]!.id);
    expect((await copies()).filter((name) => !before.includes(name))).toEqual([deliveries[0]!.id]);
    const { media } = deliveries[0]!.payload as { media: [{ path: string }] };
    expect(await readFile(media[0].path, 'utf8')).toBe('first');
    const late = aToolCall({ ...calls.at(-1)!, turnId: newId<string>(), idempotencyKey: newId<string>() });
    expect((await messageTool().run(input, late)).content).toBe('message: the turn has ended; nothing was sent');
    expect((await copies()).filter((name) => !before.includes(name))).toEqual([deliveries[0]!.id]);
  });

  test('is a regular one of a bounded size: a pipe, a folder, and 3 GB without content are refused at once', async () => {
    execFileSync('mkfifo', [workspaceFile('pipe')]);
    await mkdir(workspaceFile('folder'));
    await writeFile(workspaceFile('huge'), '');
    await truncate(workspaceFile('huge'), 3_000_000_000);
    const before = await copies();
    const inputs = ['pipe', 'folder', 'huge'].map((media) => ({ action: 'send', media }));
    const { deliveries, results } = await play('irregular', inputs, 'NO_REPLY');
    expect(deliveries).toEqual([]);
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringContaining('"pipe" is not a file of the workspace'),
      expect.stringContaining('"folder" is not a file of the workspace'),
      expect.stringContaining('"huge" has 3000000000 bytes, and a file on telegram may have 100000000'),
    ]);
    expect(await copies()).toEqual(before);
  });

  test('is not copied to its end by a call that was stopped', async () => {
    const before = await copies();
    await writeFile(workspaceFile('stopped'), 'x');
    const call = aToolCall({ ...calls.at(-1)!, signal: AbortSignal.abort(new Error('stopped')) });
    await expect(messageTool().run({ action: 'send', media: 'stopped' }, call)).rejects.toThrow('stopped');
    expect(await copies()).toEqual(before);
  });

  test('is not sent to a channel without file support', async () => {
    const call = { action: 'send', channel: 'signal', to: '+1555', message: 'Here.', media: 'https://example.org/a' };
    const { deliveries, results } = await play('no-files', [call], 'NO_REPLY');
    expect(deliveries).toEqual([]);
    expect(results[0]).toMatchObject({ is_error: true, content: expect.stringContaining('signal takes no files') });
  });
});

describe('a reaction', () => {
  test('refers to the message that is answered, or to another', async () => {
    const reactions = [
      { action: 'react', emoji: '👍' },
      { action: 'react', emoji: '🎉', replyTo: 'x1' },
    ];
    const { id, deliveries } = await play('react', reactions, 'NO_REPLY');
    expect(deliveries.map(({ payload }) => payload['react'])).toEqual([
      { emoji: '👍', messageId: id },
      { emoji: '🎉', messageId: 'x1' },
    ]);
    for (const { payload } of deliveries) webhookPayloads.message.parse({ ...payload, deliveryId: newId() });
  });

  test.each([
    [{ action: 'react' }, 'emoji: is needed'],
    [{ action: 'react', emoji: '👍', message: 'x' }, 'message: a reaction has no text'],
    [{ action: 'react', emoji: '👍', channel: 'signal', to: '1' }, 'action: signal takes no reactions'],
  ])('is refused for %j', async (call, text) => {
    const { deliveries, results } = await play(
      `no-react-${JSON.stringify(call).replaceAll(/[^a-z]/g, '')}`,
      [call],
      'NO_REPLY',
    );
    expect(deliveries).toEqual([]);
    expect(results[0]).toMatchObject({ is_error: true, content: expect.stringContaining(text) });
  });
});

describe('the permitted addresses (G30)', () => {
  test('include a chat of an open channel', async () => {
    const { deliveries } = await play(
      'open',
      [{ action: 'send', channel: 'signal', to: '+1555', message: 'Hi.' }],
      'NO_REPLY',
    );
    expect(deliveries[0]?.payload).toMatchObject({ recipient: { channel: 'signal', chatId: '+1555' } });
  });

  test.each([
    [
      { channel: 'telegram', to: '43' },
      'message: to: "43" is not open to messages. Without channel and to, the message goes to this chat. Open channels: signal.',
    ],
    [{ to: '43' }, 'message: to: "43" is not open to messages.'],
    [{ channel: 'discord', to: '1' }, 'message: channel: "discord" is not open to messages.'],
    [{ channel: 'matrix', to: '1' }, 'message: channel: "matrix" is not open to messages.'],
    [{ channel: 'signal' }, 'message: to: is needed to write to signal'],
  ])('do not include %j', async (address, text) => {
    const { deliveries, results } = await play(
      `closed-${JSON.stringify(address).replaceAll(/[^a-z0-9]/g, '')}`,
      [{ action: 'send', message: 'Hi.', ...address }],
      'NO_REPLY',
    );
    expect(deliveries).toEqual([]);
    expect(results[0]).toMatchObject({ is_error: true, content: expect.stringContaining(text) });
  });
});

describe('a reply with the same text', () => {
  test.each([
    ['to the same chat', [{ action: 'send', message: 'All done.' }], 'All  done.', 1],
    [
      'to the same chat, named',
      [{ action: 'send', channel: 'telegram', to: '42', message: 'All done.' }],
      'All done.',
      1,
    ],
    ['by a message that failed', [{ action: 'send', channel: 'discord', message: 'All done.' }], 'All done.', 1],
    ['to another chat', [{ action: 'send', channel: 'signal', to: '1', message: 'All done.' }], 'All done.', 2],
    ['with other words', [{ action: 'send', message: 'All done.' }], 'All done!', 2],
  ])('%s', async (title, inputs, reply, sent) => {
    const name = `same-${title.replaceAll(/[^a-z]/g, '')}`;
    const { deliveries } = await play(name, inputs, reply);
    expect(deliveries).toHaveLength(sent);
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'status', 'reply');
    expect(turn).toEqual({ status: 'completed', reply });
  });
});

test.each([
  [{ action: 'poll', message: 'x' }, 'message: action: '],
  [{ action: 'send', message: '  ' }, 'message: message: must not be blank'],
  [{ action: 'send' }, 'message: message: '],
  [{ action: 'send', message: 'x', target: 'y' }, '"target"'],
])('bad input names the field: %j', async (input, text) => {
  const outcome = await messageTool().run(input, aToolCall({ workspaceDir: '/' }));
  expect(outcome.isError).toBe(true);
  expect(outcome.content).toContain(text);
});
