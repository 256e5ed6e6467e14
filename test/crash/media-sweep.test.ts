// Goal: a worker that is killed at any point of a turn that transcribes audio and has a picture
// made pays for no picture twice, says of each that may have been made that its outcome is not
// known, and has a row for each transcription that was asked for. Method: record the database round
// trips of such a turn, then play it again for each of them with a worker that is killed right
// before or right after it; the scripted model counts what was asked.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RecordedRequest } from '../../scripted-model/request-log.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import { mediaSettings } from '../features/media-models/media-rig.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { sweepKills } from './rig/sweep-kills.ts';
import { sweptWorkers } from './rig/sweep-points.ts';
import { waitUntil } from './rig/wait-until.ts';

const SETTLED_MS = 240_000;
/** The long form strikes one point in so many. */
const EVERY = 6;

const asked: RecordedRequest[] = [];
let rig: CrashRig;
let plays = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const media = await startScriptedModel({ onRequest: (request) => asked.push(request) });
  onEnd(() => media.close());
  rig = await startCrashRig({
    databaseUrl: testDatabase.url,
    workers: sweptWorkers,
    settings: mediaSettings(media.url),
  });
  const made = rig;
  onEnd(() => made.close());
  await mkdir(rig.workspaceDir, { recursive: true });
  await writeFile(join(rig.workspaceDir, 'voice.ogg'), 'OggS [[reply: Paint it.]]');
});

/** A turn with audio that has a picture made; resolves when it is over. */
async function play(): Promise<void> {
  plays += 1;
  const text = '[[tool: image_generate {"prompt": "a cat"}]] [[reply: Done.]]';
  const media = [{ path: 'voice.ogg', type: 'audio/ogg' }];
  const { id } = await rig.client.send(`media-${plays}`, text, { media });
  await waitUntil('the turn is over', SETTLED_MS, async () => (await rig.client.message(id)).status === 'answered');
}

async function judge(): Promise<string[]> {
  const turns = await readTurns(rig.database, {}, 'id');
  const calls = await readModelCalls(rig.database, {}, 'turnId', 'purpose', 'status', 'costMicros');
  const ledger = await readToolCalls(rig.database, {}, 'turnId', 'status', 'runs');
  return turns.flatMap(({ id }) => {
    const of = (path: string) =>
      asked.filter((one) => one.path === path && one.headers['x-holdfast-turn'] === id).length;
    const rows = (purpose: string) => calls.filter((call) => call.turnId === id && call.purpose === purpose);
    const [pictures, words] = [of('/v1/images/generations'), of('/v1/audio/transcriptions')];
    const [tool] = ledger.filter(({ turnId }) => turnId === id);
    const isTrue =
      pictures <= 1 &&
      (tool?.status === 'done' ? pictures === 1 && rows('image_generate').length === 1 : tool?.status === 'unknown') &&
      words >= 1 &&
      words <= rows('transcription').length &&
      rows('transcription').every(({ costMicros }) => costMicros !== null);
    const said = `${pictures} pictures, ${words} transcriptions, the call is ${tool?.status}, rows: ${rows('transcription').length}`;
    return isTrue ? [] : [`${id}: ${said}`];
  });
}

test('a worker that is killed at any round trip pays for no picture twice and for no words in silence (G11)', async () => {
  const { workers } = rig;
  const { trips, faults, missed, missedMax } = await sweepKills({
    name: 'a turn with a picture and audio',
    workers,
    every: EVERY,
    play,
    judge,
  });
  expect(faults).toEqual([]);
  expect([...trips.keys()]).toEqual(
    expect.arrayContaining(['open-turn', 'read-transcripts', 'commit-step', 'finish-turn']),
  );
  expect(missed.length, `not reached: ${missed.join('; ')}`).toBeLessThanOrEqual(missedMax);
});
