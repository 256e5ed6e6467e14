// The statements of a compaction alone: they are fenced and can be sent twice.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EntryId, SystemEventId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import type { JournalWrite } from '../../src/kernel/turn/journal/journal.ts';
import { createBeginCompaction, type CompactionBegin } from '../../src/kernel/turn/journal/begin-compaction.ts';
import { createWriteCompaction, type CompactionStep } from '../../src/kernel/turn/journal/write-compaction.ts';
import { readCompactions, readEntries } from '../rows/entries.ts';
import { readEvents } from '../rows/events.ts';
import { readSessions } from '../rows/sessions.ts';
import { addSystemEvents, readSystemEvents } from '../rows/system-events.ts';
import { like } from '../rows/table.ts';
import { answer, createStoreRig, type StoreRig } from './store-rig.ts';

let rig: StoreRig;
let begin: ReturnType<typeof createBeginCompaction>;
let write: ReturnType<typeof createWriteCompaction>;

beforeAll(async () => {
  rig = await createStoreRig();
  begin = createBeginCompaction(rig.database);
  write = createWriteCompaction(rig.database);
});
afterAll(() => rig.drop());

/** A turn with a prompt (entry 1) and two answers, at which a compaction can begin. */
async function running() {
  const sessionId = await rig.session();
  await rig.accept(rig.input(sessionId));
  const opened = await rig.opened(sessionId);
  const entries = [answer('one'), answer('two')];
  await rig.commitStep({ ...opened.write, entries });
  const fence = { ...opened.write.fence, baseSeq: 3 };
  return { sessionId, turnId: opened.turnId, write: { ...opened.write, fence } };
}

function beginning(journal: JournalWrite, id = newId<string>(), attemptsMax = 2): CompactionBegin {
  const { calls } = journal.progress;
  return {
    ...journal,
    progress: { ...journal.progress, calls: calls + 1 },
    compaction: { id, reason: 'threshold', tokensBefore: 1_000, attemptsMax },
  };
}

const cut = { firstKeptSeq: 3, pinnedSeqs: [1] };

function completed(journal: JournalWrite, compactionId: string, refresh: string | null = null) {
  const summary = { id: newId<EntryId>(), kind: 'summary' as const, role: 'user' as const };
  const step: CompactionStep = {
    kind: 'completed',
    cut,
    tokensAfter: 100,
    audit: null,
    refresh: refresh === null ? null : { id: newId<SystemEventId>(), text: refresh },
  };
  const entries = [{ ...summary, content: [{ type: 'text' as const, text: 'summary' }] }];
  return { ...journal, entries, compactionId, step, snapshots: [] };
}

function statesOf(sessionId: string) {
  return readEntries(rig, { sessionId }, 'seq', 'kind', 'state', 'retiredSeq');
}

describe('a summary', () => {
  test('replaces the entries that it retires, and nothing else leaves its place (G15)', async () => {
    const { sessionId, write: journal } = await running();
    const started = beginning(journal);
    expect(await begin(started)).toMatchObject({ kind: 'begun', attempt: 1, mayFlush: true });
    const verdict = await write(completed(journal, started.compaction.id, 'rules'));
    expect(verdict).toMatchObject({ kind: 'ok', version: 1 });
    expect(await statesOf(sessionId)).toEqual([
      { seq: 1, kind: 'prompt', state: 'active', retiredSeq: null },
      { seq: 2, kind: 'answer', state: 'compacted', retiredSeq: 4 },
      { seq: 3, kind: 'answer', state: 'active', retiredSeq: null },
      { seq: 4, kind: 'summary', state: 'active', retiredSeq: null },
    ]);
    const [session] = await readSessions(rig, { id: sessionId }, 'entrySeq', 'contextTokens');
    expect(session).toEqual({ entrySeq: 4, contextTokens: 100 });
    const [event] = await readSystemEvents(rig, { sessionId }, 'text', 'isTrusted');
    expect(event).toEqual({ text: 'rules', isTrusted: true });
  });

  test('is stored once when its statement is sent again, with one event (G23)', async () => {
    const { sessionId, write: journal } = await running();
    const started = beginning(journal);
    const done = completed(journal, started.compaction.id, 'rules');
    await begin(started);
    expect(await begin(started)).toMatchObject({ kind: 'begun', attempt: 1 });
    const verdicts = [await write(done), await write(done)];
    expect(verdicts).toEqual([verdicts[0], verdicts[0]]);
    expect((await statesOf(sessionId)).filter(({ kind }) => kind === 'summary')).toHaveLength(1);
    const events = await readEvents(rig, { sessionId, type: like('compaction.%') }, 'type');
    expect(events.map(({ type }) => type)).toEqual(['compaction.started', 'compaction.ended']);
    expect(await readSystemEvents(rig, { sessionId }, 'id')).toHaveLength(1);
  });

  test('is not written by a worker that lost the session (G7)', async () => {
    const { sessionId, write: journal } = await running();
    const started = beginning(journal);
    await begin(started);
    const stale = { ...journal, fence: { ...journal.fence, epoch: journal.fence.epoch - 1 } };
    expect(await begin(beginning(stale))).toMatchObject({ kind: 'fenced' });
    expect(await write(completed(stale, started.compaction.id))).toEqual({ kind: 'fenced' });
    expect(await statesOf(sessionId)).toHaveLength(3);
  });

  test('of an earlier compaction is retired by the next', async () => {
    const { sessionId, write: journal } = await running();
    const [first, second] = [beginning(journal), newId<string>()];
    await begin(first);
    await write(completed(journal, first.compaction.id));
    const after = { ...journal, fence: { ...journal.fence, baseSeq: 4 } };
    await begin(beginning(after, second));
    await write(completed(after, second));
    const states = await statesOf(sessionId);
    expect(states.filter(({ kind }) => kind === 'summary')).toMatchObject([
      { seq: 4, state: 'compacted', retiredSeq: 5 },
      { seq: 5, state: 'active' },
    ]);
  });
});

describe('an attempt', () => {
  test('that an earlier worker started is abandoned, and counts', async () => {
    const { turnId, write: journal } = await running();
    await begin(beginning(journal));
    expect(await begin(beginning(journal))).toMatchObject({ kind: 'begun', attempt: 2 });
    expect(await begin(beginning(journal))).toMatchObject({ kind: 'exhausted' });
    const rows = await readCompactions(rig, { turnId }, 'status', 'error');
    expect(rows).toMatchObject([
      { status: 'failed', error: { code: 'interrupted' } },
      { status: 'failed', error: { code: 'interrupted' } },
    ]);
  });

  test('that stored an answer is resumed', async () => {
    const { write: journal } = await running();
    const started = beginning(journal);
    await begin(started);
    const memory = { path: 'memory/2026-01-31.md', text: 'tea' };
    const step: CompactionStep = { kind: 'answered', cut, summary: 'so far', memory };
    await write({ ...journal, compactionId: started.compaction.id, step, snapshots: [] });
    const { id } = started.compaction;
    expect(await begin(beginning(journal))).toMatchObject({
      kind: 'answered',
      compaction: { id, summary: 'so far', memory, firstKeptSeq: 3, pinnedSeqs: [1], tokensBefore: 1_000 },
    });
  });

  test('after one that flushed and failed does not flush again', async () => {
    const { write: journal } = await running();
    const started = beginning(journal, newId<string>(), 5);
    await begin(started);
    const { id } = started.compaction;
    const memory = { path: 'memory/2026-01-31.md', text: 'tea' };
    const answered: CompactionStep = { kind: 'answered', cut, summary: 's', memory };
    await write({ ...journal, compactionId: id, step: answered, snapshots: [] });
    const failed: CompactionStep = { kind: 'failed', error: { code: 'x', message: 'x' } };
    await write({ ...journal, compactionId: id, step: failed, snapshots: [] });
    const again = beginning(journal, newId<string>(), 5);
    expect(await begin(again)).toMatchObject({ kind: 'begun', mayFlush: false });
    await write(completed(journal, again.compaction.id));
    const after = { ...journal, fence: { ...journal.fence, baseSeq: 4 } };
    expect(await begin(beginning(after, newId<string>(), 5))).toMatchObject({ kind: 'begun', mayFlush: true });
  });
});

test('when the queue of events is full, the rules replace the oldest (G14)', async () => {
  const { sessionId, write: journal } = await running();
  for (let n = 1; n <= 20; n += 1) {
    await addSystemEvents(rig, { id: newId<string>(), sessionId, text: `event ${n}` });
  }
  const started = beginning(journal);
  await begin(started);
  await write(completed(journal, started.compaction.id, 'rules'));
  const events = await readSystemEvents(rig, { sessionId }, 'text', 'state');
  expect(events.filter(({ state }) => state === 'queued')).toHaveLength(20);
  expect(events[0]).toEqual({ text: 'event 1', state: 'dropped' });
});
