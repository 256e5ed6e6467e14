// Each reason for which a message waits, from rows as the service writes them, read on the screen
// of waiting messages. Method: a session of its own for each reason; the reasons that depend on the
// workers of a lane have lanes of their own.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { addDoorbells, addYields, changeDoorbells } from '../rows/doorbells.ts';
import { addInputs } from '../rows/inputs.ts';
import { addSessions, changeSessions } from '../rows/sessions.ts';
import { ago, ahead, now } from '../rows/table.ts';
import { addTurns } from '../rows/turns.ts';
import { addWorkers } from '../rows/workers.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

/** A state of a session, its doorbell and its turn. */
interface Waiting {
  lane?: 'main' | 'subagent' | 'cron' | 'batch';
  set?: (of: { sessionId: string; turnId: string }) => Promise<void>;
}
type Setting = NonNullable<Waiting['set']>;

const later = ahead('1 hour');
const held = (owner: string): Setting => {
  return ({ sessionId }) => changeSessions(dashboard.rig, { id: sessionId }, { owner, leaseExpiresAt: later });
};
const bell = (change: Parameters<typeof changeDoorbells>[2]): Setting => {
  return ({ sessionId }) => changeDoorbells(dashboard.rig, { sessionId }, change);
};
const parked = (parkCode: string): Setting => {
  return async ({ sessionId, turnId }) => {
    const park = { parkCode, parkText: `It waits: ${parkCode}.`, parkBy: 'anthropic', parkSince: now };
    await addTurns(dashboard.rig, { id: turnId, sessionId, status: 'parked', ...park });
    await changeSessions(dashboard.rig, { id: sessionId }, { turnId });
  };
};

/**
 * The lane main has a free worker, subagent none, cron one that is full, batch one that cannot
 * reach the queue.
 */
const REASONS: Readonly<Record<string, Waiting>> = {
  ring_lost: {},
  no_worker: { lane: 'subagent' },
  lane_full: { lane: 'cron' },
  queue_unreachable: { lane: 'batch' },
  session_busy: { set: held('worker') },
  lock_of_lost_worker: { set: held('lost') },
  gathering: { set: bell({ quietMs: 60_000, gatherUntil: later }) },
  delayed: { set: bell({ dueAt: later }) },
  yielded: {
    set: async (of) => {
      await bell({ dueAt: later })(of);
      await addYields(dashboard.rig, { ...of, epoch: 0, seconds: 60, dueAt: later });
    },
  },
  model_away: { set: parked('model_away') },
  rate_limited: { set: parked('rate_limited') },
  model_blocked: { set: parked('model_blocked') },
  retry_wait: { set: parked('retry_wait') },
  budget_reached: { set: parked('budget_reached') },
  provider_batch: { set: parked('provider_batch') },
};

/**
 * A worker is lost when it was not seen for a while. The others were last seen in the future, so
 * that none is lost while the test runs.
 */
const WORKERS = [
  { name: 'worker', lanes: { main: { slots: 4, inUse: 0 } } },
  { name: 'lost', seenAt: ago('1 hour') },
  { name: 'full', lanes: { cron: { slots: 1, inUse: 1 } } },
  { name: 'away', lanes: { batch: { slots: 4, inUse: 0 } }, queueAwaySince: now },
];

/** A turn that uses the only slot of the lane cron. */

async function waitFor(reason: string, { lane = 'main', set }: Waiting): Promise<void> {
  const { rig } = dashboard;
  const [sessionId, turnId] = [newId<string>(), newId<string>()];
  await addSessions(rig, {
    id: sessionId,
    key: `agent:main:${reason}`,
    kind: 'other',
    lane,
    waiting: 1,
    inboxSeq: 1,
    lastMessageAt: now,
  });
  await addDoorbells(rig, { sessionId, lane, rings: 1 });
  await addInputs(rig, { sessionId, seq: 1 });
  await set?.({ sessionId, turnId });
}

test('each of the 15 reasons for which a message waits is a group, in the words of a person, and leads to a list', async () => {
  const { page, rig, signIn, open } = dashboard;
  await addWorkers(rig, ...WORKERS.map((worker) => ({ seenAt: later, ...worker })));
  await addTurns(rig, { sessionId: newId<string>(), kind: 'cron', lane: 'cron', status: 'running', worker: 'full' });
  for (const [reason, waiting] of Object.entries(REASONS)) await waitFor(reason, waiting);
  const listed: { sessionKey: string; why: { code: string; text: string } }[] = (await rig.get('/v1/waiting')).body
    .items;
  await signIn();
  await open('/waiting');
  await expect.poll(() => page.locator('section[aria-label]').count()).toBe(15);
  for (const reason of Object.keys(REASONS)) {
    const group = page.getByRole('region', { name: reason, exact: true });
    const why = listed.find(({ sessionKey }) => sessionKey === `agent:main:${reason}`)?.why;
    expect(why?.code).toBe(reason);
    // Its title is in the words of a person, and its rows have the sentence of the service.
    expect(await group.getByRole('heading').textContent()).not.toBe(reason);
    await group.getByRole('row').filter({ hasText: reason }).getByText(why!.text).waitFor();
  }
  // Those first that need a person.
  const order = await page.locator('section[aria-label]').evaluateAll((all) => all.map(({ ariaLabel }) => ariaLabel));
  expect(order.indexOf('budget_reached')).toBeLessThan(order.indexOf('model_away'));
  expect(order.at(-1)).toBe('delayed');
  await page.getByRole('region', { name: 'model_away' }).getByRole('link', { name: 'model_away', exact: true }).click();
  await page.getByRole('table', { name: 'Messages that wait' }).getByText('model_away').first().waitFor();
});

test('the overview says of each lane why its oldest message waits, and of each provider why it is not open', async () => {
  const { page, rig, signIn, open } = dashboard;
  await waitFor('overview', { lane: 'subagent' });
  await waitFor('overview-limited', { set: parked('rate_limited') });
  const { lanes } = (await rig.get('/v1/overview')).body;
  await signIn();
  await open('/');
  const table = page.getByRole('region', { name: 'Lanes' });
  for (const { lane, oldest } of lanes) {
    const row = table.getByRole('row').filter({ has: page.getByRole('link', { name: lane, exact: true }) });
    const cell = row.getByRole('cell').nth(2);
    if (oldest === null) expect(await cell.textContent()).toBe('');
    else await cell.getByText(`${oldest.why.code} ${oldest.why.text} ${oldest.sessionKey}`).waitFor();
  }
  const provider = page
    .getByRole('region', { name: 'Providers' })
    .getByRole('listitem')
    .filter({ hasText: 'anthropic' });
  await provider.getByText('limited', { exact: true }).waitFor();
  await provider.getByText(/^anthropic: \d+ turns? waits? for room in the rate limits/).waitFor();
  const { oldest } = lanes.find(({ lane }: { lane: string }) => lane === 'subagent');
  await table.getByRole('link', { name: oldest.sessionKey, exact: true }).click();
  await expect.poll(() => decodeURIComponent(new URL(page.url()).pathname)).toBe(`/sessions/${oldest.sessionKey}`);
});

test('a session shows its queue with the reason of each message', async () => {
  const { page, rig, signIn, open } = dashboard;
  await waitFor('queue', { lane: 'subagent' });
  const [message] = (await rig.get('/v1/waiting?session=queue')).body.items;
  await signIn();
  await open('/sessions/agent:main:queue');
  await page.getByRole('status').getByText(`${message.why.code} ${message.why.text}`).waitFor();
  await page.getByText('1 message waits', { exact: true }).click();
  await page.getByRole('listitem').getByText(`hello ${message.why.code} ${message.why.text}`).waitFor();
  await page.getByRole('link', { name: 'all that wait in this session' }).click();
  await expect
    .poll(() =>
      page
        .getByRole('row')
        .filter({ has: page.getByRole('cell') })
        .count(),
    )
    .toBe(1);
});
