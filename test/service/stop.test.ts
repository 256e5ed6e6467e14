// Goal: an abort stops whatever a session is doing, on any worker (G24). Method: abort while a
// command of the model runs with a grandchild process, while other messages wait, and while a turn
// waits for its provider; judged by the rows, the processes and the next prompt.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { Message, ServiceApi } from './rig/service-api.ts';
import { busyMachineMs, openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';

/** The bound of G24, and the time that `exec` gives its processes between TERM and KILL. */
const stoppedWithinMs = 1_000;
const killGraceMs = 2_000;
const soonMs = 150_000;
const hint = 'The previous agent run was aborted by the user.';

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: ServiceApi;

  shareAmongTests(async (onEnd) => {
    // Commands tell the numbers of their processes, which mean something else in a sandbox.
    const opened = await openServiceRig({ queue, config: { tools: { exec: { sandbox: 'off' } } } });
    onEnd(() => opened.close());
    rig = opened;
    api = rig.apiOf(await rig.start('api,worker,scheduler'));
  });

  /**
   * Asks for a command and returns the ids of the processes that it started, once it has printed
   * them.
   */
  async function runCommand(session: string, command: string): Promise<{ message: Message; processIds: number[] }> {
    const file = `${session}.pids`;
    const whole = `${command.replaceAll('NOTE', `>> ${file}`)} wait`;
    const message = await api.send(session, { text: `[[tool: exec ${JSON.stringify({ command: whole })}]]` });
    const path = join(rig.dataDir, 'workspace', file);
    const processIds = await waitUntil('the command runs', soonMs, async () => {
      const lines = (await readFile(path, 'utf8').catch(() => '')).split('\n').filter(Boolean);
      return lines.length === 2 && lines.map(Number);
    });
    expect(await Promise.all(processIds.map(isRunning))).toEqual([true, true]);
    return { message, processIds };
  }

  /** Aborts and resolves when the turn has ended, with how long that took. */
  async function abort(session: string, message: Message): Promise<{ body: unknown; ms: number; settled: Message }> {
    const begin = performance.now();
    const { status, body } = await api.ask('POST', `/v1/sessions/${session}/abort`, {});
    expect(status).toBe(200);
    const settled = await api.settled(message);
    return { body, ms: performance.now() - begin, settled };
  }

  async function promptsOf(session: string): Promise<string[]> {
    const { body } = await api.ask('GET', `/v1/sessions/${session}/transcript`);
    return body.items
      .filter((entry: { kind: string }) => entry.kind === 'prompt')
      .map((entry: { content: unknown }) => JSON.stringify(entry.content));
  }

  test('an abort ends a running command with all processes that it started, and cancels waiting messages (G24)', async () => {
    const { message, processIds } = await runCommand('stop', 'echo $$ NOTE; (sleep 600 & echo $! NOTE; wait) & ');
    const waiting = [
      await api.send('stop', { text: 'second', mode: 'followup' }),
      await api.send('stop', { text: 'third', mode: 'followup' }),
    ];
    const { turnId } = (await api.ask('GET', `/v1/messages/${message.id}`)).body;
    const { body, ms, settled } = await abort('stop', message);
    expect(body).toEqual({ aborted: turnId, cancelled: 2 });
    expect(ms).toBeLessThan(stoppedWithinMs + killGraceMs + busyMachineMs);
    expect(settled).toMatchObject({ status: 'cancelled', turnId });
    expect((await api.ask('GET', `/v1/turns/${turnId}`)).body).toMatchObject({
      status: 'aborted',
      error: { code: 'aborted' },
    });
    await gone(processIds);
    const statuses = await Promise.all(waiting.map(async (one) => (await api.settled(one)).status));
    expect(statuses).toEqual(['cancelled', 'cancelled']);
  });

  test('the next message is answered and mentions the abort, the one after it does not (G24)', async () => {
    const { message } = await runCommand('told', 'echo $$ NOTE; (sleep 600 & echo $! NOTE; wait) & ');
    await abort('told', message);
    const next = await api.settled(await api.send('told', { text: 'Go on. [[reply: On it.]]' }));
    const later = await api.settled(await api.send('told', { text: 'And? [[reply: Done.]]' }));
    expect([next, later]).toMatchObject([
      { status: 'answered', reply: 'On it.' },
      { status: 'answered', reply: 'Done.' },
    ]);
    expect((await promptsOf('told')).map((prompt) => prompt.includes(hint))).toEqual([false, true, false]);
  });

  test('a command that ignores TERM is killed after its grace period (G24)', async () => {
    const { message, processIds } = await runCommand(
      'stubborn',
      `trap '' TERM; echo $$ NOTE; (trap '' TERM; echo $BASHPID NOTE; while :; do sleep 0.2; done) & while :; do sleep 0.2; done;`,
    );
    const { ms, settled } = await abort('stubborn', message);
    expect(settled.status).toBe('cancelled');
    expect(ms).toBeLessThan(stoppedWithinMs + killGraceMs + busyMachineMs);
    await gone(processIds);
  });

  test('a turn that waits for its provider is aborted immediately (G24)', async () => {
    const message = await api.send('parked', {
      text: '[[error: 429 retry-after=600]] [[reply: Late.]]',
      model: 'anthropic/limited',
    });
    await waitUntil('the turn is parked', soonMs, async () => {
      const [turn] = (await api.ask('GET', '/v1/turns?session=parked')).body.items;
      return turn?.status === 'parked';
    });
    const { ms, settled } = await abort('parked', message);
    expect(settled.status).toBe('cancelled');
    expect(ms).toBeLessThan(1_500 + busyMachineMs);
    expect((await api.ask('GET', '/v1/sessions/parked')).body).toMatchObject({ status: 'idle', turnId: null });
  });

  test('an abort with `queued: "keep"` ends only the turn (G24)', async () => {
    const { message } = await runCommand('keep', 'echo $$ NOTE; (sleep 600 & echo $! NOTE; wait) & ');
    const waiting = await api.send('keep', { text: '[[reply: Kept.]]', mode: 'followup' });
    const { body } = await api.ask('POST', '/v1/sessions/keep/abort', { queued: 'keep' });
    expect(body.cancelled).toBe(0);
    expect((await api.settled(message)).status).toBe('cancelled');
    expect(await api.settled(waiting)).toMatchObject({ status: 'answered', reply: 'Kept.' });
  });
});

/**
 * Waits until none of them runs: a process that gets KILL ends only when it next gets the
 * processor.
 */
async function gone(processIds: number[]): Promise<void> {
  await waitUntil(`${processIds.join(' and ')} have ended`, soonMs, async () =>
    (await Promise.all(processIds.map(isRunning))).every((isAlive) => !isAlive),
  );
}

/** False too for a zombie, which only waits to be reaped. */
async function isRunning(processId: number): Promise<boolean> {
  const stat = await readFile(`/proc/${processId}/stat`, 'utf8').catch(() => '');
  return stat !== '' && stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
}
