// Goal: a full disk counts as a fault of the database, not of a turn: turns stay open while it
// lasts, and end normally when there is room again (G23). Method: the disk fills up while tool
// loops run, and stays full until a worker has released a turn.
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runCli } from '../cli/run-cli.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { like } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { canMount, mountSmallDisk, pretendSmallDisk, type MakeSmallDisk } from '../servers/small-disk.ts';
import { isFullForm, isLongForm } from '../servers/test-form.ts';
import type { ServiceAnswer, ServiceApi } from './rig/service-api.ts';
import { apiKey, openServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;
const sessions = 6;
/** Large enough that tables must grow, however much room their last pages have. */
const filling = 'x'.repeat(3_000);

/** A message that needs new pages, because it cannot be compressed. */
function sendLarge(api: ServiceApi): Promise<ServiceAnswer> {
  return api.ask('POST', '/v1/sessions/large/messages', {
    text: `${randomBytes(30_000).toString('hex')} [[reply: Late.]]`,
  });
}

/**
 * Sends large messages until the work has ended: the doctor can take longer to start than the
 * service remembers a failed write.
 */
async function whileSending<Result>(api: ServiceApi, work: () => Promise<Result>): Promise<Result> {
  let isOver = false;
  const result = work().finally(() => (isOver = true));
  while (!isOver) await sendLarge(api);
  return result;
}

const real = { disk: 'a small file system', make: mountSmallDisk };
const pretended = { disk: 'a disk that triggers report as full', make: pretendSmallDisk };
/**
 * The long form runs the real one where it can be mounted, the full one both; the short form skips
 * them.
 */
const disks: { disk: string; make: MakeSmallDisk }[] = [
  ...(canMount() ? [real] : []),
  ...(isFullForm() || !canMount() ? [pretended] : []),
];

describe.runIf(isLongForm()).each(disks)('on $disk', ({ make }) => {
  test('a full disk fails no turn, and messages are refused with 503 (G1, G23)', async () => {
    const server = await startTestPostgres();
    const disk = await make(server);
    onTestFinished(async () => {
      await server.stop();
      disk.remove();
    });
    const rig = await openServiceRig({
      queue: 'postgres',
      databaseUrl: disk.databaseUrl,
      env: { HOLDFAST_CONCURRENCY: `main=${sessions}` },
    });
    onTestFinished(() => rig.close());
    const [front, worker] = await Promise.all([rig.start('api'), rig.start('worker,scheduler')]);
    const api = rig.apiOf(front);
    const [first, ...rest] = Array.from(
      { length: 16 },
      (_, n) => `[[tool: http_effect {"key": "$session:${n}:${filling}"}]]`,
    );
    // Every turn still runs when the disk is full.
    const gate = rig.gate();
    const steps = [first, gate.call, ...rest].join(' ');
    const messages = await Promise.all(
      Array.from({ length: sessions }, (_, n) =>
        api.send(`busy-${n}`, {
          text: `${steps.replaceAll('$session', String(n))} [[reply: Done ${n}.]]`,
        }),
      ),
    );
    await waitUntil('all turns run', soonMs, () =>
      messages.every((_, n) => rig.effects.effects.some(({ key }) => key.startsWith(`${n}:`))),
    );
    await disk.fill();
    gate.open();
    const refused = await waitUntil('a message is refused', soonMs, async () => {
      const answer = await sendLarge(api);
      return answer.status !== 202 && answer;
    });
    expect({ status: refused.status, code: refused.body.code }).toEqual({ status: 503, code: 'database_unavailable' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    await waitUntil('the worker meets the full disk', soonMs, () =>
      rig.logs.some((line) => line.includes('53100') && line.includes(`:${worker.child.pid}"`)),
    );
    // The places where an operator looks: readiness, doctor, metrics and log.
    await waitUntil('the readiness names the disk', soonMs, async () => {
      await sendLarge(api);
      const { status, body } = await api.ask('GET', '/readyz');
      if (status !== 503) return false;
      const { dependencies } = body as { dependencies: { name: string; error: string | null }[] };
      expect(dependencies.filter(({ error }) => error !== null)).toMatchObject([{ name: 'storage', error: '53100' }]);
      return true;
    });
    await waitUntil('the overview names the disk', soonMs, async () => {
      await sendLarge(api);
      const { items } = (await api.ask('GET', '/v1/attention')).body as { items: { kind: string; text: string }[] };
      return items.some(({ kind, text }) => kind === 'dependency' && text.includes('storage'));
    });
    const { id } = messages[0] ?? { id: '' };
    await waitUntil('the session, its turn and `why` name the disk', soonMs, async () => {
      await sendLarge(api);
      const { why } = (await api.ask('GET', '/v1/sessions/busy-0')).body as { why: { code: string } | null };
      if (why?.code !== 'storage_unavailable') return false;
      const { turnId } = (await api.ask('GET', `/v1/messages/${id}`)).body as { turnId: string };
      return ((await api.ask('GET', `/v1/turns/${turnId}`)).body as { why: typeof why }).why?.code === why.code;
    });
    const { stdout } = await whileSending(api, () =>
      runCli(['why', 'busy-0'], { cwd: rig.dataDir, env: { HOLDFAST_URL: front.url, HOLDFAST_API_KEY: apiKey } }),
    );
    expect(stdout).toContain('(storage_unavailable)');
    // The doctor asks the service, which knows of the full disk from its failed writes of the last
    // seconds.
    const found = await waitUntil('the doctor names the disk', soonMs, async () => {
      const { stdout } = await whileSending(api, () =>
        runCli(['doctor', '--json'], {
          cwd: rig.dataDir,
          env: { HOLDFAST_URL: front.url, DATABASE_URL: rig.databaseUrl },
        }),
      );
      const { checks } = JSON.parse(stdout) as { checks: { code: string; status: string }[] };
      const readiness = checks.find(({ code }) => code === 'readiness');
      return readiness?.status === 'error' && readiness;
    });
    expect(found).toMatchObject({
      reason: expect.stringContaining('storage (53100)'),
      fix: expect.stringContaining('free space on the disk'),
    });
    await waitUntil('a metric names the disk', soonMs, async () => {
      await sendLarge(api);
      return ((await api.ask('GET', '/metrics')).body as string).includes(
        'holdfast_dependency_up{dependency="storage"} 0',
      );
    });
    expect((await api.ask('GET', '/metrics')).body).toMatch(
      /^holdfast_dependency_faults_total\{dependency="database"\} [1-9]/m,
    );
    expect(rig.logs.join('\n')).toContain('"code":"53100"');
    await disk.free();
    for (const [n, message] of messages.entries()) {
      expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: `Done ${n}.`, error: null });
    }
    const keys = rig.effects.effects.map(({ key }) => key);
    expect(keys.length).toBe(new Set(keys).size);
    // A large message may have been stored in the end, and its turn may be running.
    const ends = await readTurns(rig, { sessionKey: like('agent:main:busy-%') }, 'status');
    expect(ends.map(({ status }) => status)).toEqual(messages.map(() => 'completed'));
  });
});
