// Goal: an erasure and the deletion of old rows, which run concurrently with each other and with
// turns, delete exactly the rows that they should, whenever one of their processes is killed.
// Method: the round trips of an erasure are recorded; then further sessions are erased, and the api
// process is killed at one of them; the client sends the request again to another process.
// Meanwhile a process deletes all old rows in a loop, and is also killed at its statements.
// `HOLDFAST_CRASH_SWEEP=full` strikes before and after every round trip.
import { expect, test } from 'vitest';
import { tablesWith } from '../api/tables-with.ts';
import { countInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { not } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { apiKey, startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { StrikePoint } from './rig/fault.ts';
import { startRetentionProcess, type RetentionProcess } from './rig/retention-process.ts';
import { isOfTurn, kindOf } from './rig/statement-kinds.ts';
import { nameOf } from './rig/strike.ts';
import { everyPoint, isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const SETTLED_MS = 120_000;
/** Of the deletion of old rows. */
const PASSES = ['delete-old-turns', 'delete-old-system-events', 'delete-old-transcripts', 'delete-old-dead-letters'];

let rig: CrashRig;
let second: Victim;
let retention: RetentionProcess;
let scenes = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  rig = await startCrashRig({ databaseUrl: testDatabase.url, workers: 1 });
  onEnd(() => rig.close());
  second = await rig.startVictim('api-2', 'api');
  retention = await startRetentionProcess(testDatabase.url);
  onEnd(() => retention.close());
});

const rows = async (sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await rig.database.query<Record<string, unknown>>(sql, values)).rows;

/** Erases a session at an api process; rejects when that process is killed. */
async function erase(victim: Victim, session: string): Promise<number> {
  const answer = await fetch(`${victim.service.url}/v1/sessions/${session}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${apiKey}` },
  });
  await answer.arrayBuffer();
  return answer.status;
}

async function settled(ids: readonly string[]): Promise<void> {
  await waitUntil('the messages are settled', SETTLED_MS, async () => {
    return (await countInputs({ rows }, { id: ids, settledAt: not(null) })) === ids.length;
  });
}

/**
 * Two sessions with a reset transcript, a failed turn and answered ones; the one to be erased has a
 * running turn.
 */
async function makeScene(): Promise<{ gone: string; kept: string; word: string; ids: string[] }> {
  scenes += 1;
  const [gone, kept] = [`gone-${scenes}`, `kept-${scenes}`];
  // The audit log keeps the name of the session, but none of its text.
  const word = `flamingo-${scenes}-`;
  const client = rig.clientOf(second);
  const say = async (session: string, text: string): Promise<string> =>
    (await client.send(session, session === gone ? `${text} ${word}` : text)).id;
  const first = await Promise.all([gone, kept].map((session) => say(session, '[[reply: one]]')));
  await settled(first);
  await Promise.all([gone, kept].map((session) => client.ask(`/v1/sessions/${session}/reset`, {})));
  const failing = await Promise.all([gone, kept].map((session) => say(session, '[[error: 400 message="no"]]')));
  await settled(failing);
  const last = await say(kept, '[[reply: two]]');
  await settled([last]);
  await say(gone, '[[stall: after=0 times=always]]');
  return { gone, kept, word, ids: [first[1]!, failing[1]!, last] };
}

/** Returns what is wrong after the session was erased. */
async function judge({ kept, word, ids }: Awaited<ReturnType<typeof makeScene>>): Promise<string[]> {
  const client = rig.clientOf(second);
  const found = await tablesWith(rows, word);
  const messages = await Promise.all(ids.map((id) => client.message(id)));
  const replies = messages.map(({ reply, status }) => reply ?? status);
  const texts = (await client.transcript(kept)).flatMap(({ content }) => content.map(({ text }) => text));
  const next = (await client.send(kept, '[[reply: three]] again')).id;
  await settled([next]);
  const { reply } = await client.message(next);
  return [
    ...Object.entries(found).map(([table, count]) => `${count} rows of ${table} have the erased session`),
    ...(replies.join() === 'one,failed,two' ? [] : [`the messages that stay were answered ${replies.join()}`]),
    ...(texts.includes('two') ? [] : [`the transcript that stays has ${JSON.stringify(texts)}`]),
    ...(reply === 'three' ? [] : ['the session that stays answers no more']),
  ];
}

test('an erasure whose api process is killed is completed by the next request', async () => {
  const kinds = new Map<string, number>();
  const recorded = await makeScene();
  const stop = rig.api.proxy.onRoundTrip((trip) => {
    if (trip.outcome !== 'pending' || !isOfTurn(trip)) return;
    kinds.set(kindOf(trip), (kinds.get(kindOf(trip)) ?? 0) + 1);
  });
  expect(await erase(rig.api, recorded.gone)).toBe(200);
  stop();
  expect(await judge(recorded)).toEqual([]);
  const all = everyPoint(kinds, 'kill');
  const firsts = all.filter(({ ordinal }) => ordinal === 1);
  const alternate = firsts.filter(({ when }, at) => (Math.floor(at / 2) % 2 === 0) === (when === 'before'));
  const points = isFullSweep() ? all : alternate.filter((_, at) => at % (isLongForm() ? 6 : 8) === 0);
  printPoints('an erasure', points, all);
  const faults: string[] = [];
  for (const point of points) faults.push(...(await strikeErasure(point)));
  expect(faults).toEqual([]);
});

async function strikeErasure(point: StrikePoint): Promise<string[]> {
  await rig.api.revive();
  const scene = await makeScene();
  let killed: Promise<void> = Promise.resolve();
  const armed = rig.api.proxy.arm({
    when: point.when,
    at: point.ordinal,
    matches: (trip) => isOfTurn(trip) && kindOf(trip) === point.kind,
    async hit(): Promise<HeldBytes> {
      await (killed = rig.api.kill());
      return 'drop';
    },
  });
  await erase(rig.api, scene.gone).catch(() => null);
  armed.disarm();
  await killed;
  const status = await erase(second, scene.gone);
  const faults = await judge(scene);
  return [...(status === 200 ? [] : [`answered ${status}`]), ...faults].map((fault) => `${nameOf(point)}: ${fault}`);
}

test('the deletion of old rows continues after a kill, and deletes nothing that is needed', async () => {
  const faults: string[] = [];
  const points = PASSES.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ kind, when })));
  for (const { kind, when } of isLongForm() ? points : points.slice(1, 3)) {
    retention.revive();
    const hit = Promise.withResolvers<void>();
    const scene = await makeScene();
    const armed = retention.proxy.arm({
      when,
      at: 1,
      matches: (trip) => kindOf(trip) === kind,
      async hit(): Promise<HeldBytes> {
        await retention.kill();
        hit.resolve();
        return 'drop';
      },
    });
    await hit.promise;
    armed.disarm();
    const status = await erase(second, scene.gone);
    const found = await judge(scene);
    faults.push(
      ...[...(status === 200 ? [] : [`answered ${status}`]), ...found].map((fault) => `${when} ${kind}: ${fault}`),
    );
  }
  retention.revive();
  await waitUntil('the turns that nothing needs are gone', SETTLED_MS, async () => {
    const needed = await readSessions({ rows }, { turnId: not(null) }, 'turnId');
    const completed = await readTurns({ rows }, { status: 'completed' }, 'id');
    return completed.every(({ id }) => needed.some(({ turnId }) => turnId === id));
  });
  expect(faults).toEqual([]);
});
