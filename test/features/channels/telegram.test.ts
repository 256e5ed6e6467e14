// The adapter of Telegram against the wire of the Bot API: how a text and a file are shown.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  startScriptedTelegram,
  TELEGRAM_TOKEN,
  type ScriptedTelegram,
} from '../../../scripted-platform/telegram/scripted-telegram.ts';
import { divideText, sendPart, type PartPayload } from '../../../src/features/channels/send.ts';
import { loadConfig, type Config } from '../../../src/config.ts';
import { formatChannelUrl } from '../../../src/core/channel-address.ts';
import type { Platform } from '../../../src/features/channels/platform.ts';
import { openPlatform } from '../../../src/features/channels/platforms/telegram.ts';
import { outgoingFolder } from '../../../src/files/copies.ts';
import { telegramChannel } from './channel-rig.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';

const PERSON = 42;

let telegram: ScriptedTelegram;
let platform: Platform;

shareAmongTests(async (onEnd) => {
  telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  telegram.say({ from: PERSON, text: 'Hello' });
});

beforeAll(() => {
  platform = openPlatform({
    channel: 'telegram',
    account: 'main',
    mode: 'poll',
    token: TELEGRAM_TOKEN,
    baseUrl: telegram.url,
  });
});

const send = (own: object) =>
  platform.send({ chatId: String(PERSON) }, { markdown: '', deliveryId: 'd1', ...own }, AbortSignal.timeout(20_000));

/** What people see of a text, and each style with what it is of. */
async function shown(markdown: string) {
  await send({ markdown });
  const { text = '', entities = [] } = telegram.messages(PERSON).at(-1)!;
  const styles = entities.map(({ type, offset, length, url }) => [
    type,
    text.slice(offset, offset + length),
    ...(url === undefined ? [] : [url]),
  ]);
  return { text, styles };
}

describe('a text', () => {
  test.each([
    [
      'a reference',
      'See [the docs][d].\n\n[d]: https://d.example',
      'See the docs.',
      [['text_link', 'the docs', 'https://d.example']],
    ],
    [
      'the number of a source',
      'So it is [1].\n\n[1]: https://d.example',
      'So it is [1].',
      [['text_link', '[1]', 'https://d.example']],
    ],
    [
      'an address that nothing refers to',
      'Text\n\n[1]: https://d.example',
      'Text\n\n[1]: https://d.example',
      [['url', 'https://d.example']],
    ],
    ['a picture', '![A cat](https://c.example/x.png)', 'A cat', [['text_link', 'A cat', 'https://c.example/x.png']]],
    [
      'a picture without words',
      '![](https://c.example/x.png)',
      'https://c.example/x.png',
      [['url', 'https://c.example/x.png']],
    ],
    ['an address that is no link on Telegram', '[notes](notes.md)', 'notes (notes.md)', []],
    [
      'a link whose words are code',
      '[`run()`](https://d.example)',
      'run()',
      [['text_link', 'run()', 'https://d.example']],
    ],
    ['boxes', '- [ ] one\n- [x] two', '• ☐ one\n• ☑ two', []],
    ['a footnote', 'So it is.[^a]\n\n[^a]: By **law**.', 'So it is.[a]\n\n[a] By law.', [['bold', 'law']]],
    [
      'a link in a table',
      '| a |\n|-|\n| [x](https://d.example) |',
      'a\n---------------------\nx (https://d.example)',
      [['pre', 'a\n---------------------\nx (https://d.example)']],
    ],
    ['lists in lists', '- a\n  - b\n    1. c\n- d', '• a\n  • b\n    1. c\n• d', []],
    ['a list that begins later', '3. a\n4. b', '3. a\n4. b', []],
    ['bold text in a heading', '# A **b**', 'A b', [['bold', 'A b']]],
    ['a quote in a quote', '> a\n> > b', 'a\n\n> b', [['blockquote', 'a\n\n> b']]],
    ['code', '```ts\na\n```', 'a', [['pre', 'a']]],
    ['what looks like marks', '1 * 2 * 3 = 6_!.', '1 * 2 * 3 = 6_!.', []],
  ])('shows %s', async (_, markdown, text, styles) => {
    expect(await shown(markdown)).toEqual({ text, styles });
  });

  test('of many links is in messages that show them all', async () => {
    const lines = Array.from(
      { length: 260 },
      (_, at) => `- **[Title ${at}](https://d.example/${'path/'.repeat(30)}${at})**: some *text*`,
    );
    const divided = await divideText(lines.join('\n'), platform.textLimit);
    let links = 0;
    for (const markdown of divided.kind === 'parts' ? divided.parts : [])
      links += (await shown(markdown)).styles.filter(([type]) => type === 'text_link').length;
    expect(links).toBe(260);
  });

  test.each(['\u200b', '&nbsp;', '&#8203;', '#', '```\n```', ' \u2800\n'])(
    'of which nothing is seen, as %j, has no messages',
    async (markdown) => {
      expect(await divideText(markdown, platform.textLimit)).toEqual({ kind: 'parts', parts: [] });
    },
  );

  test('that Telegram does not accept with its styles is sent without them', async () => {
    telegram.faults.arm({ method: 'sendMessage', status: 400, description: "Bad Request: can't parse entities: odd" });
    expect(await shown('**a** [b](https://c.example)')).toMatchObject({ text: 'a b (https://c.example)' });
  });
});

/** The beginning of a PNG of a size. */
function png(width: number, height: number, bytes = 24): Buffer {
  const head = Buffer.alloc(Math.max(bytes, 24));
  head.write('\x89PNG\r\n\x1a\n', 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}

const latin = (text: string) => Buffer.from(text, 'latin1');

test.each([
  ['a picture', 'a.bin', png(20, 20), 'photo'],
  ['a picture of more than 10 MB', 'a.png', png(20, 20, 10 * 1024 * 1024 + 1), 'document'],
  ['a picture that is too long for a photo', 'a.png', png(20, 900), 'document'],
  ['a text that is named like a picture', 'a.png', latin('words'), 'document'],
  ['a voice message', 'a.ogg', latin(`OggS${'\0'.repeat(24)}OpusHead`), 'voice'],
  ['another sound of that container', 'a.ogg', latin(`OggS${'\0'.repeat(24)}\x01vorbis`), 'document'],
  ['a song', 'a', latin('ID3\x04'), 'audio'],
  ['a sound in the container of videos', 'a.m4a', latin('\0\0\0\x20ftypisom'), 'audio'],
  ['a video', 'a', latin('\0\0\0\x20ftypisom'), 'video'],
  ['a file that only its name tells of', 'a.mp3', latin('?'), 'audio'],
  ['any other file', 'a.txt', latin('BM text'), 'document'],
])('%s is sent as what it is', async (_, name, bytes, kind) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-telegram-'));
  const path = join(outgoingFolder(dataDir), 'x');
  await mkdir(outgoingFolder(dataDir));
  await writeFile(path, bytes);
  const defaults = loadConfig({ env: { HOLDFAST_DATA_DIR: dataDir }, cwd: '/' });
  const platforms = telegramChannel(telegram, 'poll');
  const config = { ...defaults, channels: { ...defaults.channels, platforms } } as unknown as Config;
  const url = formatChannelUrl({ channel: 'telegram', accountId: 'main', chatId: String(PERSON) });
  const payload = {
    type: 'message',
    text: '',
    messageIds: [],
    turnId: null,
    media: [{ path, name }],
  } as unknown as PartPayload;
  // Only replies have previews, which are in the database.
  const process = { config, database: null as never };
  const part = { id: 'd1', part: 1, url, payload, isAmbiguous: false };
  expect(await sendPart(process, part, AbortSignal.timeout(20_000))).toMatchObject({ kind: 'sent' });
  const kinds = ['photo', 'voice', 'audio', 'video', 'document'];
  expect(Object.keys(telegram.messages(PERSON).at(-1)!).filter((key) => kinds.includes(key))).toEqual([kind]);
});
