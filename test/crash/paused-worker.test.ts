// Goal: a worker that was paused past its lease starts no command of a turn that another worker has
// taken over (G7). Method: a worker is stopped with SIGSTOP between the commit of its intents and
// the start of its commands, each of which writes a line to a file; another worker ends the turn;
// the file must be unchanged after the first worker has woken and completed its rounds.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { countReconcileRounds } from './rig/fault.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const ATTEMPTS = isLongForm() ? 6 : 2;
/**
 * On a busy machine commands may be over before this process has seen one: then no worker was
 * paused, and others are sent.
 */
const TRIES_MAX = ATTEMPTS * 10;
const COMMANDS = 8;
const SETTLED_MS_MAX = 240_000;

let rig: CrashRig;
let sessions = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: 2 });
  onEnd(() => made.close());
  rig = made;
  // The first command of a process also starts the guard of all commands.
  for (const worker of rig.workers) await untilWarm(worker);
});

/** Sends messages with a command until this worker has run one. */
async function untilWarm(worker: Victim): Promise<void> {
  for (let hasRun = false; !hasRun; hasRun = childrenOf(worker).length > 0) {
    const sent = Array.from({ length: COMMANDS }, () => send(newSession().session, execCalls(['true'])));
    await Promise.all(sent.map(async (id) => settled(await id)));
  }
}

function newSession(): { session: string; file: string } {
  sessions += 1;
  const file = join(rig.workspaceDir, `ran-${sessions}`);
  return { session: `paused-${sessions}`, file };
}

function execCalls(commands: string[], more: object = {}): string {
  const calls = commands.map((command) => `[[tool: exec ${JSON.stringify({ command, ...more })}]]`);
  return `${calls.join(' & ')} [[reply: Done.]]`;
}

async function send(session: string, text: string): Promise<string> {
  return (await rig.client.send(session, text)).id;
}

async function settled(id: string): Promise<void> {
  await waitUntil('the message is settled', SETTLED_MS_MAX, async () => {
    const { status } = await rig.client.message(id);
    return status !== 'waiting' && status !== 'claimed';
  });
}

/** The processes that a worker has started and that are still running. */
function childrenOf(worker: Victim): string[] {
  const { pid } = worker.service;
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** Wakes a worker and resolves when it has finished what it had begun. */
async function wake(victim: Victim, childrenBefore: string[]): Promise<void> {
  const rounds = countReconcileRounds(victim);
  victim.thaw();
  await waitUntil('the woken worker has looked around', SETTLED_MS_MAX, () => {
    const isIdle = childrenOf(victim).every((child) => childrenBefore.includes(child));
    return isIdle && rounds() >= 2;
  });
}

describe('a worker that is paused past its lease', () => {
  test('while it starts a batch of commands begins none of them after it wakes (G7)', async () => {
    const late: string[][] = [];
    for (let tries = 1; late.length < ATTEMPTS && tries <= TRIES_MAX; tries += 1) {
      const { session, file } = newSession();
      const before = new Map(rig.workers.map((worker) => [worker, childrenOf(worker)]));
      const commands = Array.from({ length: COMMANDS }, (_, n) => `echo ${n} >> ${file}`);
      const id = await send(session, execCalls(commands));
      let isOver = false;
      const settling = settled(id).finally(() => (isOver = true));
      // Awaited below.
      settling.catch(() => undefined);
      const victim = await frozenAtFirstChild(before, () => isOver);
      await settling;
      if (victim === null) continue;
      const ranBefore = linesOf(file);
      await wake(victim, before.get(victim) ?? []);
      late.push(linesOf(file).filter((line) => !ranBefore.includes(line)));
    }
    expect(late).toEqual(Array.from({ length: ATTEMPTS }, () => []));
  });

  test.each(['before', 'after'] as const)(
    '%s it has stored the start of a background command does not let the command begin (G7)',
    async (when) => {
      const { session, file } = newSession();
      const before = new Map(rig.workers.map((worker) => [worker, childrenOf(worker)]));
      const struck = Promise.withResolvers<Victim>();
      const thawed = Promise.withResolvers<void>();
      const traps = rig.workers.map((worker) =>
        worker.proxy.arm({
          when,
          at: 1,
          matches: ({ tag }) => tag === 'start-process',
          async hit(): Promise<HeldBytes> {
            worker.freeze();
            struck.resolve(worker);
            await thawed.promise;
            return 'forward';
          },
        }),
      );
      const id = await send(session, execCalls([`echo ran >> ${file}`], { background: true }));
      const victim = await struck.promise;
      for (const trap of traps) trap.disarm();
      await settled(id);
      thawed.resolve();
      await wake(victim, before.get(victim) ?? []);
      expect(linesOf(file)).toEqual([]);
    },
  );
});

/** Stops the first worker that starts a process; null: all was over before one was seen. */
async function frozenAtFirstChild(
  before: ReadonlyMap<Victim, string[]>,
  isOver: () => boolean,
): Promise<Victim | null> {
  while (!isOver()) {
    for (const [worker, known] of before) {
      if (childrenOf(worker).every((child) => known.includes(child))) continue;
      worker.freeze();
      return worker;
    }
    await nextRound();
  }
  return null;
}
