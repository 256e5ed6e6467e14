// (scopes) Lists of a key that sees about a hundred of 100,000 sessions, beside the same lists of a
// key that sees all, on the same service with 1,000 scoped keys; and plain turns of sessions that are
// in a scope, beside those of a service without scoped keys.
import { performance } from 'node:perf_hooks';
import { migrate } from '../../src/database/migrate.ts';
import { alternate } from '../rig/alternate.ts';
import { askDatabase, serverPidOf } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { benchApiKey } from '../rig/bench-service.ts';
import { seedTurns } from '../rig/seed-turns.ts';
import { median, medianOf } from '../rig/statistics.ts';
import { measure, type Figures } from './plain-turns.ts';

export const scopes: BenchPart = { letter: 'scopes', title: 'keys that see a part of the service', run };

const [sessions, perSession] = [100_000, 2];
/** Numbers of keys of sessions: one of three digits begins 111 of them, one of four digits 11. */
const [firstScope, lastScope] = [100, 1_099];
const seenPrefix = 'agent:main:turns-500';
/** The shortest page of a list that the key can fill. */
const limit = 50;
const lists = [
  `/v1/sessions?limit=${limit}`,
  `/v1/turns?steps=none&limit=${limit}`,
  `/v1/messages?limit=${limit}`,
  '/v1/turns?steps=none&status=failed&limit=5',
];
const events = '/v1/events?after=0';
/** For the key that sees all, the stream begins where as many events follow. */
const after = (sessions - 111) * perSession;
const warmUps = 5;

async function run(context: BenchContext): Promise<BarLine[]> {
  return [...(await measureLists(context)), ...(await measureTurns(context))];
}

const on = (databaseUrl: string) => ({ env: { DATABASE_URL: databaseUrl } });

/** Makes 1,000 keys, each for the sessions whose keys begin with a number, which is that of its scope. */
async function makeKeys(databaseUrl: string, prefix: string): Promise<void> {
  const inserts = [
    `api_keys (id, name, role, sha256, created_by, sessions)
     select gen_random_uuid(), 'bench-' || n, 'viewer', 'bench-' || n, 'admin', array['${prefix}' || n || '*']`,
    // There are no rows yet that would have to be given their scope.
    `scopes (id, prefix, step) select n, '${prefix}' || n, null`,
  ];
  const numbers = `generate_series(${firstScope}, ${lastScope}) as n`;
  for (const insert of inserts) await askDatabase(databaseUrl, `insert into holdfast.${insert} from ${numbers}`);
}

/** SQL of the scope of the session with this number: its longest beginning that has a key. */
const scopeOf = (n: string): string =>
  `case when left(${n}::text, 4)::int between 1000 and ${lastScope} then left(${n}::text, 4)::int when ${n} >= ${firstScope} then left(${n}::text, 3)::int end`;

async function measureLists(context: BenchContext): Promise<BarLine[]> {
  const begin = performance.now();
  const databaseUrl = await context.place.createDatabase('scopes_lists');
  await migrate(databaseUrl);
  await makeKeys(databaseUrl, 'agent:main:turns-');
  await seedTurns(databaseUrl, sessions * perSession, { perSession, scopeOf });
  await askDatabase(
    databaseUrl,
    `insert into holdfast.events (id, session_id, turn_id, type, data, scope)
     select row_number() over (order by id), session_id, id, 'turn.ended', '{"status": "completed"}', scope from holdfast.turns`,
  );
  await askDatabase(databaseUrl, 'vacuum analyze holdfast.events');
  context.say(`${sessions} sessions: made in ${formatNumber((performance.now() - begin) / 1000)} s`);
  return await withService(context, on(databaseUrl), async (service) => {
    const made = { name: 'measured', role: 'viewer', sessions: [`${seenPrefix}*`] };
    const { key } = (await service.ask('POST', '/v1/keys', made)) as { key: string };
    const lines: BarLine[] = [];
    for (const path of [...lists, events]) lines.push(await compare(context, new URL(path, service.url), key));
    return lines;
  });
}

/** Measures the key that sees all and the scoped one by turns. */
async function compare({ isQuick }: BenchContext, url: URL, scoped: string): Promise<BarLine> {
  const taken = { [benchApiKey]: [] as number[], [scoped]: [] as number[] };
  const ofAll = new URL(url.href.replace('after=0', `after=${after}`));
  for (let round = -warmUps; round < (isQuick ? 20 : 50); round += 1) {
    for (const [key, ms] of Object.entries(taken)) {
      const begin = performance.now();
      await read(key === scoped ? url : ofAll, key);
      if (round >= 0) ms.push(performance.now() - begin);
    }
  }
  const [all, part] = [median(taken[benchApiKey]!), median(taken[scoped]!)];
  return {
    part: 'scopes',
    what: `${url.pathname}${url.search} of a key for ~100 of ${sessions} sessions, to one for all`,
    floor: `${formatNumber(all)} ms`,
    holdfast: `${formatNumber(part)} ms`,
    measured: part / all,
    unit: 'x',
    bar: 1.5,
    sense: 'atMost',
  };
}

/** Reads a page of a list, or as many stored events. */
async function read(url: URL, key: string): Promise<void> {
  const answer = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const wanted = Number(url.searchParams.get('limit') ?? limit);
  let text = '';
  // Leaving the loop ends the stream.
  for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.split('\nevent: turn.ended').length > wanted) return;
  }
  const { items } = JSON.parse(text) as { items?: unknown[] };
  if (items?.length !== wanted) throw new Error(`${url.pathname} was answered ${answer.status}: ${text.slice(0, 200)}`);
}

async function measureTurns(context: BenchContext): Promise<BarLine[]> {
  const [count, turns, rounds] = [8, 128, context.isQuick ? 3 : 5];
  const withoutUrl = await context.place.createDatabase('scopes_without');
  const scopedUrl = await context.place.createDatabase('scopes_with');
  const server = await serverPidOf(scopedUrl);
  return await withService(context, on(withoutUrl), (without) =>
    withService(context, on(scopedUrl), async (scoped) => {
      await makeKeys(scopedUrl, 'agent:main:bench-');
      await askDatabase(scopedUrl, `insert into holdfast.scopes (prefix, step) values ('agent:main:bench-', null)`);
      const sides = [
        { name: 'without', service: without, server },
        { name: 'scoped', service: scoped, server },
      ] as const;
      for (const side of sides) await measure(side, count, 2 * turns);
      const { runsOf, ratioOf } = await alternate(
        rounds,
        sides.map((side) => ({ name: side.name, measure: () => measure(side, count, turns) })),
        ({ turnsPerSecond }) => turnsPerSecond,
      );
      const line = (what: string, unit: string, valueOf: (figures: Figures) => number) => ({
        part: 'scopes',
        what: `${what} of sessions in a scope of 1,000, to a service without scoped keys`,
        floor: formatNumber(medianOf(runsOf('without'), valueOf)) + unit,
        holdfast: formatNumber(medianOf(runsOf('scoped'), valueOf)) + unit,
        measured: ratioOf('scoped', 'without', valueOf),
        unit: 'x',
      });
      return [
        { ...line('plain turns/s', '/s', ({ turnsPerSecond }) => turnsPerSecond), bar: 0.98, sense: 'atLeast' },
        { ...line('processor time per plain turn', ' ms', ({ bothMs }) => bothMs), bar: null },
      ];
    }),
  );
}
