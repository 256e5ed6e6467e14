// The `canvas` tool in turns on a real database: what it shows, that a crash shows nothing twice
// (G11), and that a worker that has lost the session shows nothing (G7).
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOf } from '../../../src/config.ts';
import { createCanvasTool } from '../../../src/features/canvas/canvas-tool.ts';
import { storeCanvas } from '../../../src/features/canvas/store/canvases.ts';
import { readCanvas } from '../../../src/features/canvas/views.ts';
import { readEntries } from '../../rows/entries.ts';
import { readEvents } from '../../rows/events.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import { ago } from '../../rows/table.ts';
import { withTestDatabase } from '../../servers/postgres.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const path = await mkdtemp(join(tmpdir(), 'holdfast-canvas-'));
  onEnd(() => rm(path, { recursive: true }));
  rig = await createTurnRig(database.url, { settings: { workspace: { path } } });
  onEnd(() => rig.close());
});

const workerOf = () => rig.worker({ tools: [createCanvasTool(rig.database)] });
const shownOf = (session: string) => readCanvas(rig.database.views, `agent:main:${session}`, true);
const call = (input: object): string => `[[tool: canvas ${JSON.stringify(input)}]]`;

async function presentedIn(session: string): Promise<unknown[]> {
  const events = await readEvents(rig, { type: 'canvas.presented', sessionId: await rig.sessionOf(session) }, 'data');
  return events.map(({ data }) => (data as { title: unknown }).title);
}

async function say(session: string, text: string): Promise<string> {
  await rig.send(session, `${text} [[reply: done]]`);
  await workerOf().run(session);
  const entries = await readEntries(
    rig,
    { kind: 'results', sessionId: await rig.sessionOf(session) },
    'createdAt',
    'content',
  );
  return JSON.stringify(entries.toSorted((a, b) => Number(a.createdAt) - Number(b.createdAt)).at(-1)?.content);
}

test('a page is presented, from the call or a file, read again, replaced and cleared', async () => {
  const { workspaceDir } = agentOf(rig.config, 'main');
  await writeFile(join(workspaceDir, 'page.html'), '<p>from a file</p>');
  await say('plain', call({ action: 'present', html: '<p>one</p>', title: 'First' }));
  expect(await shownOf('plain')).toMatchObject({ html: '<p>one</p>', title: 'First', bytes: 10 });
  expect(await say('plain', call({ action: 'snapshot' }))).toContain('<p>one</p>');
  await say('plain', call({ action: 'present', file_path: 'page.html' }));
  expect(await shownOf('plain')).toMatchObject({ html: '<p>from a file</p>', title: null });
  await say('plain', call({ action: 'clear' }));
  expect(await shownOf('plain')).toMatchObject({ html: null, updatedAt: null });
  expect(await presentedIn('plain')).toEqual(['First', null]);
});

test('input that cannot be shown is an error that says why', async () => {
  expect(await say('faulty', call({ action: 'present' }))).toContain('present needs html or file_path, one of them');
  expect(await say('faulty', call({ action: 'present', html: ' ' }))).toContain('the page is empty');
  expect(await say('faulty', call({ action: 'present', file_path: '../secret.html' }))).toMatch(/outside|escapes/);
  const long = { action: 'present', html: 'x'.repeat(600_000) };
  expect(await say('faulty', call(long))).toContain('html has 600000 bytes, more than 524288');
  expect(await shownOf('faulty')).toMatchObject({ html: null });
});

test('a worker that is lost after any write of a turn leaves the last page, each presented once (G11)', async () => {
  const [first, second] = [
    call({ action: 'present', html: 'a', title: 'a' }),
    call({ action: 'present', html: 'b', title: 'b' }),
  ];
  const lostAt = async (at: number, isAfter: boolean): Promise<boolean> => {
    const name = `lost-${at}-${isAfter}`;
    await rig.send(name, `${first} & ${second} [[reply: done]]`);
    const worker = workerOf();
    const { promise: lost, resolve: lose } = Promise.withResolvers<'lost'>();
    let sent = 0;
    for (const statement of ['openTurn', 'commitStep', 'finishTurn'] as const) {
      const send = worker.context.store[statement] as (row: unknown) => Promise<unknown>;
      const losing = async (row: unknown): Promise<unknown> => {
        sent += 1;
        if (sent !== at) return await send(row);
        if (isAfter) await send(row);
        lose('lost');
        return await new Promise(() => undefined);
      };
      Object.assign(worker.context.store, { [statement]: losing });
    }
    const end = await Promise.race([worker.run(name), lost]);
    worker.stop();
    await changeSessions(rig, { key: `agent:main:${name}` }, { leaseExpiresAt: ago('1 second') });
    for (let round = 0; round < 2; round += 1) await workerOf().run(name);
    expect([name, new Set(await presentedIn(name)), (await presentedIn(name)).length]).toEqual([
      name,
      new Set(['a', 'b']),
      2,
    ]);
    expect(['a', 'b']).toContain((await shownOf(name))?.html);
    return end === 'lost';
  };
  for (const isAfter of [false, true]) {
    let at = 1;
    while (await lostAt(at, isAfter)) at += 1;
    expect(at).toBeGreaterThan(3);
  }
});

test('a call of a worker whose session was claimed by another one changes nothing (G7)', async () => {
  await say('claimed', call({ action: 'present', html: 'new', title: 'new' }));
  const [session] = await readSessions(rig, { key: 'agent:main:claimed' }, 'epoch');
  const stale = {
    sessionKey: 'agent:main:claimed',
    turnId: (await shownOf('claimed'))?.turnId ?? '',
    callId: 'c',
    callKey: 'k',
  };
  const page = { title: 'old', html: 'old', bytes: 3, epoch: Number(session?.epoch) - 1 };
  expect(await storeCanvas(rig.database, { ...stale, ...page })).toBe(false);
  expect(await shownOf('claimed')).toMatchObject({ html: 'new' });
});
