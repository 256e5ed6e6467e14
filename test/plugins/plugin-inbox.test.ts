// A plugin that queues: the tool that docs/plugins.md shows, in real turns on a real database.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/logger.ts';
import { loadPlugins } from '../../src/plugins/load-plugins.ts';
import { createPluginInbox } from '../../workers/plugin-inbox.ts';
import { readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { countSystemEvents, readSystemEvents } from '../rows/system-events.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { aToolCall } from '../tools/tool-call.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from '../turn/turn-rig.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });

let rig: TurnRig;
let cwd: string;
let recorded: ReturnType<typeof recordedService>;

shareAmongTests(async (onEnd) => {
  cwd = await mkdtemp(join(tmpdir(), 'holdfast-plugin-inbox-'));
  const folder = cwd;
  onEnd(() => rm(folder, { recursive: true, force: true }));
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  const made = rig;
  onEnd(() => made.close());
  const page = await readFile(join(ROOT, 'docs/plugins.md'), 'utf8');
  const source = /```js\n(export const id = 'orders';[^]*?)```/.exec(page)?.[1];
  if (source === undefined) throw new Error('docs/plugins.md shows no tool that queues.');
  await writeFile(join(cwd, 'orders.mjs'), source);
});
beforeEach(() => {
  recorded = recordedService(rig);
});

const inbox = () => createPluginInbox(recorded.service);

/** The tool of the documentation, as a worker loads it. */
async function documentedTool() {
  const settings = { modules: ['orders.mjs'], entries: {} };
  const { tools } = await loadPlugins(settings, { logger, cwd, inbox: inbox() });
  const tool = tools.find(({ spec }) => spec.name === 'order_tea');
  if (tool === undefined) throw new Error('The plugin has registered no tool order_tea.');
  return tool;
}

describe('the tool of the documentation', () => {
  test('sends a message that is answered and queues an event, once however often its call runs (G2, G11)', async () => {
    const tool = await documentedTool();
    const call = aToolCall({ workspaceDir: cwd, sessionKey: 'agent:main:asker', idempotencyKey: 'call-1' });
    expect(await tool.run({ kind: 'green' }, call)).toMatchObject({ content: 'Ordered.' });
    expect(recorded.rings).toMatchObject([{ kind: 'inbound', lane: 'main' }]);
    expect(await (await documentedTool()).run({ kind: 'green' }, call)).toMatchObject({
      content: 'It was ordered before.',
    });
    const worker = rig.worker();
    await worker.run('kitchen');
    worker.stop();
    const kitchen = [await rig.sessionOf('kitchen')];
    expect(await readInputs(rig, { sessionId: kitchen[0] }, 'text', 'status')).toEqual([
      { text: 'Order: green tea', status: 'answered' },
    ]);
    expect(await readSystemEvents(rig, { sessionId: await rig.sessionOf('asker') }, 'text', 'isTrusted')).toEqual([
      { text: 'Ordered green tea', isTrusted: false },
    ]);
  });

  test('has one effect when several workers run its call at the same time (G2)', async () => {
    const tool = await documentedTool();
    const call = aToolCall({ workspaceDir: cwd, sessionKey: 'agent:main:crowd', idempotencyKey: 'call-2' });
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => tool.run({ kind: 'black' }, call)));
    expect(outcomes.filter(({ content }) => content === 'Ordered.')).toHaveLength(1);
    expect(await countSystemEvents(rig, { sessionId: await rig.sessionOf('crowd') })).toBe(1);
  });
});

test('a message of a plugin has the queue mode of its channel, as one over HTTP has', async () => {
  const { messages } = rig.config;
  const queue = { ...messages.queue, byChannel: { api: 'followup' as const } };
  const { service } = recordedService({ ...rig, config: { ...rig.config, messages: { ...messages, queue } } });
  const { id } = await createPluginInbox(service).sendMessage('tea', { sessionKey: 'by-channel', text: 'x', key: 'k' });
  expect(await readInputs(rig, { id }, 'mode')).toEqual([{ mode: 'followup' }]);
});

test('a message of a plugin is data: a word of a command in it ends no transcript and is not removed', async () => {
  const worker = rig.worker();
  for (const [at, text] of ['first', '/new orders', '/stop'].entries()) {
    await inbox().sendMessage('tea', { sessionKey: 'data', text, key: `data-${at}` });
    await worker.runSession(await rig.sessionOf('data'));
  }
  expect(await readEntries(rig, { sessionKey: 'agent:main:data', kind: 'prompt' }, 'transcriptNo', 'text')).toEqual(
    ['first', '/new orders', '/stop'].map((text) => ({ transcriptNo: 1, text })),
  );
});

describe('what is not queued', () => {
  test.each([
    [{ sessionKey: 'x', text: ' ', key: 'k' }, 'text is not a text'],
    [{ sessionKey: 'x', text: 'y' }, 'key is not a text'],
    [{ sessionKey: 'agent:stranger:x', text: 'y', key: 'k' }, 'the agent "stranger" does not exist'],
    [{ sessionKey: 'x', text: 'y', key: 'k', deliver: { url: 'ftp://x' } }, 'deliver.url'],
  ])('%j is refused with the field', async (message, text) => {
    await writeFile(
      join(cwd, 'bad.mjs'),
      'export let api; export function register(given) { api = given; } export const id = "bad";',
    );
    await loadPlugins({ modules: ['bad.mjs'], entries: {} }, { logger, cwd, inbox: inbox() });
    const { api } = (await import(join(cwd, 'bad.mjs'))) as { api: { sendMessage(message: object): Promise<unknown> } };
    await expect(api.sendMessage(message)).rejects.toThrow(text);
  });
});
