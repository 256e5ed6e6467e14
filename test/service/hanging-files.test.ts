// Goal: threads that hang in the file system keep neither a process nor its sessions. Method: a
// tool opens a pipe without a writer in more calls than Node has threads, and the worker is told to
// end.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { busyMachineMs, openServiceRig, type ServiceRig } from './rig/service-rig.ts';

/** Enough to give up the call and to release its session. */
const graceMs = 20_000;
const soonMs = 60_000;

async function openHangingRig(): Promise<{ rig: ServiceRig; hasHung: () => Promise<unknown> }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hanging-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const plugins = [fileURLToPath(new URL('rig/hanging-tool.ts', import.meta.url))];
  const rig = await openServiceRig({
    queue: 'postgres',
    config: { plugins, shutdown: { graceMs } },
    env: { HANGING_PIPE: pipe },
  });
  onTestFinished(() => rig.close());
  const hasHung = () => waitUntil('the tool hangs', soonMs, async () => existsSync(`${pipe}.read`));
  return { rig, hasHung };
}

test('a worker whose threads all hang drains in time, and another worker finishes its turn (G10)', async () => {
  const { rig, hasHung } = await openHangingRig();
  const api = rig.apiOf(await rig.start('api'));
  const worker = await rig.start('worker');
  const message = await api.send('hangs', { text: '[[tool: hang {}]] [[reply: Done.]]' });
  await hasHung();
  await rig.start('worker,scheduler');
  const begin = performance.now();
  await worker.end('SIGTERM');
  expect(performance.now() - begin).toBeLessThan(graceMs + busyMachineMs);
  expect(worker.child.signalCode).toBe('SIGKILL');
  expect(worker.output()).toContain('"Drained"');
  expect(await api.settled(message)).toMatchObject({ status: 'answered', reply: 'Done.' });
});

test('a second signal ends a process whose threads all hang', async () => {
  const { rig, hasHung } = await openHangingRig();
  const service = await rig.start('api,worker,scheduler');
  await rig.apiOf(service).send('hangs', { text: '[[tool: hang {}]]' });
  await hasHung();
  service.child.kill('SIGTERM');
  await waitUntil('it drains', soonMs, async () => service.output().includes('Draining'));
  // Until it counts as another one.
  await waitUntil('it has got a second signal', soonMs, async () => {
    if (service.isAlive()) service.child.kill('SIGTERM');
    return service.output().includes('Process ended without draining');
  });
  await service.end('SIGTERM');
  expect(service.child.signalCode).toBe('SIGKILL');
});
