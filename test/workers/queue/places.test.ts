import { expect, test } from 'vitest';
import { Places } from '../../../workers/queue/places.ts';

function placesOf(count: number): { places: Places; wait: (ms: number) => void } {
  let nowMs = 0;
  return { places: new Places(count, () => nowMs), wait: (ms) => void (nowMs += ms) };
}

test('direct work gets a slot while there is one', () => {
  const { places } = placesOf(2);
  expect([places.takeForBrought(), places.takeForBrought(), places.takeForBrought()]).toEqual([true, true, false]);
  expect(places.taken).toBe(2);
});

test('a job waits for a slot, and gets the first that becomes free', async () => {
  const { places } = placesOf(1);
  expect(places.takeForBrought()).toBe(true);
  const order: string[] = [];
  const first = places.takeForJob().then(() => order.push('first'));
  const second = places.takeForJob().then(() => order.push('second'));
  places.leaveAsBrought();
  await first;
  expect(order).toEqual(['first']);
  places.leaveAsJob();
  await second;
  expect([order, places.taken]).toEqual([['first', 'second'], 1]);
  places.leaveAsJob();
  expect(places.taken).toBe(0);
});

test('after a request for a slot failed, direct work goes through the queue for a while (G27)', async () => {
  const { places, wait } = placesOf(1);
  expect(places.takeForBrought()).toBe(true);
  expect(places.takeForBrought()).toBe(false);
  places.leaveAsBrought();
  expect(places.takeForBrought()).toBe(false);
  wait(999);
  expect(places.takeForBrought()).toBe(false);
  wait(1);
  expect(places.takeForBrought()).toBe(true);
});

test('while jobs have filled all slots, more of them may wait in the queue: direct work comes after them (G27)', async () => {
  const { places, wait } = placesOf(2);
  await places.takeForJob();
  await places.takeForJob();
  wait(60_000);
  places.leaveAsJob();
  expect(places.takeForBrought()).toBe(false);
  wait(1_000);
  expect(places.takeForBrought()).toBe(true);
});

test('direct work one after the other in a lane of one slot never waits for the queue', () => {
  const { places } = placesOf(1);
  for (let turn = 1; turn <= 5; turn += 1) {
    expect(places.takeForBrought()).toBe(true);
    places.leaveAsBrought();
  }
});
