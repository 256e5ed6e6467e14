// Goal: a message whose POST was answered is on disk (G1, G23). Method: post without pause and
// SIGKILL the whole PostgreSQL server right after an answer, several times, while api and workers
// keep running; then every message whose POST was answered is stored once and gets its reply, and
// every other one is stored at most once.
import { expect, test } from 'vitest';
import { migrate } from '../../src/database/migrate.ts';
import { readInputsWithTurns } from '../rows/inputs.ts';
import type { PostgresServer } from '../servers/postgres-server.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { waitUntil } from './rig/wait-until.ts';

const kills = 3;
const clients = 6;
const settledWithinMs = 240_000;

let postgres: PostgresServer;
let rig: CrashRig;

shareAmongTests(async (onEnd) => {
  const server = await startTestPostgres();
  onEnd(() => server.stop());
  postgres = server;
  const databaseUrl = await server.createDatabase('holdfast');
  await migrate(databaseUrl);
  // No worker crashes here: the default lease is used, so that no worker loses its lock while the
  // database is down.
  const made = await startCrashRig({ databaseUrl, env: { HOLDFAST_LEASE_MS: '30000' } });
  onEnd(() => made.close());
  rig = made;
});

interface Sent {
  marker: string;
  isAnswered: boolean;
}

/** Posts one message after the other until it is stopped; calls `onAnswered` at each answer. */
async function keepPosting(client: number, isOver: () => boolean, onAnswered: () => void): Promise<Sent[]> {
  const sent: Sent[] = [];
  for (let n = 1; !isOver(); n += 1) {
    const marker = `kill-${client}-${n}.`;
    const answer = await rig.client
      .post(`kill-${client}`, `${marker} [[reply: Yes.]]`, crypto.randomUUID())
      .catch(() => null);
    sent.push({ marker, isAnswered: answer?.status === 202 });
    if (answer?.status === 202) onAnswered();
  }
  return sent;
}

async function killAndRestart(): Promise<void> {
  await postgres.kill();
  await postgres.restart();
}

test('the database can be killed at any time after an answer (G1, G23)', async () => {
  let killed = 0;
  let isKilling: Promise<void> | null = null;
  let fault: unknown = null;
  let answersSinceKill = 0;
  const onAnswered = (): void => {
    answersSinceKill += 1;
    if (isKilling !== null || killed === kills || answersSinceKill < clients * 2) return;
    // This is the last answer that the client received.
    killed += 1;
    isKilling = killAndRestart()
      .catch((error: unknown) => void (fault = error))
      .finally(() => {
        isKilling = null;
        answersSinceKill = 0;
      });
  };
  const isOver = (): boolean =>
    fault !== null || (killed === kills && isKilling === null && answersSinceKill >= clients);
  const all = await Promise.all(
    Array.from({ length: clients }, (_, index) => keepPosting(index + 1, isOver, onAnswered)),
  );

  expect(fault, 'the database was started again').toBeNull();
  const found = await waitUntil('everything that is stored is settled', settledWithinMs, async () => {
    const inputs = await readInputsWithTurns(rig.database, {}).catch(() => []);
    const rows = inputs.map(({ text, status, error, turn }) => {
      return { marker: text?.split(' ')[0] ?? '', status, error: error ?? turn?.error ?? null };
    });
    return rows.length > 0 && rows.every(({ status }) => !['waiting', 'claimed'].includes(status)) && rows;
  });
  expect(found.filter(({ status }) => status !== 'answered')).toEqual([]);
  const counts = Map.groupBy(found, ({ marker }) => marker);
  const sent = all.flat();
  const lost = sent.filter(({ marker, isAnswered }) => isAnswered && !counts.has(marker)).map(({ marker }) => marker);
  const doubled = sent.filter(({ marker }) => (counts.get(marker)?.length ?? 0) > 1).map(({ marker }) => marker);
  expect({ lost, doubled }).toEqual({ lost: [], doubled: [] });
  expect(sent.filter(({ isAnswered }) => isAnswered).length).toBeGreaterThan(kills * clients);
});
