// Goal: a process starts nothing under a lease that another one may hold. Method: a fake clock that
// timers follow; a paused process is one whose clock moves on while no timer runs.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { keepLease, Lease, LeaseKeeper, LeaseLostError } from '../src/lease-keeper.ts';

const LEASE_MS = 12_000;
const clock = { monotonicMs: () => Date.now() };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** Moves the clock without running a timer. */
function pauseProcess(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Keeps a lease whose renewals answer what the test says; `asked` has their times. */
function keepOne({
  answer,
  release,
  runsOn = false,
}: {
  answer: () => Promise<boolean>;
  release?: () => Promise<void>;
  runsOn?: boolean;
}) {
  const beganAtMs = Date.now();
  const asked: number[] = [];
  const faults: unknown[] = [];
  const renew = (): Promise<boolean> => {
    asked.push(Date.now() - beganAtMs);
    return answer();
  };
  const outages = { report: (error: unknown) => void faults.push(error) };
  const parts = { id: 'one', leaseMs: LEASE_MS, clock, askedAtMs: beganAtMs, of: 'tests', outages, runsOn };
  return { ...keepLease({ ...parts, renew, ...(release && { release }) }), asked, faults };
}

const after = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const held = async (): Promise<boolean> => true;
const never = (): Promise<boolean> => new Promise(() => undefined);

describe('a lease', () => {
  test('is renewed after each third of it, until it is stopped', async () => {
    const { lease, stop, asked } = keepOne({ answer: held });
    await after(5 * LEASE_MS);
    expect(asked.slice(0, 3)).toEqual([4_000, 8_000, 12_000]);
    expect(lease.isTrusted).toBe(true);
    await stop();
    const { length } = asked;
    await after(LEASE_MS);
    expect(asked).toHaveLength(length);
    expect(lease.signal.aborted).toBe(false);
  });

  test('is trusted from before it was asked for: a renewal whose answer takes long adds that much less (G8)', async () => {
    const { lease, stop } = keepOne({
      answer: () => new Promise((resolve) => void setTimeout(resolve, 6_000)).then(() => true),
    });
    await after(4_000 + 6_000);
    expect(lease.askedAtMs).toBe(Date.now() - 6_000);
    expect(lease.isTrusted).toBe(true);
    pauseProcess(0.9 * LEASE_MS - 6_000);
    expect(lease.isTrusted).toBe(false);
    await stop();
    await after(6_000);
  });

  test('is lost before it ends when a renewal has no answer', async () => {
    const { lease, stop } = keepOne({ answer: never });
    await after(0.9 * LEASE_MS - 1);
    expect(lease.signal.aborted).toBe(false);
    await after(0.1 * LEASE_MS);
    expect(lease.signal.reason).toEqual(new LeaseLostError('one', 'over'));
    expect(() => lease.assertHeld()).toThrow('The lease of one ran out before it was renewed.');
    await stop();
  });

  test('is lost at once when its renewal is refused, and stays lost', async () => {
    let isHeld = false;
    const { lease, stop, asked } = keepOne({ answer: async () => isHeld });
    await after(4_000);
    expect(lease.signal.reason).toMatchObject({ code: 'lease_lost', message: expect.stringContaining('not renewed') });
    expect(lease.isTrusted).toBe(false);
    isHeld = true;
    await after(LEASE_MS);
    expect(asked).toEqual([4_000]);
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    await stop();
  });

  test('outlives faults of the database that pass in time: each check asks again', async () => {
    const fault = new Error('The database is away.');
    let isAway = true;
    const answer = async (): Promise<boolean> => {
      if (isAway) throw fault;
      return true;
    };
    const { lease, stop, asked, faults } = keepOne({ answer });
    await after(6_000);
    isAway = false;
    await after(1_000);
    expect(asked).toEqual([4_000, 5_000, 6_000, 7_000]);
    expect(faults).toEqual([fault, fault, fault]);
    await after(5_000);
    expect(lease.isTrusted).toBe(true);
    await stop();
  });

  test('of a process that was paused for longer starts nothing, whatever runs first when it wakes (G7)', async () => {
    const { lease, stop } = keepOne({ answer: held });
    pauseProcess(LEASE_MS);
    expect(lease.isTrusted).toBe(false);
    expect(() => lease.assertHeld()).toThrow(LeaseLostError);
    expect(lease.signal.aborted).toBe(true);
    await stop();
    const other = keepOne({ answer: held });
    pauseProcess(LEASE_MS);
    await after(LEASE_MS / 12);
    expect(other.lease.signal.aborted).toBe(true);
    expect(other.asked).toEqual([]);
    await other.stop();
  });

  test('that is stopped twice is released once, after its last renewal', async () => {
    const release = vi.fn<() => Promise<void>>(async () => undefined);
    const { stop, asked } = keepOne({ answer: held, release });
    await Promise.all([stop(), stop()]);
    await stop();
    await after(LEASE_MS);
    expect(release).toHaveBeenCalledTimes(1);
    expect(asked).toEqual([]);
  });

  test('under which work may run on is lost only when something would be started, and is trusted again after a late renewal', async () => {
    let isAway = true;
    const answer = async (): Promise<boolean> => {
      if (isAway) throw new Error('The database is away.');
      return true;
    };
    const { lease, stop } = keepOne({ answer, runsOn: true });
    await after(LEASE_MS);
    expect(lease.isTrusted).toBe(false);
    expect(lease.signal.aborted).toBe(false);
    isAway = false;
    await after(1_000);
    expect(lease.isTrusted).toBe(true);
    lease.assertHeld();
    await stop();
  });
});

describe('leases of one keeper', () => {
  function keepMany(renew: (ids: string[]) => Promise<ReadonlySet<string>>) {
    const keeper = new LeaseKeeper<Lease>({
      leaseMs: LEASE_MS,
      clock,
      of: 'tests',
      outages: { report: () => undefined },
      renew: (leases) => renew(leases.map(({ id }) => id)),
    });
    const claim = (id: string) => keeper.keep(new Lease({ id, leaseMs: LEASE_MS, clock, askedAtMs: Date.now() }));
    return { keeper, claim };
  }

  test('are renewed together, and only those that are refused are lost', async () => {
    const asked: string[][] = [];
    const { keeper, claim } = keepMany(async (ids) => {
      asked.push(ids);
      return new Set(['first']);
    });
    const first = claim('first');
    await after(2_000);
    const second = claim('second');
    await after(2_000);
    expect(asked).toEqual([['first', 'second']]);
    expect([first.isTrusted, second.isTrusted]).toEqual([true, false]);
    keeper.drop('second');
    await after(4_000);
    expect(asked.at(-1)).toEqual(['first']);
    keeper.drop('first');
  });

  test('that were released and claimed again meanwhile are not ended by the answer to the earlier renewal', async () => {
    const answer = Promise.withResolvers<ReadonlySet<string>>();
    const { keeper, claim } = keepMany(() => answer.promise);
    const earlier = claim('one');
    await after(4_000);
    keeper.drop('one');
    const later = claim('one');
    answer.resolve(new Set());
    await after(0);
    expect([earlier.signal.aborted, later.signal.aborted]).toEqual([false, false]);
    keeper.stop();
  });
});
