// Goal: work that exceeds its deadline is ended within the deadline + 1 s, and its result says what
// timed out (G25). Method: one agent for each deadline of one second; the times are read from the
// database.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { busyMachineMs, openServiceRig, queues, type ServiceRig } from './rig/service-rig.ts';
import { isLongForm } from '../servers/test-form.ts';

const deadlineMs = 1_000;
/** What G25 adds to a deadline. */
const marginMs = 1_000;
const lateMs = deadlineMs + marginMs + busyMachineMs;
/** Long enough that a busy machine sends the next piece in time. */
const attentiveMs = 12_000;

/**
 * For tools without their own timeout; longer than the deadline of a short turn, so that it is
 * clear which of the two ended the tool.
 */
const toolDeadlineMs = 2_000;

const config = {
  agents: {
    list: [
      { id: 'main' },
      { id: 'hasty', timeoutSeconds: 1 },
      { id: 'impatient', llm: { idleTimeoutSeconds: 1 } },
      { id: 'attentive', llm: { idleTimeoutSeconds: attentiveMs / 1000 } },
    ],
  },
  models: { providers: { anthropic: { maxRetries: 0 } } },
  tools: { exec: { timeoutSeconds: toolDeadlineMs / 1000 } },
};

describe.each(queues)('with the queue in $queue', ({ queue }) => {
  let rig: ServiceRig;
  let api: ServiceApi;
  let silent: Server;

  beforeAll(async () => {
    silent = createServer(() => {}).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    rig = await openServiceRig({ queue, config, env: { HTTP_EFFECT_URL: `http://127.0.0.1:${port}` } });
    api = rig.apiOf(await rig.start('api,worker,scheduler'));
  });
  afterAll(async () => {
    await rig?.close();
    silent.closeAllConnections();
    silent.close();
  });

  /** Sends a message to a new session. */
  async function turnOf(prefix: string, text: string) {
    const session = `${prefix}-${newId<string>()}`;
    const message = await api.settled(await api.send(session, { text }));
    const { body: turn } = await api.ask('GET', `/v1/turns/${message.turnId}`);
    return { session, message, turn, ms: Date.parse(turn.endedAt) - Date.parse(turn.startedAt) };
  }

  test.concurrent('a turn that exceeds its deadline while the model thinks ends timedOut (G25)', async ({ expect }) => {
    const { message, turn, ms } = await turnOf('agent:hasty:thinks', '[[delay: 600000]] [[reply: Late.]]');
    expect(turn).toMatchObject({ status: 'timedOut', reply: null, error: { code: 'turn_timeout' } });
    expect(turn.error.message).toContain('longer than 1 s');
    expect(message).toMatchObject({ status: 'failed', error: { code: 'turn_timeout' } });
    expect(ms).toBeGreaterThan(deadlineMs - 100);
    expect(ms).toBeLessThan(lateMs);
  });

  test.concurrent('a turn that exceeds its deadline while a tool runs ends timedOut, in many steps too (G25)', async ({
    expect,
  }) => {
    const { turn, ms } = await turnOf('agent:hasty:acts', '[[repeat: 1000 tool exec {"command": "sleep 0.3"}]]');
    expect(turn).toMatchObject({ status: 'timedOut', error: { code: 'turn_timeout' } });
    expect(ms).toBeLessThan(lateMs);
  });

  test.concurrent('a command that ignores TERM does not delay the end of its turn (G25)', async ({ expect }) => {
    const command = `trap '' TERM; while :; do sleep 0.1; done`;
    const { turn, ms } = await turnOf('agent:hasty:stubborn', `[[tool: exec ${JSON.stringify({ command })}]]`);
    expect(turn).toMatchObject({ status: 'timedOut', error: { code: 'turn_timeout' } });
    expect(ms).toBeLessThan(lateMs);
  });

  test.concurrent('a model that sends nothing times out (G25)', async ({ expect }) => {
    const { turn, ms } = await turnOf('agent:impatient:x', '[[stall: after=3]] [[reply: Never heard.]]');
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'model_timeout' } });
    expect(turn.error.message).toContain('The model sent nothing for 1 s.');
    expect(ms).toBeLessThan(lateMs);
    const calls = await readModelCalls(rig, { turnId: turn.id }, 'status', 'error');
    expect(calls).toMatchObject([{ status: 'failed', error: { type: 'idle_timeout' } }]);
  });

  test
    .runIf(isLongForm())
    .concurrent('a model that keeps talking is not silent, however long it takes (G25)', async ({ expect }) => {
      const { message, ms } = await turnOf('agent:attentive:slow', '[[slow: 450]] [[fill: 7200]]');
      expect(message.status).toBe('answered');
      expect(ms).toBeGreaterThan(attentiveMs);
    });

  test.concurrent('a tool that exceeds its timeout ends without its turn, and its result says so (G25)', async ({
    expect,
  }) => {
    const command = JSON.stringify({ command: 'sleep 600', timeoutSeconds: 1 });
    const { session, message, turn } = await turnOf(
      'tools',
      `[[tool: exec ${command}]] & [[tool: http_effect {"key": "none"}]] [[reply: Both ended.]]`,
    );
    expect(message).toMatchObject({ status: 'answered', reply: 'Both ended.' });
    const calls = (await readToolCalls(rig, { turnId: turn.id })).map(({ name, status, intentAt, endedAt }) => ({
      name,
      status,
      ms: Number(endedAt) - Number(intentAt),
    }));
    expect(calls).toMatchObject([
      { name: 'exec', status: 'failed' },
      { name: 'http_effect', status: 'failed' },
    ]);
    // The result of the first tool to end is stored immediately, so each has its own time.
    expect(calls[0]?.ms).toBeLessThan(lateMs);
    expect(calls[1]?.ms).toBeLessThan(lateMs - deadlineMs + toolDeadlineMs);
    const { body } = await api.ask('GET', `/v1/sessions/${session}/transcript`);
    const results = body.items.find((entry: { kind: string }) => entry.kind === 'results').content;
    // The deadline of all tools, if the command took long to start.
    for (const [index, reason] of [/exec timed out after [12] s/, /http_effect timed out after 2 s/].entries()) {
      expect(results[index]).toMatchObject({ type: 'tool_result', is_error: true });
      expect(JSON.stringify(results[index].content)).toMatch(reason);
    }
  });
});
