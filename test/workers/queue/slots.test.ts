import { expect, test } from 'vitest';
import { Slots } from '../../../workers/queue/start-lane-worker.ts';

test('a lane has as many slots as it runs jobs at the same time', () => {
  const slots = new Slots(2);
  expect([slots.tryTake(), slots.tryTake(), slots.tryTake()]).toEqual([true, true, false]);
  expect([slots.taken, slots.free]).toEqual([2, 0]);
  slots.leave();
  expect([slots.taken, slots.free, slots.tryTake()]).toEqual([1, 1, true]);
});

test('jobs wait for a slot in the order in which they arrived', async () => {
  const slots = new Slots(1);
  expect(slots.tryTake()).toBe(true);
  const order: string[] = [];
  const first = slots.take().then(() => order.push('first'));
  const second = slots.take().then(() => order.push('second'));
  slots.leave();
  await first;
  expect(order).toEqual(['first']);
  slots.leave();
  await second;
  expect([order, slots.taken]).toEqual([['first', 'second'], 1]);
  slots.leave();
  expect(slots.taken).toBe(0);
});

test('a slot that a job waits for is never taken by a session that is run without the queue', async () => {
  const slots = new Slots(1);
  await slots.take();
  const job = slots.take();
  slots.leave();
  expect(slots.tryTake()).toBe(false);
  await job;
  expect(slots.taken).toBe(1);
});
