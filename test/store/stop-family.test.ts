// Stopping a family: one transaction stops a session and all runs below it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageId, SessionId } from '../../src/core/ids.ts';
import type { RunResult } from '../../src/kernel/rules/family.ts';
import { newId } from '../../src/ids.ts';
import { carryOutEffects, joinEffects } from '../../src/kernel/effects/carry-out.ts';
import type { EffectParts } from '../../src/kernel/effects/turn-effects.ts';
import { stopFamily, type FamilyStop } from '../../src/kernel/effects/stop-family.ts';
import { steerRun } from '../../src/features/subagents/store/runs.ts';
import type { JournalWrite, TurnEnd } from '../../src/kernel/turn/journal/journal.ts';
import { readInputs } from '../rows/inputs.ts';
import { countSessions, readSessions } from '../rows/sessions.ts';
import { readSubagentRuns } from '../rows/subagents.ts';
import { not } from '../rows/table.ts';
import { lockRow } from '../rows/whole-tables.ts';
import { childOf, familyCounts } from './family-builders.ts';
import { createStoreRig, goodEnd, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
beforeAll(async () => {
  rig = await createStoreRig();
});
afterAll(() => rig.drop());

const stop = (sessionId: SessionId, more: Partial<FamilyStop> = {}, parts: EffectParts = rig) =>
  stopFamily(parts, {
    sessionId,
    keepsQueued: false,
    reason: 'a test',
    status: 'killed',
    result: null,
    isOwn: false,
    ...more,
  });

const statusOf = async (runId: string): Promise<unknown> =>
  (await readSubagentRuns(rig, { id: runId }, 'status'))[0]?.status;

test('a stop signals the running turn, cancels waiting messages and ends the runs below (G18, G24)', async () => {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const { turnId } = await rig.opened(sessionId);
  const late = rig.input(sessionId);
  await rig.accept(late);
  const child = await childOf(rig, sessionId);
  const grandchild = await childOf(rig, child.childId);
  const stopped = await stop(sessionId);
  // Of the session's own messages one waited; those of the sessions below are not counted.
  expect(stopped).toMatchObject({ kind: 'stopped', aborted: turnId, cancelled: 1, runs: 2 });
  expect(await countSessions(rig, { id: sessionId, stopReason: not(null) })).toBe(1);
  expect(await readInputs(rig, { id: late.messageId }, 'status')).toEqual([{ status: 'cancelled' }]);
  for (const { childId } of [child, grandchild]) {
    const statuses = (await readInputs(rig, { sessionId: childId }, 'status')).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set(['cancelled']));
  }
  expect(await Promise.all([child, grandchild].map(({ runId }) => statusOf(runId)))).toEqual(['killed', 'killed']);
  expect(await familyCounts(rig, sessionId)).toEqual({ waiting: 0, children: 0, descendants: 0 });
});

test('a stop without the feature of subagents stops the sessions, and leaves their runs to it (G24)', async () => {
  const sessionId = await rig.session();
  const child = await childOf(rig, sessionId);
  const { turnId } = await rig.opened(child.childId);
  await rig.accept(rig.input(child.childId));
  const stopped = await stop(sessionId, {}, { ...rig, effects: joinEffects([]) });
  expect(stopped).toMatchObject({ kind: 'stopped', runs: 1 });
  expect(await countSessions(rig, { id: child.childId, turnId, stopReason: 'a test', waiting: 0 })).toBe(1);
  expect(await statusOf(child.runId)).toBe('running');
  await stop(sessionId);
  expect(await statusOf(child.runId)).toBe('killed');
});

test('a stop of a subagent does not affect its siblings and notifies the session above', async () => {
  const sessionId = await rig.session();
  const [child, sister] = [await childOf(rig, sessionId), await childOf(rig, sessionId)];
  const stopped = await stop(child.childId, { runId: child.runId });
  expect(stopped).toMatchObject({ kind: 'stopped', runs: 1, after: { rings: [{ kind: 'announce', sessionId }] } });
  expect(stopped.after?.settled).toEqual(expect.arrayContaining([sessionId, child.childId]));
  expect(await statusOf(sister.runId)).toBe('running');
  expect(await familyCounts(rig, sessionId)).toEqual({ waiting: 1, children: 1, descendants: 1 });
  expect(await readInputs(rig, { sessionId }, 'kind')).toEqual([{ kind: 'announcement' }]);
});

test('a run that has ended is not stopped again', async () => {
  const sessionId = await rig.session();
  const { childId, runId } = await childOf(rig, sessionId);
  await stop(childId, { runId });
  expect(await stop(childId, { runId })).toEqual({ kind: 'ended' });
  expect(await familyCounts(rig, sessionId)).toMatchObject({ waiting: 1 });
});

test('a run that is stopped alone leaves the runs below it, whose ends reach the session above (G18, G24)', async () => {
  const sessionId = await rig.session();
  const middle = await childOf(rig, sessionId);
  const below = await childOf(rig, middle.childId);
  const stopped = await stop(middle.childId, { runId: middle.runId, keepsBelow: true });
  expect(stopped).toMatchObject({ kind: 'stopped', runs: 1 });
  expect(await Promise.all([middle, below].map(({ runId }) => statusOf(runId)))).toEqual(['killed', 'running']);
  expect(await familyCounts(rig, sessionId)).toEqual({ waiting: 1, children: 0, descendants: 1 });
  expect(await familyCounts(rig, middle.childId)).toEqual({ waiting: 0, children: 1, descendants: 0 });

  await stop(below.childId, { runId: below.runId });
  expect(await familyCounts(rig, sessionId)).toEqual({ waiting: 2, children: 0, descendants: 0 });
  expect(await familyCounts(rig, middle.childId)).toEqual({ waiting: 0, children: 0, descendants: 0 });
  const announced = await readInputs(rig, { sessionId, kind: 'announcement' }, 'causeKey');
  expect(announced).toEqual([{ causeKey: `announce:${middle.runId}` }, { causeKey: `announce:${below.runId}` }]);
});

/**
 * Starts the writes one after the other while they all wait for the row of a session, and then lets
 * them run in this order.
 */
async function queuedOn(sessionId: SessionId, ...writes: (() => Promise<unknown>)[]): Promise<void> {
  const client = await rig.database.views.connect();
  await client.query('begin');
  await lockRow(client, 'sessions', 'id', sessionId);
  const waiting = async (): Promise<unknown> =>
    (
      await rig.rows(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    )[0]?.n;
  const running: Promise<unknown>[] = [];
  for (const write of writes) {
    running.push(write());
    await expect.poll(waiting, { interval: 5 }).toBe(running.length);
  }
  await client.query('commit');
  client.release();
  await Promise.all(running);
}

const inboxOf = (sessionId: SessionId) => readInputs(rig, { sessionId }, 'kind', 'status');

test('a result that arrives while its recipient is stopped alone is cancelled with its other messages (G24)', async () => {
  const sessionId = await rig.session();
  const middle = await childOf(rig, sessionId);
  const below = await childOf(rig, middle.childId);
  await queuedOn(
    sessionId,
    () => stop(below.childId, { runId: below.runId }),
    () => stop(middle.childId, { runId: middle.runId, keepsBelow: true }),
  );
  expect(await inboxOf(middle.childId)).toEqual([
    { kind: 'message', status: 'cancelled' },
    { kind: 'announcement', status: 'cancelled' },
  ]);
  expect(await familyCounts(rig, middle.childId)).toEqual({ waiting: 0, children: 0, descendants: 0 });
  expect(await inboxOf(sessionId)).toEqual([{ kind: 'announcement', status: 'waiting' }]);
});

test('a run that is spawned while its family is stopped is stopped with it (G24)', async () => {
  const sessionId = await rig.session();
  await queuedOn(
    sessionId,
    () => childOf(rig, sessionId),
    () => stop(sessionId),
  );
  expect(await readSubagentRuns(rig, { rootId: sessionId }, 'status')).toEqual([{ status: 'killed' }]);
  expect(await familyCounts(rig, sessionId)).toEqual({ waiting: 0, children: 0, descendants: 0 });
});

test('a message that arrives while a run is stopped is cancelled with it (G24)', async () => {
  const sessionId = await rig.session();
  const { childId, runId } = await childOf(rig, sessionId);
  const steer = { runId, messageId: newId<MessageId>(), body: '{"text":"left"}', route: 'route', causeKey: null };
  await queuedOn(
    childId,
    () => steerRun(rig.database, steer),
    () => stop(childId, { runId }),
  );
  expect(await inboxOf(childId)).toEqual([
    { kind: 'message', status: 'cancelled' },
    { kind: 'message', status: 'cancelled' },
  ]);
  expect(await familyCounts(rig, childId)).toMatchObject({ waiting: 0 });
});

describe('a run that is stopped while its turn ends has the figures of that turn', () => {
  const ANSWERED = {
    status: 'ok' as const,
    result: 'reply',
    error: null,
    isSuppressed: false,
    modes: { mode: 'collect', byChannel: {} },
  };
  const ends: { name: string; end: RunResult | null; more: Partial<TurnEnd> }[] = [
    { name: 'with an answer', end: ANSWERED, more: {} },
    { name: 'to wait for the runs below it', end: null, more: { entries: [], status: 'silent', reply: null } },
  ];

  const leftBy = ({ progress: { turnId } }: JournalWrite, runId: string, end: RunResult | null): TurnEnd['effects'] => [
    { id: newId<string>(), kind: 'run-ended', turnId, runId, end },
  ];

  /** A subagent whose turn is about to end. */
  async function working() {
    const { childId, runId } = await childOf(rig, await rig.session());
    const { write } = await rig.opened(childId);
    const progress = { ...write.progress, inputTokens: 10, outputTokens: 2, costMicros: 700 };
    return { childId, runId, write: { ...write, progress } };
  }

  const FIGURES = ['inputTokens', 'outputTokens', 'costMicros'] as const;
  const SPENT = [{ inputTokens: 10, outputTokens: 2, costMicros: 700 }];

  const areWaiting = (statement: string) => () =>
    rig.rows(
      `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`,
      [`%${statement}%`],
    );

  test.each(ends)('$name, before the end', async ({ end, more }) => {
    const { childId, runId, write } = await working();
    await stop(childId, { runId });
    expect(await rig.finishTurn(goodEnd(write, { ...more, effects: leftBy(write, runId, end) }))).toMatchObject({
      kind: 'ok',
    });
    await carryOutEffects(rig, childId);
    expect(await readSubagentRuns(rig, { id: runId }, ...FIGURES)).toEqual(SPENT);
    expect(await statusOf(runId)).toBe('killed');
  });

  test.each(ends)('$name, while the end waits for the stop', async ({ end, more }) => {
    const { childId, runId, write } = await working();
    const other = await rig.database.views.connect();
    await other.query('begin');
    await lockRow(other, 'sessions', 'id', childId);
    const stopped = stop(childId, { runId });
    await expect.poll(areWaiting('lock-family'), { interval: 5 }).toHaveLength(1);
    const finished = rig.finishTurn(goodEnd(write, { ...more, effects: leftBy(write, runId, end) }));
    await expect.poll(areWaiting('finish-turn'), { interval: 5 }).toHaveLength(1);
    await other.query('commit');
    other.release();
    expect(await stopped).toMatchObject({ kind: 'stopped', runs: 1 });
    expect(await finished).toMatchObject({ kind: 'ok' });
    await carryOutEffects(rig, childId);
    expect(await readSubagentRuns(rig, { id: runId }, ...FIGURES)).toEqual(SPENT);
    expect(await readSessions(rig, { id: childId }, ...FIGURES)).toEqual(SPENT);
    expect(await statusOf(runId)).toBe('killed');
  });

  test.each(ends)('$name, after the end', async ({ end, more }) => {
    const { childId, runId, write } = await working();
    await rig.finishTurn(goodEnd(write, { ...more, effects: leftBy(write, runId, end) }));
    await carryOutEffects(rig, childId);
    await stop(childId, { runId });
    expect(await readSubagentRuns(rig, { id: runId }, ...FIGURES)).toEqual(SPENT);
    expect(await readSessions(rig, { id: childId }, ...FIGURES)).toEqual(SPENT);
  });
});
