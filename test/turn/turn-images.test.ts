// Images in turns, judged by the requests that a model server received and by the stored rows.
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/inbound.ts';
import type { ModelMessage } from '../../src/core/model-request.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readEntries, readSnapshots } from '../rows/entries.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const REMOVED = '[image data removed - already processed by model]';

let rig: TurnRig;
let workspace: string;
let media: string;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url);
  workspace = rig.config.workspace.path;
  media = join(rig.config.runtime.dataDir, 'media');
  await Promise.all([mkdir(workspace, { recursive: true }), mkdir(media, { recursive: true })]);
  const made = rig;
  onEnd(() => made.close());
});

/** Writes a picture of that width, which identifies it; returns its base64. */
async function picture(path: string, width: number): Promise<string> {
  const bytes = await sharp({ create: { width, height: 2, channels: 3, background: '#123456' } })
    .png()
    .toBuffer();
  await writeFile(path, bytes);
  return bytes.toString('base64');
}

/** The messages of the last request of a session: texts, and images by their data. */
function lastMessages(name: string): { role: string; blocks: string[] }[] {
  const requests = rig.scripted.requests.filter(
    (request) => request.headers['x-holdfast-session'] === `agent:main:${name}`,
  );
  const last = requests.at(-1);
  if (last === undefined) throw new Error(`The model received no request for ${name}.`);
  const { messages } = last.body as { messages: ModelMessage[] };
  return messages.map(({ role, content }) => ({ role, blocks: content.map(shown) }));
}

function shown(block: ModelMessage['content'][number]): string {
  if (block.type === 'text') return block.text;
  return block.type === 'image' ? block.source.data : block.type;
}

/** The contents of the user messages of the last request. */
const userBlocks = (name: string): string[][] =>
  lastMessages(name).flatMap(({ role, blocks }) => (role === 'user' ? [blocks] : []));

async function say(name: string, text: string, more: Partial<InboundMessage> = {}): Promise<void> {
  const worker = rig.worker();
  await rig.send(name, text, more);
  expect(await worker.run(name)).toMatchObject({ kind: 'ended' });
  worker.stop();
}

/** Whether each request of a session can still be derived with the bytes that were sent. */
async function matchesOf(name: string): Promise<unknown[]> {
  const calls = await readModelCalls(rig, { sessionId: await rig.sessionOf(name) }, 'turnId', 'callNo');
  const derived = calls.map(({ turnId, callNo }) =>
    deriveRequest(rig.database, { turnId: String(turnId), callNo: Number(callNo), defaultThinking: () => 'off' }),
  );
  return (await Promise.all(derived)).map((request) => request?.matches);
}

test('attached files are shown first, then those that the text names', async () => {
  const attached = await picture(join(media, 'photo one.png'), 10);
  const named = await picture(join(workspace, 'plan.png'), 11);
  await say('both', 'compare with ./plan.png please', {
    media: [{ path: join(media, 'photo one.png'), type: 'image/png' }, { path: '/somewhere/notes.pdf' }],
  });
  const [blocks = []] = userBlocks('both');
  expect(blocks.slice(1)).toEqual([attached, named]);
  expect(blocks[0]).toMatch(/^\[media attached: 2 files\]\n/);
  expect(blocks[0]).toMatch(/compare with \.\/plan\.png please$/);
});

describe('an image that is not shown is mentioned', () => {
  test('under the note of the attachments', async () => {
    await say('missing', 'look', { media: [{ path: join(media, 'gone.png'), type: 'image/png' }] });
    const [[text = ''] = []] = userBlocks('missing');
    expect(text).toMatch(
      /^\[media attached: .*gone\.png \(image\/png\)\]\n\n\[image not shown: .*gone\.png: not found in the folders for images\]\n\nlook$/,
    );
  });

  test('at the end, when only the text names it', async () => {
    await say('outside', 'what is on /etc/secret.png?');
    expect(userBlocks('outside')).toEqual([
      ['what is on /etc/secret.png?\n\n[image not shown: /etc/secret.png: not found in the folders for images]'],
    ]);
  });

  test('for a model without image support', async () => {
    await picture(join(workspace, 'blind.png'), 12);
    await say('blind', 'what is on ./blind.png?', { model: 'anthropic/claude-2.1' });
    expect(userBlocks('blind')).toEqual([
      ['what is on ./blind.png?\n\n[image not shown: ./blind.png: the model takes no images]'],
    ]);
  });

  test('but not if it is a remote one, which is never loaded', async () => {
    await say('network', 'see https://example.org/a.png', {
      media: [{ url: 'https://example.org/b.png', type: 'image/png' }],
    });
    const [blocks = []] = userBlocks('network');
    expect(blocks).toHaveLength(1);
    expect(blocks[0]).not.toContain('image not shown');
  });
});

describe('images of earlier prompts', () => {
  test('follow their prompts for three turns, also when the files change; then a marker replaces them', async () => {
    const data = await picture(join(workspace, 'first.png'), 20);
    await say('aging', 'look at ./first.png');
    await rm(join(workspace, 'first.png'));
    for (const text of ['two', 'three', 'four']) {
      await say('aging', text);
      expect(userBlocks('aging')[0]).toEqual(['look at ./first.png', data]);
    }
    await say('aging', 'five');
    expect(userBlocks('aging')[0]).toEqual(['look at ./first.png', REMOVED]);
    expect(await matchesOf('aging')).toEqual([true, true, true, true, true]);
  });

  test('are shown once: with the prompt of the turn, later with the first prompt that names them', async () => {
    const data = await picture(join(workspace, 'again.png'), 21);
    await say('once', 'one ./again.png');
    await say('once', 'two ./again.png');
    expect(userBlocks('once')).toEqual([['one ./again.png'], ['two ./again.png', data]]);
    await say('once', 'three');
    expect(userBlocks('once')).toEqual([['one ./again.png', data], ['two ./again.png'], ['three']]);
    expect(await matchesOf('once')).toEqual([true, true, true]);
  });

  test('are markers for a model without image support, and are shown again to one that has it', async () => {
    const data = await picture(join(workspace, 'switch.png'), 22);
    await say('switch', 'one ./switch.png');
    await say('switch', 'two', { model: 'anthropic/claude-2.1' });
    expect(userBlocks('switch')[0]).toEqual(['one ./switch.png', REMOVED]);
    await say('switch', 'three');
    expect(userBlocks('switch')[0]).toEqual(['one ./switch.png', data]);
  });

  test('are shown by a worker that runs the session for the first time', async () => {
    const data = await picture(join(workspace, 'heir.png'), 23);
    await say('heir', 'one ./heir.png');
    // Each `say` uses its own worker.
    await say('heir', 'two');
    expect(userBlocks('heir')[0]).toEqual(['one ./heir.png', data]);
  });
});

test('the transcript stays small: an image is a snapshot, kept once', async () => {
  const data = await picture(join(workspace, 'kept.png'), 30);
  await say('kept-a', 'see ./kept.png');
  await say('kept-b', 'see ./kept.png');
  const entries = await readEntries(
    rig,
    { sessionId: [await rig.sessionOf('kept-a'), await rig.sessionOf('kept-b')] },
    'contentText',
  );
  expect(JSON.stringify(entries)).not.toContain(data);
  const snapshots = await readSnapshots(rig, {}, 'content');
  expect(snapshots.filter(({ content }) => JSON.stringify(content).includes(data))).toHaveLength(1);
});

test('a turn that is resumed shows what was loaded when it was opened', async () => {
  const data = await picture(join(workspace, 'resumed.png'), 31);
  await rig.send('resumed', 'see ./resumed.png');
  const leaving = rig.worker({ isDraining: () => true });
  expect(await leaving.run('resumed')).toMatchObject({ kind: 'released' });
  leaving.stop();
  await rm(join(workspace, 'resumed.png'));
  const heir = rig.worker();
  expect(await heir.run('resumed')).toMatchObject({ kind: 'ended' });
  heir.stop();
  expect(userBlocks('resumed')).toEqual([['see ./resumed.png', data]]);
  expect(await matchesOf('resumed')).toEqual([true]);
});

test('text of a plugin can name images, and llm_input gets the number of images that the prompt shows', async () => {
  const data = await picture(join(workspace, 'plugin.png'), 32);
  const counts: number[] = [];
  const { plugins } = pluginsWith([
    ['before_prompt_build', () => ({ prependContext: 'as on ./plugin.png' })],
    ['llm_input', ({ imagesCount }: { imagesCount: number }) => void counts.push(imagesCount)],
  ]);
  const worker = rig.worker({ plugins });
  await rig.send('plugin', 'hi');
  await worker.run('plugin');
  worker.stop();
  expect([userBlocks('plugin'), counts]).toEqual([[['as on ./plugin.png\n\nhi', data]], [1]]);
});
