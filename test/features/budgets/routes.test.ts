// Budgets over HTTP: created, shown, changed and removed by requests; those of the configuration
// and of batches are fixed.
import { expect, test } from 'vitest';
import { budgetFields } from '../../../src/config/schema-service.ts';
import { useApiRig } from '../../api/use-api-rig.ts';

const holder = useApiRig();
const ask = (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
  holder.rig.ask(method, url, payload === undefined ? {} : { payload });

/** Names without a slash that Node knows, abbreviations included. */
const LEGACY_ZONES =
  'UTC GMT UCT Zulu Japan Cuba Egypt Iran PRC ROC ROK EST MST HST EST5EDT PST8PDT CET MET EET WET CAT CST IST BST PST ACT AET SST NET MIT'.split(
    ' ',
  );

function timeIn(timeZone: string, at: string): string {
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts, ...time }).format(new Date(at));
}

const DAILY = { scope: 'agent:main', per: 'day', limitUsd: 2.5 };

test('a budget is created with its defaults, shown with its window, changed and removed', async () => {
  const made = await ask('POST', '/v1/budgets', DAILY);
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    ...DAILY,
    zone: 'UTC',
    warnPercent: 80,
    action: 'pause',
    strict: false,
    origin: 'api',
    spentUsd: 0,
    reservedUsd: 0,
    isReached: false,
  });
  const { id } = made.body;
  const listed = await holder.rig.get('/v1/budgets');
  expect(listed.body.items).toContainEqual({ ...made.body, startsAt: expect.any(String), endsAt: expect.any(String) });
  const changed = await ask('PATCH', `/v1/budgets/${id}`, { limitUsd: 5, action: 'fail' });
  expect(changed.body).toMatchObject({ id, limitUsd: 5, action: 'fail', warnPercent: 80 });
  expect((await ask('DELETE', `/v1/budgets/${id}`)).body).toEqual({ deleted: true });
  expect((await holder.rig.get('/v1/budgets')).body.items).not.toContainEqual(expect.objectContaining({ id }));
  expect((await ask('DELETE', `/v1/budgets/${id}`)).status).toBe(404);
});

test.each(['hour', 'day', 'month'])('the window of a budget per %s is known before its first call', async (per) => {
  const { body } = await ask('POST', '/v1/budgets', { ...DAILY, per, zone: 'Asia/Tokyo' });
  const [startsAt, endsAt] = [Date.parse(body.startsAt), Date.parse(body.endsAt)];
  const [{ now = 0 } = {}] = await holder.rig.rows('select extract(epoch from now()) * 1000 as now');
  expect(startsAt).toBeLessThanOrEqual(Number(now));
  expect(endsAt).toBeGreaterThan(startsAt);
  const start = per === 'hour' ? /00:00$/ : per === 'day' ? /, 00:00:00$/ : /^\d+\/01\/\d+, 00:00:00$/;
  expect(timeIn('Asia/Tokyo', body.startsAt)).toMatch(start);
  expect(timeIn('Asia/Tokyo', body.endsAt)).toMatch(start);
});

test('a budget in total has no end', async () => {
  const { body } = await ask('POST', '/v1/budgets', { ...DAILY, per: 'total' });
  expect(body).toMatchObject({ startsAt: expect.any(String), endsAt: null });
});

test.each([
  ['scope', { ...DAILY, scope: 'everything' }],
  ['scope', { ...DAILY, scope: 'batch:1' }],
  ['per', { ...DAILY, per: 'week' }],
  ['limitUsd', { ...DAILY, limitUsd: -1 }],
  ['limitUsd', { ...DAILY, limitUsd: 0.0000001 }],
  ['zone', { ...DAILY, zone: 'Mars/Olympus' }],
  ['zone', { ...DAILY, zone: '+05:30' }],
  ['zone', { ...DAILY, zone: 'CAT' }],
  ['zone', { ...DAILY, zone: 'CET' }],
  ['warnPercent', { ...DAILY, warnPercent: 0 }],
  ['spentUsd', { ...DAILY, spentUsd: 1 }],
])('a budget with a wrong %s is refused, and nothing is stored', async (path, payload) => {
  const before = (await holder.rig.get('/v1/budgets')).body.items.length;
  const refused = await ask('POST', '/v1/budgets', payload);
  expect(refused.status).toBe(400);
  expect(refused.body.errors).toContainEqual(expect.objectContaining({ path }));
  expect((await holder.rig.get('/v1/budgets')).body.items).toHaveLength(before);
});

test('every zone that a budget may have has the same time in the database', async () => {
  const names = [...Intl.supportedValuesOf('timeZone'), ...LEGACY_ZONES].filter(
    (zone) => budgetFields.zone.safeParse(zone).success,
  );
  expect(names).toEqual(expect.arrayContaining(['Europe/Berlin', 'Japan', 'UTC']));
  // Years ago, so that both sides know the rules of each zone.
  const times = ['2015-01-15T12:00:00Z', '2015-07-15T12:00:00Z'];
  const rows = await holder.rig.rows(
    `select zone, at, to_char(at::timestamptz at time zone zone, 'MM/DD/YYYY, HH24:MI:SS') as time
     from unnest($1::text[]) as zone, unnest($2::text[]) as at`,
    [names, times],
  );
  const inNode = rows.map(({ zone, at }) => ({ zone, at, time: timeIn(String(zone), String(at)) }));
  expect(rows).toEqual(inNode);
});

test('the cost cap of a batch is shown as a budget that its own routes change', async () => {
  const batch = await ask('POST', '/v1/batches', { items: [{ text: 'one' }], maxCostUsd: 3 });
  const { items } = (await holder.rig.get('/v1/budgets')).body;
  expect(items).toContainEqual(
    expect.objectContaining({
      id: batch.body.id,
      scope: `batch:${batch.body.id}`,
      per: 'total',
      limitUsd: 3,
      origin: 'batch',
    }),
  );
  const refused = await ask('PATCH', `/v1/budgets/${batch.body.id}`, { limitUsd: 5 });
  expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
  await ask('PATCH', `/v1/batches/${batch.body.id}`, { maxCostUsd: 5 });
  const changed = (await holder.rig.get('/v1/budgets')).body.items;
  expect(changed).toContainEqual(expect.objectContaining({ id: batch.body.id, limitUsd: 5 }));
});
