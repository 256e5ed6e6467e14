// Goal: whatever happens to a scheduler at whatever statement, a tick, a reminder and a poll each happen once, and a poll that is
// acknowledged leaves no trace (G15, G20). Method: one of each becomes due together; the scheduler, or the worker, that comes first to a
// statement is killed, frozen or cut off right before or right after it, and the others go on.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import { isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const settledWithinMs = 240_000;
/** Of a scheduler's round in which all three are due. */
const schedulerKinds = [
  'due-crons',
  'fire-crons',
  'fire-cron-event',
  'claim-heartbeats',
  'settle-heartbeats',
  'settle-fires',
  'ended-fires',
];
/** Of a worker's turn that answers the poll. */
const workerKinds = ['claim', 'open-turn', 'commit-step', 'finish-turn'];

let rig: ScheduledRig;
let scenes = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const prompt = 'Look around. [[tool: http_effect_idempotent {"key": "beat"}]] [[reply: HEARTBEAT_OK]]';
  const made = await startScheduledRig({
    databaseUrl: testDatabase.url,
    workers: 2,
    schedulers: 2,
    settings: { agents: { defaults: { heartbeat: { every: '1h', prompt } } } },
  });
  onEnd(() => made.close());
  rig = made;
  await waitUntil(
    'the agent is polled',
    settledWithinMs,
    async () => (await rig.rows('select 1 from holdfast.heartbeat_states')).length > 0,
  );
});
interface Scene {
  name: string;
  tickId: string;
  reminderId: string;
  pollAt: Date;
}

/** A tick, a reminder and a poll become due. */
async function begin(): Promise<Scene> {
  const name = `scene-${(scenes += 1)}`;
  const schedule = { kind: 'at', at: new Date(Date.now() + 100).toISOString() };
  const tick = await rig.ask<{ id: string }>('POST', '/v1/crons', {
    name,
    schedule,
    payload: { kind: 'agentTurn', message: `${name}-tick [[reply: Yes.]]` },
  });
  const reminder = await rig.ask<{ id: string }>('POST', '/v1/crons', {
    name,
    schedule,
    target: `session:${name}`,
    payload: { kind: 'systemEvent', text: `${name}-event` },
  });
  const [state] = await rig.rows<{ next_at: Date }>(
    `update holdfast.heartbeat_states set next_at = date_trunc('milliseconds', clock_timestamp()) returning next_at`,
  );
  return { name, tickId: tick.id, reminderId: reminder.id, pollAt: state!.next_at };
}

/** Waits until all three are over. */
async function settle({ name, tickId, reminderId, pollAt }: Scene): Promise<void> {
  await waitUntil(`${name} is over`, settledWithinMs, async () => {
    const [row] = await rig.rows<Record<string, string>>(
      `select (select count(*) from holdfast.cron_fires where cron_id in ($1, $2) and status = 'completed') as fires,
         (select count(*) from holdfast.heartbeats where scheduled_for = $3 and result is not null) as polls,
         (select count(*) from holdfast.inbox where settled_at is null) as open`,
      [tickId, reminderId, pollAt],
    );
    return row?.['fires'] === '2' && row['polls'] === '1' && row['open'] === '0';
  }).catch(async (error: unknown) => {
    const found = await rig.rows(
      `select f.status as fire, i.status as input from holdfast.cron_fires f left join holdfast.inbox i on i.id = f.message_id where f.cron_id in ($1, $2)
       union all select h.status, h.reason from holdfast.heartbeats h where h.scheduled_for = $3`,
      [tickId, reminderId, pollAt],
    );
    throw new Error(`${(error as Error).message}: ${JSON.stringify(found)}`);
  });
}

async function judge({ name, tickId, reminderId, pollAt }: Scene): Promise<string[]> {
  const [found] = await rig.rows<Record<string, string | null>>(
    `select (select count(*) from holdfast.cron_fires where cron_id in ($1, $2)) as fires,
       (select count(*) from holdfast.inbox where cause_key like 'cron:' || $1 || '%' or cause_key like 'cron:' || $2 || '%') as inputs,
       (select count(*) from holdfast.entries where kind = 'prompt' and content::text like '%' || $3 || '-tick%') as ticks,
       (select count(*) from holdfast.entries where kind = 'prompt' and content::text like '%' || $3 || '-event%') as events,
       (select count(*) from holdfast.system_events where text = $3 || '-event' and state = 'consumed') as consumed,
       (select count(*) from holdfast.heartbeats where scheduled_for = $4) as polls,
       (select string_agg(h.result, ',') from holdfast.heartbeats h where h.scheduled_for = $4) as result,
       (select count(distinct t.id) from holdfast.turns t join holdfast.inbox i on i.turn_id = t.id
         join holdfast.heartbeats h on h.message_id = i.id where h.scheduled_for = $4) as poll_turns,
       (select string_agg(distinct e.state || ' ' || e.kind, ',') from holdfast.entries e join holdfast.inbox i on i.turn_id = e.turn_id
         join holdfast.heartbeats h on h.message_id = i.id where h.scheduled_for = $4 and e.state <> 'pruned') as kept,
       (select count(*) from holdfast.sessions where turn_id is not null or waiting <> 0 or leaf_seq is not null and key = 'agent:main:main') as busy`,
    [tickId, reminderId, name, pollAt],
  );
  const expected: Record<string, string | null> = {
    fires: '2',
    inputs: '2',
    ticks: '1',
    events: '1',
    consumed: '1',
    polls: '1',
    result: 'acknowledged',
    poll_turns: '1',
    kept: null,
    busy: '0',
  };
  return Object.entries(expected)
    .filter(([fact, value]) => found?.[fact] !== value)
    .map(([fact, value]) => `${fact} is ${found?.[fact]} instead of ${value}`);
}

/** In the long form one of each pair in turn for kills, and of every other pair for the rest; in the short form a sixth of them. */
function pointsOf(kinds: readonly string[], fault: AnyPoint['fault']): AnyPoint[] {
  const all = kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ fault, when, kind })));
  const some = all.filter((_, at) => at % 4 === 0 || (fault === 'kill' && at % 4 === 3));
  const taken = isFullSweep() ? all : isLongForm() ? some : some.filter((_, at) => at % 6 === 0);
  printPoints('a tick and a poll', taken, all);
  return taken;
}

async function sweep(victims: readonly Victim[], points: readonly AnyPoint[]) {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of points) {
    let scene: Scene | undefined;
    const struck = await strikeAny(victims, point, {
      play: async () => settle((scene = await begin())),
      judge: async () => (scene === undefined ? ['the scene did not begin'] : judge(scene)),
    });
    if (!struck.isStruck) missed.push(nameOfAny(point));
    faults.push(...struck.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  return { faults, missed };
}

test('without a fault each happens once', async () => {
  const scene = await begin();
  await settle(scene);
  expect(await judge(scene)).toEqual([]);
});

test.each(['kill', 'freeze', 'cut'] as const)(
  'a tick, a reminder and a poll whose scheduler suffers a %s happen once (G20)',
  async (fault) => {
    expect(await sweep(rig.schedulers, pointsOf(schedulerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);

test.each(['kill', 'freeze', 'cut'] as const)(
  'a poll whose worker suffers a %s is acknowledged once and leaves no trace (G7, G15)',
  async (fault) => {
    expect(await sweep(rig.workers, pointsOf(workerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);
