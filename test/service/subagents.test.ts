// Goal: in a whole service, a subagent is stopped in time whether or not a worker runs it, a
// waiting parent holds no slot, and a wait ends (G19, G24, G25). Method: few slots, long tasks,
// short deadlines; the times are read from the database.
import { describe, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { countTurns, readTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { busyMachineMs, openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';

/** What G25 adds to a deadline. */
const marginMs = 1_000;
const endsWithinMs = 150_000;

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: ServiceApi;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({
      queue,
      config: {
        lanes: { main: 1, subagent: 1, cron: 1, batch: 1 },
        agents: { defaults: { subagents: { maxSpawnDepth: 2, announceDebounce: 0 } } },
      },
    });
    onEnd(() => opened.close());
    rig = opened;
    api = rig.apiOf(await rig.start('api,worker,scheduler'));
  });

  async function spawn(session: string, body: object): Promise<{ runId: string; childSessionKey: string }> {
    const answer = await api.ask('POST', `/v1/sessions/${session}/spawn`, body);
    if (answer.status !== 202) throw new Error(`spawn answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async function ended(runId: string) {
    return waitUntil(`the run ${runId} has ended`, endsWithinMs, async () => {
      const { body } = await api.ask('GET', `/v1/subagents/${runId}`);
      return body.status !== 'running' && body;
    });
  }

  /** The texts that a session received, once there are this many. */
  async function announced(session: string, count: number): Promise<string[]> {
    return waitUntil(`${session} was told ${count} times`, endsWithinMs, async () => {
      const rows = await readEntries(rig, { sessionKey: `agent:main:${session}`, kind: 'prompt' }, 'text');
      return rows.length >= count && rows.map(({ text }) => String(text));
    });
  }

  test('a run is stopped at its deadline, while it runs or still waits for a worker (G25)', async ({ expect }) => {
    // Without a label, an announcement contains the task, and the scripted model would execute its
    // directives.
    const body = { task: '[[delay: 600000]] [[reply: Late.]]', label: 'slow', runTimeoutSeconds: 1 };
    // The first run takes the only slot; the second never begins.
    const runs = [await spawn('hurry', body), await spawn('hurry', body)];
    for (const { runId } of runs) {
      const run = await ended(runId);
      expect(run).toMatchObject({ status: 'timedOut', error: 'The run took longer than 1 s.' });
      const lateMs = Date.parse(run.endedAt) - Date.parse(run.deadlineAt);
      expect(lateMs).toBeLessThan(marginMs + busyMachineMs);
    }
    const prompts = await announced('hurry', 1);
    expect(prompts[0]).toContain('A subagent task "slow" just timed out.');
  });

  test('a waiting parent holds no slot: with one slot, three generations come to an end (G19)', async ({ expect }) => {
    const below = `[[tool: sessions_spawn ${JSON.stringify({ task: '[[reply: from below]]', label: 'below' })}]] [[tool: sessions_yield {}]] [[reply: never]]`;
    const text = `[[tool: sessions_spawn ${JSON.stringify({ task: below, label: 'mid' })}]] [[tool: sessions_yield {}]] [[reply: never]]`;
    await api.send('three', { text });
    const prompts = await announced('three', 2);
    expect(prompts[1]).toMatch(/A subagent task "mid" just completed successfully\.[^]*from below/);
  });

  test('a wait ends after its timeout (G19)', async ({ expect }) => {
    await api.send('waits', { text: '[[tool: sessions_yield {"timeoutSeconds":1}]] [[reply: never]]' });
    const prompts = await announced('waits', 2);
    expect(prompts[1]).toContain('Nothing has arrived for 1 s');
    const sessionKey = 'agent:main:waits';
    const [input] = await readInputs(rig, { sessionKey, kind: 'announcement' }, 'receivedAt');
    const [turn] = await readTurns(rig, { sessionKey, status: 'silent' }, 'endedAt');
    expect(Number(input?.receivedAt) - Number(turn?.endedAt)).toBeLessThan(1_000 + marginMs + busyMachineMs);
  });

  test('stopping a session ends the turns of its subagents within a second, and none sends anything afterwards (G24)', async ({
    expect,
  }) => {
    const { runId, childSessionKey } = await spawn('stopped', { task: '[[delay: 600000]] [[reply: Late.]]' });
    await waitUntil('the subagent is at work', endsWithinMs, async () => {
      return (await api.ask('GET', `/v1/sessions/${childSessionKey}`)).body.status === 'running';
    });
    const from = performance.now();
    await api.ask('POST', '/v1/sessions/stopped/abort');
    expect(await ended(runId)).toMatchObject({ status: 'killed' });
    await waitUntil('its turn is over', endsWithinMs, async () => {
      return (await api.ask('GET', `/v1/sessions/${childSessionKey}`)).body.status === 'idle';
    });
    expect(performance.now() - from).toBeLessThan(1_000 + busyMachineMs);
    expect(await countTurns(rig, { sessionKey: 'agent:main:stopped' })).toBe(0);
  });
});
