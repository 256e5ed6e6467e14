// (parked) Turns that wait and become due in the same second: none is rung for twice, and they are
// done as fast as turns of messages. A trigger of the benchmark's own notes each ring: it has a
// number of its own, so it is a job of its own.
import { askDatabase } from '../rig/ask-database.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import type { BenchService } from '../rig/bench-service.ts';
import { plainTurnText } from '../rig/prompts.ts';
import { until } from '../rig/until.ts';

export const parkedTurns: BenchPart = { letter: 'parked', title: 'parked turns that become due in one second', run };

const loadSessions = 64;
const postsAtOnce = 64;
const pollMs = 100;
/**
 * Of the same turns when messages bring them; on a shared machine two runs of one program differ by
 * this.
 */
const rateMin = 0.9;
/** Room for all that is sent here. */
const settings = { limits: { waitingTotal: 1_000_000 } };

async function run(context: BenchContext): Promise<BarLine[]> {
  const turns = context.isQuick ? 1_000 : 10_000;
  const databaseUrl = await context.place.createDatabase('parked_turns');
  return await withService(context, { settings, env: { DATABASE_URL: databaseUrl } }, async (service) => {
    context.say(`turns of messages, ${loadSessions} sessions`);
    const each = Math.ceil(turns / loadSessions / 5);
    const plain = await service.run({
      sessions: await service.seed(loadSessions, 0),
      turnsEach: each,
      text: plainTurnText,
    });
    context.say(`${turns} turns are parked, then all become due`);
    const budget = (await service.ask('POST', '/v1/budgets', { scope: 'all', per: 'total', limitUsd: 0 })) as {
      id: string;
    };
    await park(service, databaseUrl, turns);
    await noteRings(databaseUrl);
    const dueMs = await makeDue(service, databaseUrl, budget.id);
    await until(pollMs, async () => (await countOpen(databaseUrl)) === 0);
    const [found] = await askDatabase<{ twice: number; most: number; endMs: number; resumed: number }>(
      databaseUrl,
      `select (select count(*)::int from (select session_id from holdfast.bench_rings group by session_id having count(*) > 1) as again) as twice,
         (select coalesce(max(n), 0)::int from (select count(*) as n from holdfast.bench_rings group by session_id) as counted) as most,
         extract(epoch from max(t.ended_at))::float8 * 1000 as "endMs", count(*)::int as resumed
       from holdfast.turns t where t.ended_at > to_timestamp(${dueMs / 1000}) and t.status = 'completed'`,
    );
    const { twice, most, endMs, resumed } = found!;
    if (resumed < turns) throw new Error(`${resumed} of ${turns} parked turns have ended well`);
    const rate = turns / ((endMs - dueMs) / 1000);
    return [
      {
        part: 'parked',
        what: `sessions that are rung for twice, of ${turns} whose parked turns become due in one second`,
        floor: '',
        holdfast: `at most ${most} rings of a session`,
        measured: twice,
        unit: '',
        bar: 0,
        sense: 'atMost',
      },
      {
        part: 'parked',
        what: 'turns/s of parked turns that are due, to those of messages',
        floor: `${formatNumber(plain.turnsPerSecond)}/s`,
        holdfast: `${formatNumber(rate)}/s`,
        measured: rate / plain.turnsPerSecond,
        unit: 'x',
        bar: rateMin,
        sense: 'atLeast',
      },
    ];
  });
}

/**
 * Sends a message to each of so many sessions, and resolves when the budget has parked all of their
 * turns.
 */
async function park(service: BenchService, databaseUrl: string, turns: number): Promise<void> {
  const keys = await service.seed(turns, 0);
  const sender = async (): Promise<void> => {
    for (let key = keys.pop(); key !== undefined; key = keys.pop())
      await service.ask('POST', `/v1/sessions/${key}/messages`, { text: plainTurnText });
  };
  await Promise.all(Array.from({ length: postsAtOnce }, sender));
  await until(pollMs, async () => {
    const [row] = await askDatabase<{ parked: number }>(
      databaseUrl,
      `select count(*)::int as parked from holdfast.turns t join holdfast.sessions s on s.turn_id = t.id where t.status = 'parked' and s.owner is null`,
    );
    return row!.parked === turns;
  });
}

async function noteRings(databaseUrl: string): Promise<void> {
  await askDatabase(
    databaseUrl,
    `create unlogged table holdfast.bench_rings (session_id uuid not null);
     create function holdfast.note_bench_ring() returns trigger language plpgsql as $$
     begin
       if tg_op = 'INSERT' or new.rings > old.rings then insert into holdfast.bench_rings values (new.session_id); end if;
       return null;
     end $$;
     create trigger note_bench_ring after insert or update on holdfast.doorbells for each row
       execute function holdfast.note_bench_ring()`,
  );
}

/**
 * Raises the budget, which makes all turns due that wait for it; resolves with the time of the
 * database before that.
 */
async function makeDue(service: BenchService, databaseUrl: string, budget: string): Promise<number> {
  const [row] = await askDatabase<{ nowMs: number }>(
    databaseUrl,
    'select extract(epoch from clock_timestamp())::float8 * 1000 as "nowMs"',
  );
  await service.ask('PATCH', `/v1/budgets/${budget}`, { limitUsd: 1_000_000 });
  return row!.nowMs;
}

async function countOpen(databaseUrl: string): Promise<number> {
  const [row] = await askDatabase<{ open: number }>(
    databaseUrl,
    'select count(*)::int as open from holdfast.turns where ended_at is null',
  );
  return row!.open;
}
