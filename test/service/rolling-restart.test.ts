// Goal: replacing every worker of a busy service, one after the other, loses, doubles and fails
// nothing (G26). Method: clients in many sessions send messages with tool loops and a delivery
// each, without pause, while each worker is stopped with SIGTERM and replaced; afterwards
// everything is counted.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readToolCalls } from '../rows/calls.ts';
import { above, not } from '../rows/table.ts';
import { countTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { openServiceRig, queues, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';
import { judge, replyTo, startLoad, toolLoop, untilQuiet } from './rig/steady-load.ts';
import { startReceiver, type WebhookReceiver } from './rig/webhook-receiver.ts';

const sessions = 20;
const answeredBetweenRestarts = 30;
/** For each of them a replacement starts before it is stopped. */
const workersAtFirst = 2;
/** Enough load to keep the machine busy, with room for processes to start. */
const pauseMs = 300;
/**
 * `shutdown.graceMs`: long, because a command that still runs near its end is stopped, and a
 * stopped command is not repeated (G11).
 */
const graceMs = 120_000;
/**
 * As long, for the same reason: no worker dies here, but one that does not run for the length of
 * its lease on a busy machine loses its sessions.
 */
const leaseMs = 120_000;
const soonMs = 150_000;
/** Slow enough that deliveries are in flight when a worker receives SIGTERM. */
const receivedAfterMs = 100;

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let receiver: WebhookReceiver;
  let front: RunningProcess;
  let workers: RunningProcess[];

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({
      queue,
      config: { shutdown: { graceMs } },
      env: { HOLDFAST_LEASE_MS: String(leaseMs) },
    });
    const started = await startReceiver({ answerAfterMs: receivedAfterMs });
    onEnd(() => started.close());
    onEnd(() => opened.close());
    [rig, receiver] = [opened, started];
    [front, ...workers] = (await Promise.all([
      rig.start('api,scheduler'),
      ...Array.from({ length: workersAtFirst }, () => rig.start('worker')),
    ])) as [RunningProcess, ...RunningProcess[]];
  });

  test('a rolling restart under load loses, doubles and fails nothing (G26)', async () => {
    const load = startLoad([rig.apiOf(front)], {
      name: 'roll',
      sessions,
      pauseMs,
      fields: { deliver: { url: receiver.url } },
      script: (marker, session) => (session % 5 === 0 ? slowCommand(marker) : toolLoop(marker)),
    });
    onTestFinished(() => void load.stop());
    const answerMore = async (): Promise<void> => {
      const until = load.answered() + answeredBetweenRestarts;
      await waitUntil('more is answered', soonMs, () => load.answered() >= until);
    };
    await answerMore();
    for (const worker of workers) {
      await rig.start('worker');
      const begin = performance.now();
      expect(await worker.end('SIGTERM')).toBe(0);
      expect(performance.now() - begin).toBeLessThan(graceMs);
      await answerMore();
    }
    const sent = await load.stop();
    await untilQuiet(rig, 'roll', soonMs);

    expect(sent.length).toBeGreaterThan(answeredBetweenRestarts * 3);
    expect(sent.flatMap(({ refusals }) => refusals)).toEqual([]);
    expect(await judge(rig, 'roll', sent)).toEqual([]);
    for (const lost of ['deaths', 'crowdDeaths'] as const)
      expect(await countTurns(rig, { [lost]: above(0) }), lost).toBe(0);
    // What a call that failed has said: the row does not have it.
    const bodies = rig.model.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.flatMap((body) => body.match(/\{[^{}]*"is_error":true[^{}]*\}/g) ?? [])).toEqual([]);
    expect(await readToolCalls(rig, { status: not('done') }, 'name', 'status', 'result')).toEqual([]);
    const keys = rig.effects.effects.map(({ key }) => key);
    expect(keys.length).toBe(new Set(keys).size);
    const commands = sent.filter(({ session }) => isCommanding(session)).map(({ marker }) => marker);
    expect(keys.length).toBe((sent.length - commands.length) * 3);
    const log = await readFile(join(rig.dataDir, 'workspace', 'effects.log'), 'utf8');
    expect(log.split('\n').filter(Boolean).toSorted()).toEqual(commands.toSorted());
    const replies = receiver.received.map(({ body }) => body.text);
    expect(replies.toSorted()).toEqual(sent.map(({ marker }) => replyTo(marker)).toSorted());
    expect(rig.logs.filter((line) => /"level":(50|60)/.test(line))).toEqual([]);
  });
});

/** A command that is likely to be running when its worker receives SIGTERM. */
function slowCommand(marker: string): string {
  const command = `sleep 0.3; echo ${marker} >> effects.log`;
  return `[[tool: exec ${JSON.stringify({ command })}]] [[reply: ${replyTo(marker)}]]`;
}

function isCommanding(session: string): boolean {
  return Number(session.split('-')[1]) % 5 === 0;
}
