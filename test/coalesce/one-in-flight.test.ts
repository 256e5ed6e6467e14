// The batcher under random interleavings of submissions and answers: which rows travel together,
// what each caller gets, and what is bounded.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { oneInFlight, type BatchOptions } from '../../src/coalesce.ts';

interface Row {
  n: number;
  kind: 'good' | 'bad';
}

interface Batch {
  rows: number[];
  /** How many rows had been submitted when it was sent. */
  submitted: number;
}

const AWAY = new Error('the server is away');
const faultOf = ({ n }: Row): string => `row ${n} is at fault`;

/** Sends row numbers and answers with their doubles. */
function doubles(change: Partial<BatchOptions<number, number>> = {}) {
  const sent: number[][] = [];
  const gate = Promise.withResolvers<void>();
  const batcher = oneInFlight<number, number>({
    name: 'rows',
    rowsMax: 10,
    waitingMax: 10,
    isShared: () => true,
    async run(rows) {
      sent.push(rows);
      await gate.promise;
      return rows.map((n) => n * 2);
    },
    ...change,
  });
  return { ...batcher, sent, open: gate.resolve };
}

/** Lets everything that is due happen. */
const idle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const aRow = fc.record({ kind: fc.constantFrom<Row['kind'][]>('good', 'good', 'good', 'bad') });
// Rows of one group are submitted in the same tick.
const someGroups = fc.array(fc.array(aRow, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
const outages = fc.uniqueArray(fc.nat(12), { maxLength: 4 });

test('every row gets its own result, and a row at fault fails alone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someGroups, fc.integer({ min: 1, max: 5 }), async (answers, groups, rowsMax) => {
      const played = await play(answers, { groups, rowsMax, outages: [] });
      for (const { row, end } of played.ends) {
        expect(end).toEqual(row.kind === 'good' ? { value: row.n } : { reason: faultOf(row) });
      }
    }),
  );
});

test('an error that no row has caused reaches the rows of its batch, and later rows are sent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someGroups, outages, async (answers, groups, lost) => {
      const played = await play(answers, { groups, rowsMax: 3, outages: lost });
      for (const { row, end } of played.ends) {
        const last = played.batches.findLastIndex(({ rows }) => rows.includes(row.n));
        const own = row.kind === 'good' ? { value: row.n } : { reason: faultOf(row) };
        expect(end).toEqual(lost.includes(last) ? { reason: AWAY.message } : own);
      }
    }),
  );
});

test('one batch is in flight at a time, in the order of submission, with all waiting rows up to the limit', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), someGroups, fc.integer({ min: 1, max: 5 }), async (answers, groups, rowsMax) => {
      const good = groups.map((group) => group.map(() => ({ kind: 'good' as const })));
      const { batches, inFlightMax, ends } = await play(answers, { groups: good, rowsMax, outages: [] });
      expect(inFlightMax).toBe(1);
      expect(batches.flatMap(({ rows }) => rows)).toEqual(ends.map((_, n) => n));
      let before = 0;
      for (const { rows, submitted } of batches) {
        expect(rows).toHaveLength(Math.min(rowsMax, submitted - before));
        before += rows.length;
      }
    }),
  );
});

describe('a batcher', () => {
  test('sends the rows of one tick together and immediately', async () => {
    const { submit, sent, open } = doubles();
    const results = Promise.all([submit(1), submit(2)]);
    await idle();
    expect(sent).toEqual([[1, 2]]);
    open();
    expect(await results).toEqual([2, 4]);
  });

  test('refuses rows over its bound, and takes rows again when the waiting ones are sent', async () => {
    const { submit, open } = doubles({ waitingMax: 2 });
    const first = submit(1);
    await idle();
    const waiting = [submit(2), submit(3)];
    await expect(submit(4)).rejects.toMatchObject({
      code: 'batch_full',
      message: expect.stringContaining('2 rows wait'),
    });
    open();
    expect(await Promise.all([first, ...waiting])).toEqual([2, 4, 6]);
    expect(await submit(5)).toBe(10);
  });

  test('gives up a batch that takes too long, sends none of its rows again, and sends the next', async () => {
    const sent: number[][] = [];
    const { submit } = doubles({
      timeoutMs: 5,
      isShared: () => false,
      run: (rows) => {
        sent.push(rows);
        return rows.includes(1) ? new Promise(() => undefined) : Promise.resolve(rows);
      },
    });
    const late = Promise.allSettled([submit(1), submit(2)]);
    await idle();
    expect(await submit(3)).toBe(3);
    const reason = { code: 'batch_timeout' };
    expect(await late).toMatchObject([{ reason }, { reason }]);
    expect(sent).toEqual([[1, 2], [3]]);
  });

  test('that is closed sends the waiting rows, and refuses later ones', async () => {
    const { submit, close, sent, open } = doubles({ rowsMax: 1 });
    const rows = [submit(1), submit(2)];
    const closed = close();
    await expect(submit(3)).rejects.toMatchObject({ code: 'batch_closed' });
    open();
    await closed;
    expect(sent).toEqual([[1], [2]]);
    expect(await Promise.all(rows)).toEqual([2, 4]);
    await close();
  });

  test('rejects a batch whose results do not match its rows', async () => {
    const { submit } = doubles({ run: async () => [1], isShared: () => false });
    const rows = [submit(1), submit(2)];
    for (const one of rows) await expect(one).rejects.toMatchObject({ code: 'batch_results' });
  });

  test('survives a `run` that throws before it returns a promise', async () => {
    const { submit } = doubles({
      run: () => {
        throw AWAY;
      },
    });
    await expect(submit(1)).rejects.toBe(AWAY);
    await expect(submit(2)).rejects.toBe(AWAY);
  });
});

interface Play {
  groups: Omit<Row, 'n'>[][];
  rowsMax: number;
  /** The batches that fail because the server is away, by their place in the order of sending. */
  outages: number[];
}

/** Submits groups of rows and answers batches in the order that the scheduler draws. */
async function play(answers: fc.Scheduler, { groups, rowsMax, outages: lost }: Play) {
  const batches: Batch[] = [];
  let submitted = 0;
  let inFlight = 0;
  let inFlightMax = 0;
  const { submit, close } = oneInFlight<Row, number>({
    name: 'rows',
    rowsMax,
    waitingMax: 1_000,
    isShared: (error) => error === AWAY,
    async run(rows) {
      const place = batches.push({ rows: rows.map(({ n }) => n), submitted }) - 1;
      inFlightMax = Math.max(inFlightMax, (inFlight += 1));
      await answers.schedule(Promise.resolve());
      inFlight -= 1;
      if (lost.includes(place)) throw AWAY;
      const bad = rows.find(({ kind }) => kind === 'bad');
      if (bad !== undefined) throw new Error(faultOf(bad));
      return rows.map(({ n }) => n);
    },
  });
  const ends: Promise<{ row: Row; end: object }>[] = [];
  for (const group of groups) {
    void answers.schedule(Promise.resolve()).then(() => {
      for (const { kind } of group) {
        const row = { n: submitted, kind };
        submitted += 1;
        const end = submit(row).then(
          (value) => ({ value }),
          (error: Error) => ({ reason: error.message }),
        );
        ends.push(end.then((one) => ({ row, end: one })));
      }
    });
  }
  await answers.waitIdle();
  await close();
  return { batches, inFlightMax, ends: await Promise.all(ends) };
}

test('a batch takes rows up to its length, in their order, and a longer row goes alone', async () => {
  const { submit, sent, open } = doubles({ length: { of: (n) => n, max: 10 } });
  const answers = Promise.all([4, 5, 3, 20, 6, 4, 1].map(submit));
  open();
  expect(await answers).toEqual([8, 10, 6, 40, 12, 8, 2]);
  expect(sent).toEqual([[4, 5], [3], [20], [6, 4], [1]]);
});
