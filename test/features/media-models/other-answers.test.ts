// Answers of models of pictures and sounds that the scripted model does not give: errors with the
// status of success, addresses, other formats than the name says. The server is one of OpenAI's
// form, as others write them.
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { pictureOf } from '../../../scripted-model/picture.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createMediaRig, type MediaRig } from './media-rig.ts';

let rig: MediaRig;
let host: string;
/** What the next requests get. */
let answer: { type: string; body: string | Buffer };
/** The bodies of requests, newest last. */
let forms: string[];

shareAmongTests(async (onEnd) => {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/slow') return;
      if (request.url === '/cat.png') return void response.end(pictureOf('a cat'));
      forms.push(Buffer.concat(chunks).toString('latin1'));
      response.writeHead(200, { 'content-type': answer.type }).end(answer.body);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const made = await createMediaRig((settings) => ({
    ...settings,
    models: { providers: { other: { api: 'openai-compatible', apiKey: 'sk-1', baseUrl: `http://${host}` } } },
    tools: {
      imageGenerate: { model: 'other/picture' },
      tts: { model: 'other/speech', voice: 'nova', usdPerMChars: 15 },
      transcribe: { model: 'other/words' },
      fetch: { allowPrivate: [host], timeoutSeconds: 1 },
    },
  }));
  onEnd(() => made.close());
  rig = made;
  forms = [];
});

const call = (tool: string, input: object): string => `[[tool: ${tool} ${JSON.stringify(input)}]] [[reply: Done.]]`;
const json = (value: unknown) => ({ type: 'application/json', body: JSON.stringify(value) });
const jpeg = () => sharp(pictureOf('a dog')).jpeg().toBuffer();

describe('an error that comes with the status of success', () => {
  const QUOTA = { error: { message: 'You have used up your quota.', type: 'insufficient_quota' } };
  test.each([
    ['image_generate', { prompt: 'a cat' }, json(QUOTA), 'You have used up your quota.'],
    ['image_generate', { prompt: 'a cat' }, json({ detail: 'The model is not loaded.' }), 'The model is not loaded.'],
    ['image_generate', { prompt: 'a cat' }, { type: 'text/plain', body: 'upstream is down' }, 'upstream is down'],
    ['tts', { text: 'Hello.' }, json(QUOTA), 'You have used up your quota.'],
    ['tts', { text: 'Hello.' }, { ...json({ message: 'No such voice.' }), type: 'audio/mpeg' }, 'No such voice.'],
    ['tts', { text: 'Hello.' }, { type: 'text/plain; charset=utf-8', body: 'upstream is down' }, 'upstream is down'],
    ['tts', { text: 'Hello.' }, { type: '', body: '<html>Bad gateway</html>\n' }, 'answers with a page of HTML'],
  ])('%s says it, stores no file and knows the outcome: %j %j', async (tool, input, said, text) => {
    answer = said;
    const stored = await rig.turn('error', call(tool, { ...input, file_path: 'no.bin' }));
    expect(stored.results).toMatchObject([
      { isError: true, text: expect.stringMatching(`^${tool}: the model has not answered. .*${text}`) },
    ]);
    expect(stored.ledger).toMatchObject([{ name: tool, status: 'failed', runs: 1 }]);
    await expect(rig.get('no.bin')).rejects.toThrow('ENOENT');
    const paid = (stored.turn?.steps ?? []).flatMap(({ calls }) => calls).filter(({ purpose }) => purpose === tool);
    expect(paid).toMatchObject([{ status: 'failed', costMicros: 0 }]);
  });

  test('a transcript says that the server of its file does not answer', async () => {
    const media = [{ url: `http://${host}/slow`, type: 'audio/ogg' }];
    const stored = await rig.turn('slow', '[[reply: Sorry.]]', { media });
    expect(stored.turn).toMatchObject({ status: 'completed', reply: 'Sorry.' });
    expect(JSON.stringify(stored.entries)).toContain('[audio not transcribed: no answer within 1 s');
  });

  test('a transcript says it in its place', async () => {
    answer = json(QUOTA);
    await rig.put('voice.ogg', 'OggS');
    const stored = await rig.turn('words', '[[reply: Sorry.]]', { media: [{ path: 'voice.ogg' }] });
    expect(JSON.stringify(stored.entries)).toContain('[audio not transcribed: You have used up your quota.]');
  });
});

describe('image_generate', () => {
  const png = pictureOf('a cat');

  test.each([
    ['a data: address', () => ({ url: `data:image/png;base64,${png.toString('base64')}` })],
    ['a data: address as base64', () => ({ b64_json: `data:image/png;base64,${png.toString('base64')}` })],
    ['an address', () => ({ url: `http://${host}/cat.png` })],
  ])('writes the picture of %s', async (what, image) => {
    answer = json({ data: [image()] });
    const file = `${what.replaceAll(/\W/g, '-')}.png`;
    const stored = await rig.turn('address', call('image_generate', { prompt: 'a cat', file_path: file }));
    expect(stored.results).toMatchObject([{ isError: false, blocks: ['text', 'image'] }]);
    expect(await rig.get(file)).toEqual(png);
  });

  test.each([
    ['an address inside', () => 'http://127.0.0.1:1/a.png', 'is not on the public internet'],
    ['an address with a password', () => 'http://a:b@example.com/a.png', 'user or password in it is not fetched'],
    ['a server that does not answer', () => `http://${host}/slow`, 'no answer within 1 s'],
  ])('fetches by the rules of web_fetch, so not from %s (G30)', async (_what, url, why) => {
    answer = json({ data: [{ url: url() }] });
    const stored = await rig.turn('inside', call('image_generate', { prompt: 'a cat' }));
    expect(stored.results).toMatchObject([
      {
        isError: true,
        text: expect.stringMatching(`^image_generate: the picture was made and paid, but not fetched: .*${why}`),
      },
    ]);
  });

  test('reads no file of the workspace that an answer names', async () => {
    await rig.put('mine.png', png);
    answer = json({ data: [{ url: 'mine.png' }] });
    const stored = await rig.turn('own', call('image_generate', { prompt: 'a cat' }));
    expect(stored.results).toMatchObject([{ isError: true, text: 'image_generate: the model has made no picture.' }]);
  });
});

describe('a file has the suffix of what it is', () => {
  test.each([
    ['cats/a.png', 'cats/a.jpg'],
    ['b.JPEG', 'b.JPEG'],
    ['c', 'c.jpg'],
    ['v1.2', 'v1.2.jpg'],
  ])('a JPEG for %s', async (file, path) => {
    const bytes = await jpeg();
    answer = json({ data: [{ b64_json: bytes.toString('base64') }] });
    const stored = await rig.turn('suffix', call('image_generate', { prompt: 'a dog', file_path: file }));
    expect(stored.results[0]?.text).toContain(` bytes to ${path} (image/jpeg)`);
    expect(await rig.get(path)).toEqual(bytes);
  });

  test('and takes no place of another file', async () => {
    await rig.put('taken.jpg', 'mine');
    answer = json({ data: [{ b64_json: (await jpeg()).toString('base64') }] });
    const stored = await rig.turn('taken', call('image_generate', { prompt: 'a dog', file_path: 'taken.png' }));
    expect(stored.results[0]?.text).toMatch(/ bytes to taken-[0-9a-f]{12}\.jpg \(image\/jpeg\)$/);
    expect((await rig.get('taken.jpg')).toString()).toBe('mine');
  });

  test('a WAV for a name of MP3', async () => {
    const body = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEfmt '), Buffer.alloc(32)]);
    answer = { type: 'audio/mpeg', body };
    const stored = await rig.turn('wav', call('tts', { text: 'Hello.', file_path: 'hello.mp3' }));
    expect(stored.results).toMatchObject([{ isError: false, text: expect.stringContaining('speech to hello.wav') }]);
    expect(await rig.get('hello.wav')).toEqual(body);
  });
});

test.each([
  [{ type: 'audio/x-m4a', path: 'voice' }, 'audio.m4a'],
  [{ type: 'audio/mp4a-latm', path: 'voice' }, 'audio.m4a'],
  [{ type: 'audio/vnd.wave', path: 'voice' }, 'audio.wav'],
  [{ type: 'audio/x-pn-wav; codecs=1', path: 'voice' }, 'audio.wav'],
  [{ type: 'audio/x-flac', path: 'voice' }, 'audio.flac'],
  [{ type: 'audio/mpeg3', path: 'voice' }, 'audio.mp3'],
  [{ type: 'audio/MP3', path: 'voice' }, 'audio.mp3'],
  [{ type: 'audio/opus', path: 'voice' }, 'audio.ogg'],
  [{ type: 'audio/unknown', path: 'voice.flac' }, 'audio.flac'],
  [{ path: 'voice.aiff' }, 'audio.aiff'],
  [{ path: 'voice.wma' }, 'audio.wma'],
])('audio of %j is sent for transcription as %s', async (media, name) => {
  answer = json({ text: 'Hello.' });
  await rig.put(media.path, 'sound');
  await rig.turn('named', '[[reply: Yes.]]', { media: [media] });
  expect(forms.at(-1)).toContain(`filename="${name}"`);
});
