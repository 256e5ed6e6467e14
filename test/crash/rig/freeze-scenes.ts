// Freezes a process at a point of a transaction (transaction-points.ts), and judges: PostgreSQL
// ends the transaction in time, other sessions' turns run and are stopped meanwhile (G10, G24), and
// the scene is over, done once, before the process wakes and after it.
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { SLOWNESS_MAX } from '../../servers/busy-machine.ts';
import type { CrashRig } from './crash-rig.ts';
import { strikeReached, type Scene } from './strike-any.ts';
import { nameOfPoint, type TransactionPoint, type TransactionWatch } from './transaction-points.ts';
import type { Victim } from './victim.ts';
import { waitUntil } from './wait-until.ts';

/** The longest that PostgreSQL may let a transaction be idle. */
const IDLE_MS_MAX = 500;

/**
 * A stop takes effect within a second (G24), and so does what another process does in a session
 * that no process holds.
 */
const SOON_MS = 1_000 * SLOWNESS_MAX;
/** The models of others answer so late that only a stop ends their turns. */
const LATE_MS = 600_000;
/** A process that is not frozen sends its next statement sooner. */
const STAYS_OPEN_MS = 200;

interface FrozenScenes {
  watch: TransactionWatch;
  victims: readonly Victim[];
  database: pg.Pool;
  /** Works in other sessions; resolves when that is done. */
  others: () => Promise<void>;
  newScene: () => Scene;
}

/**
 * Strikes scenes until a process is frozen at the point; returns what is wrong. Null: no process
 * waited there this time. It had sent the rest already, or the transaction was of a round that
 * happened to fall into the recorded scene.
 */
export async function freezeAt(
  point: TransactionPoint,
  { watch, victims, database, others, newScene }: FrozenScenes,
): Promise<string[] | null> {
  const name = nameOfPoint(point);
  const { idleMs } = point;
  let wasOpen = false;
  const { faults } = await strikeReached(
    victims,
    { fault: 'freeze', when: 'after', kind: name, matches: (trip) => watch.isAt(trip, point) },
    () => {
      const { whileFrozen, ...scene } = newScene();
      return {
        ...scene,
        async whileFrozen() {
          const asFrozen = whileFrozen?.();
          const begin = performance.now();
          const open = await readOpen(database);
          wasOpen = open.length > 0;
          const found = await Promise.all([
            waitUntil('PostgreSQL ends the transaction', IDLE_MS_MAX + SOON_MS, () => areOver(database, open)).then(
              () => {
                const ms = performance.now() - begin;
                process.stderr.write(`Frozen in ${name}: its locks are gone after ${Math.round(ms)} ms\n`);
                return ms > (idleMs ?? 0) + SOON_MS ? [`its locks are gone after ${ms} ms`] : [];
              },
            ),
            timed(others, SOON_MS, 'what others do'),
            asFrozen ?? [],
          ]);
          return found.flat();
        },
      };
    },
  );
  if (faults.length === 0 && !wasOpen) return null;
  return [
    ...(idleMs === null || idleMs > IDLE_MS_MAX ? [`its transaction may be idle for ${idleMs} ms`] : []),
    ...faults,
  ].map((fault) => `frozen in ${name}: ${fault}`);
}

/**
 * The transactions that wait for their process, now and a little later. Others are open for less
 * than that.
 */
async function readOpen(database: pg.Pool): Promise<string[]> {
  const first = await readIdle(database);
  await delay(STAYS_OPEN_MS);
  const second = await readIdle(database);
  return first.filter((one) => second.includes(one));
}

async function areOver(database: pg.Pool, transactions: readonly string[]): Promise<boolean> {
  const left = await readIdle(database);
  return !transactions.some((one) => left.includes(one));
}

async function readIdle(database: pg.Pool): Promise<string[]> {
  const { rows } = await database.query<{ begun: string }>(
    `select pid || ' ' || xact_start as begun from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%' and application_name like 'holdfast:%'`,
  );
  return rows.map(({ begun }) => begun);
}

async function timed(work: () => Promise<void>, ms: number, what: string): Promise<string[]> {
  const begin = performance.now();
  await work();
  const took = performance.now() - begin;
  return took > ms ? [`${what} takes ${took} ms`] : [];
}

let others = 0;

/** Other sessions of this service: a turn runs in one, and a turn is stopped in another. */
export async function workBeside(rig: CrashRig): Promise<void> {
  const [ran, stopped] = [`beside-${(others += 1)}`, `beside-${(others += 1)}`];
  const isOver = async (id: string): Promise<boolean> =>
    !['waiting', 'claimed'].includes((await rig.client.message(id)).status);
  const message = await rig.client.send(ran, '[[reply: Yes.]]');
  const late = await rig.client.send(stopped, `[[delay: ${LATE_MS}]] [[reply: Late.]]`);
  await waitUntil('the turn of another session is answered', 2 * SOON_MS, () => isOver(message.id));
  await waitUntil('the turn of a third session runs', 2 * SOON_MS, async () => {
    return (await rig.client.message(late.id)).status === 'claimed';
  });
  await rig.client.ask(`/v1/sessions/${stopped}/abort`, {});
  await waitUntil('the turn of a third session is stopped', 2 * SOON_MS, () => isOver(late.id));
}
