// (scopes) Lists of a key that sees about a hundred of 100,000 sessions, beside the same lists of a
// key that sees all, on the same service with 1,000 scoped keys; and turns of sessions that are in
// a scope, beside those of a service without scoped keys.
import { performance } from 'node:perf_hooks';
import { migrate } from '../../src/database/migrate.ts';
import { migrateQueue } from '../../workers/queue/migrate-queue.ts';
import { alternate } from '../rig/alternate.ts';
import { withConnection } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import type { BenchPlace } from '../rig/bench-place.ts';
import { benchApiKey, type BenchService } from '../rig/bench-service.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';
import { seedTurns, turnsPerSession } from '../rig/seed-turns.ts';
import { median } from '../rig/statistics.ts';

export const scopes: BenchPart = { letter: 'scopes', title: 'keys that see a part of the service', run };

const sessions = 100_000;
/** Numbers of keys of sessions: one of three digits begins 111 of them, one of four digits 11. */
const firstScope = 100;
const lastScope = 1_099;
const seenPrefix = 'agent:main:turns-500';
/** The shortest page of a list that the key can fill. */
const limit = 50;
const lists = [
  `/v1/sessions?limit=${limit}`,
  `/v1/turns?steps=none&limit=${limit}`,
  `/v1/messages?limit=${limit}`,
  `/v1/turns?steps=none&status=failed&limit=5`,
];
const events = '/v1/events?after=0';
const warmUps = 20;

async function run(context: BenchContext): Promise<BarLine[]> {
  return [...(await measureLists(context)), await measureTurns(context)];
}

/** Makes 1,000 keys, each for the sessions whose keys begin with a number. */
async function makeKeys(databaseUrl: string, prefix: string): Promise<void> {
  await withConnection(databaseUrl, async (client) => {
    const values = [firstScope, lastScope, prefix];
    await client.query(
      `insert into holdfast.api_keys (id, name, role, sha256, created_by, sessions)
       select gen_random_uuid(), 'bench-' || n, 'viewer', 'bench-' || n, 'admin', array[$3 || n || '*']
       from generate_series($1::int, $2::int) as n`,
      values,
    );
    // There are no rows yet that would have to be given their scope.
    await client.query(
      `insert into holdfast.scopes (prefix, step) select $3 || n, null from generate_series($1::int, $2::int) as n`,
      values,
    );
  });
}

async function measureLists(context: BenchContext): Promise<BarLine[]> {
  const place = await openMigrated(context);
  await makeKeys(place.databaseUrl, 'agent:main:turns-');
  const begin = performance.now();
  await seedTurns(place.databaseUrl, sessions * turnsPerSession);
  await withConnection(place.databaseUrl, async (client) => {
    await client.query(
      `insert into holdfast.events (id, session_id, turn_id, type, data)
       select row_number() over (order by id), session_id, id, 'turn.ended', '{"status": "completed"}' from holdfast.turns`,
    );
    await client.query('vacuum analyze holdfast.events');
  });
  context.say(`${sessions} sessions: made in ${formatNumber((performance.now() - begin) / 1000)} s`);
  const service = await context.startService({ place });
  try {
    const made = { name: 'measured', role: 'viewer', sessions: [`${seenPrefix}*`] };
    const { key } = (await service.ask('POST', '/v1/keys', made)) as { key: string };
    const lines: BarLine[] = [];
    for (const path of lists) lines.push(await compare(context, path, (by) => readList(service, path, by), key));
    lines.push(await compare(context, events, (by) => readEvents(service, by), key));
    return lines;
  } finally {
    await service.stop();
  }
}

async function openMigrated(context: BenchContext): Promise<BenchPlace> {
  const place = await context.openPlace();
  await migrate(place.databaseUrl);
  await migrateQueue(place.databaseUrl);
  return place;
}

/** Measures the key that sees all and the scoped one by turns. */
async function compare(
  { isQuick }: BenchContext,
  path: string,
  read: (key: string) => Promise<void>,
  scoped: string,
): Promise<BarLine> {
  const [all, part]: [number[], number[]] = [[], []];
  for (let round = -warmUps; round < (isQuick ? 30 : 200); round += 1) {
    for (const [key, taken] of [
      [benchApiKey, all],
      [scoped, part],
    ] as const) {
      const begin = performance.now();
      await read(key);
      if (round >= 0) taken.push(performance.now() - begin);
    }
  }
  return {
    part: 'scopes',
    what: `${path} of a key for ~100 of ${sessions} sessions, to one for all`,
    floor: `${formatNumber(median(all))} ms`,
    holdfast: `${formatNumber(median(part))} ms`,
    measured: median(part) / median(all),
    unit: 'x',
    bar: 1.5,
    sense: 'atMost',
  };
}

async function readList(service: BenchService, path: string, key: string): Promise<void> {
  const answer = await fetch(new URL(path, service.url), { headers: { authorization: `Bearer ${key}` } });
  const { items } = (await answer.json()) as { items?: unknown[] };
  const wanted = Number(new URL(path, service.url).searchParams.get('limit'));
  if (items?.length !== wanted) throw new Error(`${path} was answered ${answer.status} with ${items?.length} items`);
}

/** Reads as many stored events as a page of a list has. */
async function readEvents(service: BenchService, key: string): Promise<void> {
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(new URL(events, service.url), { headers, signal: leaving.signal });
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.split('\nevent: turn.ended').length > limit) break;
  }
  leaving.abort();
}

async function measureTurns(context: BenchContext): Promise<BarLine> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 7, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions: 64, turnsEach, text: turnText };
  const places = [await openMigrated(context), await openMigrated(context)] as const;
  await makeKeys(places[1].databaseUrl, 'agent:main:bench-');
  await withConnection(places[1].databaseUrl, (client) =>
    client.query(`insert into holdfast.scopes (prefix, step) values ('agent:main:bench-', null)`),
  );
  const [without, scoped] = [
    await context.startService({ place: places[0] }),
    await context.startService({ place: places[1] }),
  ];
  try {
    for (const service of [without, scoped]) await service.run({ ...load, turnsEach: warmUpTurns });
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'without', measure: () => without.run(load) },
        { name: 'scoped', measure: () => scoped.run(load) },
      ],
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return {
      part: 'scopes',
      what: 'turns/s of sessions in a scope of 1,000, to a service without scoped keys',
      floor: describeLoads(runsOf('without')),
      holdfast: describeLoads(runsOf('scoped')),
      measured: ratioOf('scoped', 'without'),
      unit: 'x',
      bar: 0.98,
      sense: 'atLeast',
    };
  } finally {
    await Promise.all([without.stop(), scoped.stop()]);
  }
}
