// Goal: whatever happens to a scheduler or a worker at whatever statement, each item of a live batch is processed once, and its results are
// those of a run without faults (G1, G7, G11). Method: a batch of 8 items with two tool calls each, one of them in a shared session; the
// process that comes first to a statement is killed, frozen or cut off right before or right after it, and the others continue.
import { expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startScheduledRig, type ScheduledRig } from './rig/scheduled-rig.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import { isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const itemCount = 8;
const settledWithinMs = 240_000;
const schedulerKinds = [
  'hungry-batches',
  'ready-items',
  'ensure-session',
  'feed-batch',
  'settle-batch-items',
  'open-batches',
  'end-batch',
];
const workerKinds = ['claim', 'open-turn', 'commit-step', 'finish-turn'];

let rig: ScheduledRig;
let scenes = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startScheduledRig({ databaseUrl: testDatabase.url, workers: 2, schedulers: 2 });
  onEnd(() => made.close());
  rig = made;
});

interface Scene {
  name: string;
  batchId: string;
}

async function begin(): Promise<Scene> {
  const name = `batch-scene-${(scenes += 1)}`;
  const items = Array.from({ length: itemCount }, (_, at) => {
    const tools = ['a', 'b'].map((key) => `[[tool: http_effect {"key": "${name}-${at + 1}-${key}"}]]`).join(' ');
    const shared = at % 4 === 3 ? { sessionKey: `${name}-shared` } : {};
    return { text: `${name} ${tools} [[reply: done ${at + 1}]]`, customId: `row-${at + 1}`, ...shared };
  });
  const { id } = await rig.ask<{ id: string }>('POST', '/v1/batches', { name, items, concurrency: 5 });
  return { name, batchId: id };
}

/** Waits until the batch has ended and every worker has left its sessions. */
async function settle({ name, batchId }: Scene): Promise<void> {
  await waitUntil(`${name} has ended`, settledWithinMs, async () => {
    const [row] = await rig.rows<{ status: string; open: number }>(
      `select b.status, (select count(*)::int from holdfast.sessions where turn_id is not null) as open
       from holdfast.batches b where b.id = $1`,
      [batchId],
    );
    return row?.status === 'ended' && row.open === 0;
  });
}

async function judge({ name, batchId }: Scene): Promise<string[]> {
  const faults: string[] = [];
  const rows = await rig.rows<Record<string, unknown>>(
    `select i.n, i.custom_id, i.status, i.attempt, t.reply, t.status as turn,
       (select count(*)::int from holdfast.inbox x where x.cause_key like 'batch:' || i.batch_id || ':' || i.n || ':%') as inputs,
       (select count(*)::int from holdfast.entries e where e.kind = 'prompt' and e.turn_id = i.turn_id) as prompts
     from holdfast.batch_items i left join holdfast.turns t on t.id = i.turn_id where i.batch_id = $1 order by i.n`,
    [batchId],
  );
  for (const [at, row] of rows.entries()) {
    const n = at + 1;
    const expected = {
      n,
      custom_id: `row-${n}`,
      status: 'answered',
      attempt: 1,
      reply: `done ${n}`,
      turn: 'completed',
    };
    const wanted = JSON.stringify({ ...expected, inputs: 1, prompts: 1 });
    if (JSON.stringify(row) !== wanted) faults.push(`item ${n} is ${JSON.stringify(row)} instead of ${wanted}`);
  }
  if (rows.length !== itemCount) faults.push(`there are ${rows.length} items`);
  const [batch] = await rig.rows<Record<string, unknown>>(
    `select b.status, b.outcome, b.answered, b.in_flight, b.output_tokens = (select sum(output_tokens) from holdfast.batch_items
       where batch_id = b.id) as is_sum from holdfast.batches b where b.id = $1`,
    [batchId],
  );
  const whole = { status: 'ended', outcome: 'completed', answered: itemCount, in_flight: 0, is_sum: true };
  if (JSON.stringify(batch) !== JSON.stringify(whole)) faults.push(`the batch is ${JSON.stringify(batch)}`);
  const keys = rig.effects.effects.map(({ key }) => key).filter((key) => key.startsWith(`${name}-`));
  const twice = keys.filter((key, at) => keys.indexOf(key) !== at);
  if (twice.length > 0) faults.push(`effects that happened twice: ${twice.join(', ')}`);
  return faults;
}

/** In the long form one of each pair in turn for kills, and of every other pair for the rest; in the short form a sixth of them. */
function pointsOf(kinds: readonly string[], fault: AnyPoint['fault']): AnyPoint[] {
  const all = kinds.flatMap((kind) => (['before', 'after'] as const).map((when) => ({ fault, when, kind })));
  const some = all.filter((_, at) => at % 4 === 0 || (fault === 'kill' && at % 4 === 3));
  const taken = isFullSweep() ? all : isLongForm() ? some : some.filter((_, at) => at % 6 === 1);
  printPoints('a batch', taken, all);
  return taken;
}

async function sweep(victims: readonly Victim[], points: readonly AnyPoint[]) {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of points) {
    let scene: Scene | undefined;
    const struck = await strikeAny(victims, point, {
      play: async () => settle((scene = await begin())),
      judge: async () => (scene === undefined ? ['the batch was not submitted'] : judge(scene)),
    });
    if (!struck.isStruck) missed.push(nameOfAny(point));
    faults.push(...struck.faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  return { faults, missed };
}

test('without a fault each item is processed once', async () => {
  const scene = await begin();
  await settle(scene);
  expect(await judge(scene)).toEqual([]);
});

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch whose scheduler suffers a %s processes each item once (G1, G3)',
  async (fault) => {
    expect(await sweep(rig.schedulers, pointsOf(schedulerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);

test.each(['kill', 'freeze', 'cut'] as const)(
  'a batch whose worker suffers a %s processes each item once (G7, G11)',
  async (fault) => {
    expect(await sweep(rig.workers, pointsOf(workerKinds, fault))).toEqual({ faults: [], missed: [] });
  },
);
