import { expect, test } from 'vitest';
import type { MessageId, SessionId } from '../../../src/core/ids.ts';
import { decideFires, formatSlot, type Firing, type HeldCron } from '../../../src/features/crons/rules/fires.ts';

const SLOT_MS = Date.parse('2026-03-01T12:00:00.250Z');
const session = 'session' as SessionId;

function firingOf(cronId: string, more: Partial<Firing> = {}, slots = 1): Firing {
  return {
    cronId,
    revision: 0,
    firstSlotMs: SLOT_MS,
    sessionId: session,
    kind: 'cron',
    body: '{"text":"tick"}',
    route: 'cron',
    event: null,
    waitingMax: 20,
    ticks: Array.from({ length: slots }, (_, n) => ({
      tick: { kind: 'fire', slotMs: SLOT_MS + n * 1000 },
      messageId: `${cronId}-${n}` as MessageId,
    })),
    nextSlotMs: null,
    dueMs: null,
    disabledReason: null,
    ...more,
  };
}

const line = (text: string) =>
  ({ kind: 'heartbeat', event: { id: 'event', text, contextKey: 'cron', isTrusted: true } }) as const;

const heldOf = (firings: readonly Firing[], held: Partial<HeldCron> = {}) =>
  new Map(firings.map(({ cronId }) => [cronId, { cronId, name: cronId, waiting: 0, lastEventText: null, ...held }]));

const decide = (firings: readonly Firing[], held: Partial<HeldCron> = {}, known: readonly string[] = []) =>
  decideFires(firings, heldOf(firings, held), new Set(known)).map(
    ({ cronId, status, reason, messageId, leavesLine }) => ({
      cronId,
      status,
      reason,
      messageId,
      leavesLine,
    }),
  );

test('a slot is named as PostgreSQL writes its epoch, so versions side by side fire it once (G20)', () => {
  expect(formatSlot('daily', SLOT_MS)).toBe('cron:daily:1772366400.250000');
});

test('crons of one session share its room, and the slots over it are skipped', () => {
  const firings = [firingOf('a', { waitingMax: 2 }, 2), firingOf('b', { waitingMax: 2 })];
  expect(decide(firings)).toMatchObject([
    { messageId: 'a-0', status: 'claimed' },
    { messageId: 'a-1', status: 'claimed' },
    { messageId: null, status: 'skipped', reason: 'inbox_full' },
  ]);
});

test('of slots that leave a line together, the last leaves it, with one poll', () => {
  expect(decide([firingOf('a', line('Look.'), 3)])).toMatchObject([
    { status: 'completed', reason: 'duplicate', leavesLine: false },
    { status: 'completed', reason: 'duplicate', leavesLine: false },
    { status: 'claimed', reason: null, leavesLine: true, messageId: 'a-2' },
  ]);
});

test('a line that waits already is left once, whichever of two crons leaves it', () => {
  const firings = [firingOf('a', line('Look.')), firingOf('b', line('Look.'))];
  expect(decide(firings).map(({ leavesLine }) => leavesLine)).toEqual([true, false]);
  expect(decide(firings, { lastEventText: 'Look.' }).map(({ leavesLine }) => leavesLine)).toEqual([false, false]);
});

test('a line is left in a session without room, and gets no poll', () => {
  const [fire] = decide([firingOf('a', line('Look.'))], { waiting: 20 });
  expect(fire).toMatchObject({ status: 'completed', reason: null, leavesLine: true, messageId: null });
});

test('a slot that has a fire already stays as it is (G20)', () => {
  expect(decide([firingOf('a', {}, 2)], {}, [formatSlot('a', SLOT_MS)])).toMatchObject([{ messageId: 'a-1' }]);
});
