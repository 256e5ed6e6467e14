// Goal: an operator who has nothing but the dashboard sees a problem within 10 s, and its cause
// with three clicks. Method: problems as a service has them, at once in one database; from the
// overview, each is followed by its links until the words of its cause are there. The clock of the
// page is the test's, so that the 10 s do not depend on the machine. Not here: an outage of the
// database and of the process itself (outage.test.ts), and a full disk, whose words are read in
// test/service.
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { newId } from '../../src/ids.ts';
import { claimDelivery } from '../../src/features/deliveries/store/claims.ts';
import { settleDelivery } from '../../src/features/deliveries/store/settle.ts';
import type { ApiRig } from '../api/api-rig.ts';
import { changeToolCalls } from '../rows/calls.ts';
import { addCronFires } from '../rows/crons.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { changeDoorbells } from '../rows/doorbells.ts';
import { addMcpServers } from '../rows/mcp-servers.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago, ahead, now } from '../rows/table.ts';
import { addTurns, openTurnElsewhere } from '../rows/turns.ts';
import { addWorkers } from '../rows/workers.ts';
import { useDashboard } from './dashboard-rig.ts';
import { keepPicture } from './pictures.ts';

let monotonicMs = 0;
const clock = { now: () => new Date(), monotonicMs: () => monotonicMs };
const file = { mcp: { servers: { wiki: { url: 'http://127.0.0.1:9/mcp' } } } };
const dashboard = useDashboard({ context: { clock }, file });

const CLICKS_MAX = 3;
const SEEN_MS_MAX = 10_000;
/**
 * So far the test advances the clock of the page each time it looks whether the page has drawn an
 * answer.
 */
const LOOK_MS = 1;

interface Cause {
  name: string;
  make: (rig: ApiRig) => Promise<unknown>;
  /** The problem in the overview, and the links that are clicked after it. */
  problem: RegExp;
  clicks?: (page: Page) => Locator[];
  /** The words of the cause. */
  shows: (page: Page) => Locator[];
}

const CRON = {
  name: 'report',
  schedule: { kind: 'at', at: '2099-01-01T00:00:00Z' },
  payload: { kind: 'systemEvent', text: 'x' },
};

/** The first letter of the group, by its words. */
const letterOf = (page: Page) => page.locator('.letter').first().getByRole('button').first();

async function message(rig: ApiRig, session: string, text: string, more: object = {}): Promise<void> {
  expect((await rig.post(`/v1/sessions/${session}/messages`, { text, ...more })).status).toBe(202);
}

/** A session whose reply is refused: so often until its delivery has this status. */
async function refused(rig: ApiRig, session: string, statuses: readonly ('pending' | 'failed')[]): Promise<void> {
  await message(rig, session, '[[reply: Hello.]]', { deliver: { url: 'http://127.0.0.1:9/replies' } });
  await rig.work(session);
  const [row] = await readDeliveries(rig, { sessionKey: `agent:main:${session}` }, 'sessionId');
  const { database } = rig.turns;
  for (const status of statuses) {
    const claim = { sessionId: row?.['sessionId'] as SessionId, owner: 'relay', leaseMs: 60_000 };
    const delivery = await claimDelivery(database, claim);
    if (delivery === null) throw new Error('no delivery is due');
    const lastStatus = status === 'pending' ? 503 : 410;
    const answer = { status, lastStatus, lastError: `the receiver answered ${lastStatus}` };
    await settleDelivery(database, { delivery, owner: 'relay', ...answer });
  }
}

const CAUSES: readonly Cause[] = [
  {
    name: 'failed-turn',
    make: async (rig) => {
      await message(rig, 'failed', '[[error: 400 message="no cats today"]]');
      await rig.work('failed');
    },
    problem: /^1 dead letter with the code model_invalid_request/,
    clicks: (page) => [letterOf(page)],
    shows: (page) => [page.getByText(/no cats today/), page.getByRole('button', { name: 'Retry…' })],
  },
  {
    name: 'failed-delivery',
    make: (rig) => refused(rig, 'gone', ['pending', 'failed']),
    problem: /^1 dead letter with the code delivery/,
    clicks: (page) => [letterOf(page)],
    shows: (page) => [
      page.getByRole('table', { name: 'Attempts' }).getByText('410', { exact: true }),
      page.getByRole('region', { name: 'Delivery' }).getByRole('button', { name: 'Redrive…' }),
    ],
  },
  {
    name: 'retried-delivery',
    make: (rig) => refused(rig, 'stuck', ['pending']),
    problem: /^1 delivery to webhook 127.0.0.1:9 has failed/,
    clicks: (page) => [
      page
        .locator('main')
        .getByRole('link', { name: /^reply / })
        .first(),
    ],
    shows: (page) => [page.getByRole('table', { name: 'Attempts' }).getByText('503', { exact: true })],
  },
  {
    name: 'budget',
    make: async (rig) => {
      await rig.post('/v1/budgets', { scope: 'session:agent:main:poor', per: 'day', limitUsd: 0 });
      await message(rig, 'poor', 'hello');
      await rig.work('poor');
    },
    problem: /^The budget session:agent:main:poor per day is reached; 1 turn waits/,
    shows: (page) => [page.getByText(/^reached/)],
  },
  {
    name: 'model-away',
    make: async (rig) => {
      await message(rig, 'parked', 'hello');
      const [sessionId, id] = [await rig.turns.sessionOf('parked'), newId<string>()];
      const park = { parkCode: 'model_away', parkText: 'Its provider refuses connections.', parkBy: 'google' };
      await addTurns(rig, { id, sessionId, status: 'parked', parkSince: now, ...park });
      await changeSessions(rig, { id: sessionId }, { turnId: id });
    },
    problem: /^The provider google does not answer; 1 turn waits/,
    shows: (page) => [page.getByText(/Its provider refuses connections/)],
  },
  {
    name: 'wrong-address',
    make: async (rig) => {
      await message(rig, 'misled', 'hello');
      const [sessionId, id] = [await rig.turns.sessionOf('misled'), newId<string>()];
      const parkText = '127.0.0.1:9/v1/messages answered 404 with a page.';
      const park = { parkCode: 'model_wrong_address', parkText, parkBy: 'local' };
      await addTurns(rig, { id, sessionId, status: 'parked', parkSince: now, ...park });
      await changeSessions(rig, { id: sessionId }, { turnId: id });
    },
    problem: /^At the address of the provider local, something else answers; 1 turn waits/,
    shows: (page) => [page.getByText(/answered 404 with a page/)],
  },
  {
    name: 'blocked-model',
    make: async (rig) => {
      await message(rig, 'limited', '[[error: 529 retry-after=600]]', { model: 'anthropic/limited' });
      await rig.work('limited');
    },
    problem: /^(?:No worker calls anthropic\/limited|The provider anthropic limits calls)/,
    shows: (page) => [page.getByRole('button', { name: 'Unblock… anthropic/limited' })],
  },
  {
    name: 'no-worker',
    make: async (rig) => {
      await message(rig, 'unserved', 'hello');
      await changeDoorbells(rig, { sessionKey: 'agent:main:unserved' }, { dueAt: ago('10 seconds') });
    },
    problem: /^No worker serves the lane main/,
    shows: (page) => [page.getByRole('row').getByText('no_worker').first()],
  },
  {
    name: 'expired-lock',
    make: async (rig) => {
      await message(rig, 'held', 'hello');
      // A lane with a worker.
      const held = { lane: 'subagent', owner: 'elsewhere', leaseExpiresAt: ago('10 minutes') };
      await changeSessions(rig, { key: 'agent:main:held' }, held);
    },
    problem: /^The lease of the session “.+” has expired/,
    shows: (page) => [page.getByRole('status').getByText('lock_of_lost_worker')],
  },
  {
    name: 'lost-mcp-server',
    make: (rig) => {
      const lost = {
        state: 'lost',
        failedTries: 2,
        error: 'connect ECONNREFUSED 127.0.0.1:9',
        changedAt: ago('1 minute'),
      };
      return addMcpServers(rig, { name: 'wiki', ...lost, dueAt: ahead('1 hour') });
    },
    problem: /^The MCP server wiki cannot be used.*ECONNREFUSED/,
    shows: (page) => [page.getByRole('region', { name: 'wiki' }).getByText('connect ECONNREFUSED')],
  },
  {
    name: 'unknown-outcome',
    make: async (rig) => {
      await message(rig, 'doubtful', '[[tool: echo {"refund": 42}]] [[reply: done]]');
      await rig.work('doubtful');
      const call = { isIdempotent: false, status: 'unknown', unknownAt: now };
      await changeToolCalls(rig, { sessionKey: 'agent:main:doubtful' }, call);
    },
    problem: /^1 call of echo has an unknown outcome/,
    clicks: (page) => [
      page
        .getByRole('row', { name: /doubtful/ })
        .getByRole('link')
        .first(),
    ],
    shows: (page) => [page.getByText('unknown', { exact: true })],
  },
  {
    name: 'paused-lane',
    make: (rig) => rig.post('/v1/pause', { lane: 'cron', reason: 'a drill' }),
    problem: /^The lane cron is paused by an operator/,
    shows: (page) => [page.getByText(/by admin: a drill/), page.getByRole('button', { name: 'Resume lane cron' })],
  },
  {
    name: 'queue-away',
    make: (rig) => {
      const since = { startedAt: ago('1 hour'), queueAwaySince: ago('1 minute') };
      const lanes = { subagent: { slots: 4, inUse: 0 } };
      return addWorkers(rig, { name: 'cut off', host: 'cut-off', lanes, seenAt: ahead('1 hour'), ...since });
    },
    problem: /^1 process cannot reach the queue/,
    shows: (page) => [page.getByRole('article', { name: 'cut off' }).getByText('Queue away since')],
  },
  {
    name: 'missed-cron',
    make: async (rig) => {
      const { body } = await rig.post('/v1/crons', CRON);
      await addCronFires(rig, { cronId: body.id, scheduledFor: ago('2 hours'), status: 'missed' });
    },
    problem: /^The cron “report” missed 1 slot/,
    shows: (page) => [
      page.getByRole('heading', { name: /report/ }),
      page.getByRole('region', { name: 'Last runs' }).getByText('missed').first(),
    ],
  },
  {
    name: 'no-scheduler',
    make: (rig) => rig.post('/v1/crons', { ...CRON, name: 'later' }),
    problem: /^No scheduler is running; 2 crons/,
    shows: (page) => [page.getByRole('heading', { name: 'Processes' }), page.getByRole('article', { name: 'cut off' })],
  },
];

/** The only one that no event announces. */
const LOST: Cause = {
  name: 'lost-worker',
  async make(rig) {
    await rig.turns.sessionOf('taken');
    await openTurnElsewhere(rig, { key: 'agent:main:taken' });
    // A lane with another worker.
    await changeSessions(rig, { key: 'agent:main:taken' }, { lane: 'subagent' });
    const lanes = { main: { slots: 4, inUse: 1 } };
    await addWorkers(rig, { name: 'elsewhere', host: 'lost-host', lanes, seenAt: ago('1 minute') });
  },
  problem: /^The worker elsewhere has missed three reports/,
  clicks: (page) => [page.getByRole('article', { name: 'elsewhere' }).getByRole('link', { name: /^turn / })],
  shows: (page) => [page.getByText('lock_of_lost_worker')],
};

test('a problem is seen within 10 s, and each of 16 causes with at most three clicks from the overview', async () => {
  const { page, rig, signIn, open, settle } = dashboard;
  const problemOf = ({ problem }: Cause): Locator =>
    page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name: problem });
  for (const { make } of CAUSES) await make(rig);
  monotonicMs += 1_000;
  await page.clock.install();
  await signIn();
  await open('/');
  for (const cause of CAUSES) await problemOf(cause).waitFor();
  await settle();

  await LOST.make(rig);
  monotonicMs += 1_000;
  await page.clock.pauseAt(Date.now() + SEEN_MS_MAX);
  await expect
    .poll(async () => {
      await page.clock.runFor(LOOK_MS);
      return problemOf(LOST).count();
    })
    .toBe(1);
  await page.clock.resume();
  await keepPicture(page, 'drill-overview');

  const counted: Record<string, number> = {};
  for (const cause of [...CAUSES, LOST]) {
    await open('/');
    const path = [problemOf(cause), ...(cause.clicks?.(page) ?? [])];
    for (const link of path) await link.click();
    for (const words of cause.shows(page)) await words.first().waitFor();
    await keepPicture(page, `drill-${cause.name}`);
    counted[cause.name] = path.length;
  }
  expect(Object.entries(counted).filter(([, clicks]) => clicks > CLICKS_MAX)).toEqual([]);
});
