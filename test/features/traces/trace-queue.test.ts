// The number of traces that wait for their export is bounded, whatever the collector does.
import { expect, test } from 'vitest';
import { TraceQueue, TRACES_WAITING_MAX, type WaitingTrace } from '../../../src/features/traces/otlp-exporter.ts';

function queueWith(answers: (at: number) => Promise<boolean>) {
  const exports: ReadonlyMap<string, WaitingTrace>[] = [];
  const seen = { exports, dropped: 0 };
  const queue = new TraceQueue({
    gatherMs: 1,
    export: (waiting) => answers(exports.push(waiting)),
    onDropped: (traces) => (seen.dropped += traces),
  });
  return { queue, seen };
}

test('turns that end together are one export, each once and as a whole', async () => {
  const { queue, seen } = queueWith(() => Promise.resolve(true));
  queue.add('one', 'turn');
  queue.add('one', 'deliveries');
  queue.add('two', 'deliveries');
  queue.add('two', 'turn');
  await expect
    .poll(() => seen.exports)
    .toEqual([
      new Map([
        ['one', 'turn'],
        ['two', 'turn'],
      ]),
    ]);
  expect(seen.dropped).toBe(0);
});

test('while an export hangs, a bounded number of turns waits, and the others are counted', async () => {
  const first = Promise.withResolvers<boolean>();
  const { queue, seen } = queueWith((at) => (at === 1 ? first.promise : Promise.resolve(true)));
  queue.add('first', 'turn');
  await expect.poll(() => seen.exports.length).toBe(1);
  for (let n = 0; n < TRACES_WAITING_MAX + 5; n += 1) queue.add(`turn ${n}`, 'turn');
  expect(seen.dropped).toBe(5);
  first.resolve(false);
  const exported = () => seen.exports.reduce((sum, { size }) => sum + size, 0);
  await expect.poll(exported).toBe(1 + TRACES_WAITING_MAX);
  expect(seen.dropped).toBe(6);
});

test('a process that stops exports the waiting traces', async () => {
  const { queue, seen } = queueWith(() => Promise.resolve(true));
  for (let n = 0; n < 150; n += 1) queue.add(`turn ${n}`, 'turn');
  await queue.stop();
  expect(seen.exports.map(({ size }) => size)).toEqual([64, 64, 22]);
  queue.add('late', 'turn');
  expect(seen.dropped).toBe(1);
});
