// Effects of the ends of turns whose process was killed between the commit of the end and the
// effect.
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { endBatch, readOpenBatches } from '../../src/features/batches/store/guard.ts';
import { carryOutEffects, carryOutLeftEffects, joinEffects } from '../../src/kernel/effects/carry-out.ts';
import type { TurnEffect } from '../../src/kernel/effects/turn-effects.ts';
import { endStalled } from '../../src/features/subagents/store/overdue.ts';
import { fenceSessions } from '../../src/features/erasure/store/erase-sessions.ts';
import type { JournalWrite } from '../../src/kernel/turn/journal/journal.ts';
import { childOf, familyCounts } from './family-builders.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

const MODES = { mode: 'collect', byChannel: {} };

/** Ends a turn as a process that is killed before it carries out the effects. */
async function endThenKilled(write: JournalWrite, ...effects: TurnEffect[]): Promise<void> {
  const end = goodEnd(write, { effects: effects.map((effect) => ({ id: newId<string>(), ...effect })) });
  await rig.finishTurn(end);
  await age(write.fence.sessionId, '1 second');
}

const age = (sessionId: SessionId, by: string) =>
  rig.rows('update holdfast.effects set created_at = created_at - $2::interval where session_id = $1', [sessionId, by]);

/** The same with the last turn of a run, as it seems then. */
async function endRunThenKilled(childId: SessionId, runId: string, result: string): Promise<void> {
  const { write } = await rig.opened(childId);
  const { turnId } = write.progress;
  const end = { status: 'ok', result, error: null, isSuppressed: false, modes: MODES } as const;
  await endThenKilled(write, { kind: 'run-ended', turnId, runId, end });
}

/** A subagent whose process was killed right after its last turn had ended. */
async function killedAtItsEnd() {
  const parentId = await rig.session();
  const { childId, runId } = await childOf(rig, parentId);
  await endRunThenKilled(childId, runId, 'reply');
  return { parentId, childId, runId };
}

const inboxOf = (sessionId: SessionId) =>
  rig.rows('select kind, status, cause_key from holdfast.inbox where session_id = $1 order by seq', [sessionId]);
const effectsOf = (sessionId: SessionId) =>
  rig.rows('select kind from holdfast.effects where session_id = $1', [sessionId]);
const runOf = async (runId: string) =>
  (await rig.rows('select status, result from holdfast.subagent_runs where id = $1', [runId]))[0];

test('the end of a run that a crash has left is announced once, by whichever of many processes (G18)', async () => {
  const { parentId, childId, runId } = await killedAtItsEnd();
  expect(await runOf(runId)).toEqual({ status: 'running', result: null });
  expect(await familyCounts(rig, parentId)).toEqual({ waiting: 0, children: 1, descendants: 1 });
  const rounds = await Promise.all(Array.from({ length: 4 }, () => carryOutLeftEffects(rig)));
  const rings = rounds.flat().flatMap(({ after }) => after?.rings ?? []);
  expect(rings).toMatchObject([{ kind: 'announce', sessionId: parentId }]);
  expect(await runOf(runId)).toEqual({ status: 'ok', result: 'reply' });
  expect(await inboxOf(parentId)).toEqual([
    { kind: 'announcement', status: 'waiting', cause_key: `announce:${runId}` },
  ]);
  expect(await familyCounts(rig, parentId)).toEqual({ waiting: 1, children: 0, descendants: 0 });
  expect(await effectsOf(childId)).toEqual([]);
});

test('a run does not end if a message has arrived since, which brings it another turn', async () => {
  const { parentId, childId, runId } = await killedAtItsEnd();
  await rig.accept(rig.input(childId));
  await carryOutEffects(rig, childId);
  expect(await runOf(runId)).toEqual({ status: 'running', result: null });
  expect(await inboxOf(parentId)).toEqual([]);
  expect(await effectsOf(childId)).toEqual([]);
});

test('a run ends once, as its last turn said, when the ends of two of its turns are left (G18)', async () => {
  const { parentId, childId, runId } = await killedAtItsEnd();
  await childOf(rig, parentId);
  await rig.accept(rig.input(childId));
  await endRunThenKilled(childId, runId, 'last reply');
  await carryOutEffects(rig, childId);
  expect(await runOf(runId)).toEqual({ status: 'ok', result: 'last reply' });
  expect(await inboxOf(parentId)).toHaveLength(1);
  expect(await familyCounts(rig, parentId)).toEqual({ waiting: 1, children: 1, descendants: 1 });
});

test('a run whose end is left is not stuck', async () => {
  const { childId, runId } = await killedAtItsEnd();
  await rig.rows(`update holdfast.sessions set updated_at = now() - interval '1 hour' where id = $1`, [childId]);
  expect(await endStalled(rig)).toMatchObject({ runs: 0 });
  await carryOutLeftEffects(rig);
  expect(await runOf(runId)).toMatchObject({ status: 'ok' });
});

test('a run whose end could not be carried out for a minute is stuck', async () => {
  const { childId, runId } = await killedAtItsEnd();
  await rig.rows(`update holdfast.sessions set updated_at = now() - interval '1 hour' where id = $1`, [childId]);
  await age(childId, '1 hour');
  expect(await endStalled(rig)).toMatchObject({ runs: 1 });
  expect(await runOf(runId)).toMatchObject({ status: 'failed' });
});

test('what a process has just committed is left to it', async () => {
  const { childId, runId } = await killedAtItsEnd();
  await age(childId, '-1 hour');
  await carryOutLeftEffects(rig);
  expect(await runOf(runId)).toMatchObject({ status: 'running' });
});

test('nothing is carried out for a session that is being erased', async () => {
  const { parentId, childId } = await killedAtItsEnd();
  await fenceSessions(rig.database, [childId]);
  expect(await effectsOf(childId)).toEqual([]);
  await carryOutEffects(rig, childId);
  expect(await inboxOf(parentId)).toEqual([]);
});

test('a message for another session that a crash has left arrives once', async () => {
  const [from, to] = [await rig.session(), await rig.session()];
  await rig.accept(rig.input(from));
  const { write } = await rig.opened(from);
  const { messageId: id, sessionId, body } = rig.input(to);
  const message = { id, sessionId, body, route: 'route', causeKey: `exchange:${id}` };
  await endThenKilled(write, { kind: 'message-sent', turnId: write.progress.turnId, message });
  await Promise.all([carryOutEffects(rig, from), carryOutLeftEffects(rig)]);
  expect(await inboxOf(to)).toEqual([{ kind: 'message', status: 'waiting', cause_key: `exchange:${id}` }]);
  expect(await effectsOf(from)).toEqual([]);
});

test('a batch does not end before a message of its item that has not arrived', async () => {
  const [from, to, batchId] = [await rig.session(), await rig.session(), newId<string>()];
  await rig.rows(
    `insert into holdfast.batches (id, status, agent_id, defaults, concurrency, max_failure_percent, format, created_by, item_count, answered)
      values ($1, 'running', 'main', '{}', 1, 50, 'lines', 'test', 1, 1)`,
    [batchId],
  );
  await rig.accept(rig.input(from, { body: JSON.stringify({ text: 'hello', batchId }) }));
  const { write } = await rig.opened(from);
  const { messageId: id, sessionId, body } = rig.input(to);
  const message = { id, sessionId, body, route: 'route', causeKey: `exchange:${id}` };
  await endThenKilled(write, { kind: 'message-sent', turnId: write.progress.turnId, message });
  const [batch] = await readOpenBatches(rig.database);
  expect(batch).toMatchObject({ id: batchId, followUps: 1 });
  const end = () => endBatch(rig.database, batch!, { outcome: 'completed', report: null });
  expect(await end()).toEqual({ isEnded: false });
  await rig.rows('delete from holdfast.effects where session_id = $1', [from]);
  expect(await end()).toEqual({ isEnded: true });
});

test('an effect that fails keeps no other from being carried out, and stays', async () => {
  const broken = await rig.session();
  await rig.rows(
    `insert into holdfast.effects (id, session_id, kind, payload, cause, created_at)
      select ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'poll-answered', '{"turnId":"none"}', 'broken:' || n, now() - interval '1 hour' from generate_series(1, 100) as n`,
    [broken],
  );
  const { runId } = await killedAtItsEnd();
  await carryOutLeftEffects(rig);
  expect(await runOf(runId)).toMatchObject({ status: 'ok' });
  expect(await effectsOf(broken)).toHaveLength(100);
});

test('an effect whose feature is missing stays, keeps no other waiting, and is carried out when the feature is back', async () => {
  const to = await rig.session();
  const { childId, runId } = await killedAtItsEnd();
  const { messageId: id, sessionId, body } = rig.input(to);
  const message = { id, sessionId, body, route: 'route', causeKey: `exchange:${id}` };
  await rig.accept(rig.input(childId));
  const { write } = await rig.opened(childId);
  await endThenKilled(write, { kind: 'message-sent', turnId: write.progress.turnId, message });
  const without = { ...rig, effects: joinEffects([]) };
  await carryOutLeftEffects(without);
  expect(await inboxOf(to)).toEqual([{ kind: 'message', status: 'waiting', cause_key: `exchange:${id}` }]);
  expect(await effectsOf(childId)).toEqual([{ kind: 'run-ended' }]);
  expect(await carryOutLeftEffects(without)).toEqual([]);
  await carryOutLeftEffects(rig);
  expect(await effectsOf(childId)).toEqual([]);
  expect(await runOf(runId)).toEqual({ status: 'ok', result: 'reply' });
});
