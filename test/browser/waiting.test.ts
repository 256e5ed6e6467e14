// Each reason for which a message waits, from rows as the service writes them, read on the screen of waiting messages. Method: a session of its
// own for each reason; the reasons that depend on the workers of a lane have lanes of their own.
import { expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { useDashboard } from './dashboard-rig.ts';

const dashboard = useDashboard();

/** SQL of the state of the session, its doorbell and its turn; `$1` is the session, `$2` the turn. */
interface Waiting {
  lane?: 'main' | 'subagent' | 'cron' | 'batch';
  set?: string;
}

const NOW = 'clock_timestamp()';
const LATER = `${NOW} + interval '1 hour'`;
const held = (worker: string): string =>
  `update holdfast.sessions set owner = '${worker}', lease_expires_at = ${LATER} where id = $1 and $2::uuid is not null`;
const bell = (change: string): string =>
  `update holdfast.doorbells set ${change} where session_id = $1 and $2::uuid is not null`;
const parked = (code: string): string => `with turn as (
    insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, queued_at, claimed_at,
      park_code, park_text, park_by, park_since)
    values ($2, $1, 'message', 'main', 'parked', 1, 'worker', 'm', 1, 's', 't', ${NOW}, ${NOW}, '${code}', 'It waits: ${code}.', 'anthropic', ${NOW}) returning id
  ) update holdfast.sessions set turn_id = turn.id from turn where sessions.id = $1`;

/** The lane main has a free worker, subagent none, cron one that is full, batch one that cannot reach the queue. */
const REASONS: Readonly<Record<string, Waiting>> = {
  ring_lost: {},
  no_worker: { lane: 'subagent' },
  lane_full: { lane: 'cron' },
  queue_unreachable: { lane: 'batch' },
  session_busy: { set: held('worker') },
  lock_of_lost_worker: { set: held('lost') },
  gathering: { set: bell(`quiet_ms = 60000, gather_until = ${LATER}`) },
  delayed: { set: bell(`due_at = ${LATER}`) },
  yielded: {
    set: `with bell as (update holdfast.doorbells set due_at = ${LATER} where session_id = $1)
      insert into holdfast.yields (session_id, turn_id, epoch, seconds, due_at) values ($1, $2, 0, 60, ${LATER})`,
  },
  model_away: { set: parked('model_away') },
  rate_limited: { set: parked('rate_limited') },
  model_blocked: { set: parked('model_blocked') },
  retry_wait: { set: parked('retry_wait') },
  budget_reached: { set: parked('budget_reached') },
  provider_batch: { set: parked('provider_batch') },
};

/** A worker is lost when it was not seen for a while. The others were last seen in the future, so that none is lost while the test runs. */
const WORKERS = `insert into holdfast.workers (id, name, host, pid, roles, version, lanes, seen_at, queue_away_since)
  select gen_random_uuid(), name, 'host', 1, array['worker'], '1', lanes::json, ${NOW} + interval '1 hour' - silent::interval, case when name = 'away' then ${NOW} end
  from (values ('worker', '{"main":{"slots":4,"inUse":0}}', '0'), ('lost', '{}', '2 hours'), ('full', '{"cron":{"slots":1,"inUse":1}}', '0'),
    ('away', '{"batch":{"slots":4,"inUse":0}}', '0')) as worker (name, lanes, silent)`;

/** A turn that uses the only slot of the lane cron. */
const BUSY = `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256, queued_at, claimed_at)
  values (gen_random_uuid(), gen_random_uuid(), 'cron', 'cron', 'running', 1, 'full', 'm', 1, 's', 't', ${NOW}, ${NOW})`;

async function waitFor(reason: string, { lane = 'main', set }: Waiting): Promise<void> {
  const { rig } = dashboard;
  const [sessionId, turnId] = [newId<string>(), newId<string>()];
  await rig.rows(
    `with session as (insert into holdfast.sessions (id, key, agent_id, kind, lane, waiting, inbox_seq, last_message_at)
       values ($1, $2, 'main', 'other', $3, 1, 1, ${NOW})),
     bell as (insert into holdfast.doorbells (session_id, lane, rings) values ($1, $3, 1))
     insert into holdfast.inbox (id, session_id, seq, kind, body, route) values ($4, $1, 1, 'message', '{"text":"hello"}', '')`,
    [sessionId, `agent:main:${reason}`, lane, newId<string>()],
  );
  if (set !== undefined) await rig.rows(set, [sessionId, turnId]);
}

test('each of the 15 reasons for which a message waits is read on the screen', async () => {
  const { page, rig, signIn, open } = dashboard;
  await rig.rows(WORKERS);
  await rig.rows(BUSY);
  for (const [reason, waiting] of Object.entries(REASONS)) await waitFor(reason, waiting);
  const listed: { sessionKey: string; why: { code: string; text: string } }[] = (await rig.get('/v1/waiting')).body
    .items;
  await signIn();
  await open('/waiting');
  const rows = page.getByRole('row').filter({ has: page.getByRole('cell') });
  await expect.poll(() => rows.count()).toBe(Object.keys(REASONS).length);
  const shown = new Map<string, string>();
  for (const row of await rows.all()) {
    const session = (await row.getByRole('link').first().textContent()) ?? '';
    shown.set(session, (await row.locator('[data-label="Why"]').textContent()) ?? '');
  }
  // The code, and the sentence for people.
  expect(shown.size).toBe(15);
  for (const [session, why] of shown) expect(why.startsWith(`${session.replace('agent:main:', '')} `)).toBe(true);
  for (const { sessionKey, why } of listed) expect(shown.get(sessionKey)).toBe(`${why.code} ${why.text}`);
});

test('the overview says of each lane why its oldest message waits', async () => {
  const { page, rig, signIn, open } = dashboard;
  await waitFor('overview', { lane: 'subagent' });
  const { lanes } = (await rig.get('/v1/overview')).body;
  await signIn();
  await open('/');
  const table = page.getByRole('region', { name: 'Lanes' });
  for (const { lane, oldest } of lanes) {
    const row = table.getByRole('row').filter({ has: page.getByRole('link', { name: lane, exact: true }) });
    const cell = row.getByRole('cell').nth(3);
    if (oldest === null) expect(await cell.textContent()).toBe('');
    else await cell.getByText(`${oldest.why.code} ${oldest.why.text} ${oldest.sessionKey}`).waitFor();
  }
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
