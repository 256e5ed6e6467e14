// Goal: a turn that waits for a budget or for a client holds no slot, outlives the processes of the
// service, and is resumed once. Method: real processes whose lane has one slot. They are killed and
// restarted while the turn waits, and the worker that has resumed it is killed in one of its tools;
// judged by the rows and by the effects.
import { describe, expect, onTestFinished, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countModelCalls, countToolCalls } from '../rows/calls.ts';
import { countEvents } from '../rows/events.ts';
import { readSessions } from '../rows/sessions.ts';
import { readTurns } from '../rows/turns.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { Message, ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const soonMs = 150_000;
const FRONT = 'api,scheduler';

interface Waiting {
  turnId: string;
  /** Ends the wait, and resolves when the turn has ended, with its reply. */
  end: (api: ServiceApi) => Promise<string>;
}

interface Wait {
  name: string;
  code: string;
  /** The model calls of a turn that waits once and calls one tool. */
  calls: number;
  /**
   * What the processes have to know before they start: `begin` makes a turn of that session wait.
   */
  prepare: (api: ServiceApi, session: string) => Promise<{ begin: (script: string) => Promise<Waiting> }>;
}

const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];

const WAITS: Wait[] = [
  {
    name: 'a budget',
    code: 'budget_reached',
    calls: 2,
    async prepare(api, session) {
      const budget = { scope: `session:agent:main:${session}`, per: 'total', limitUsd: 0 };
      const { status, body } = await api.ask('POST', '/v1/budgets', budget);
      expect(status).toBe(201);
      return {
        async begin(script) {
          const message = await api.send(session, { text: script });
          return {
            turnId: await turnOf(api, message),
            async end(later) {
              await later.ask('PATCH', `/v1/budgets/${body.id}`, { limitUsd: 10 });
              return (await later.settled(message)).reply ?? '';
            },
          };
        },
      };
    },
  },
  {
    name: 'a client',
    code: 'caller',
    calls: 3,
    async prepare(api, session) {
      const messages: object[] = [];
      const ask = async (to: ServiceApi) => {
        const headers = { 'x-holdfast-session-key': session };
        const answer = await to.ask(
          'POST',
          '/v1/chat/completions',
          { model: 'holdfast', tools: TOOLS, messages },
          headers,
        );
        expect(answer.status).toBe(200);
        return { turnId: answer.headers.get('x-holdfast-turn-id') ?? '', message: answer.body.choices[0].message };
      };
      return {
        async begin(script) {
          messages.push({ role: 'user', content: `[[tool: weather {}]] ${script}` });
          const { turnId, message } = await ask(api);
          messages.push(message);
          for (const { id } of message.tool_calls) messages.push({ role: 'tool', tool_call_id: id, content: 'rain' });
          return { turnId, end: async (later) => (await ask(later)).message.content };
        },
      };
    },
  },
];

const turnOf = (api: ServiceApi, message: Message): Promise<string> =>
  waitUntil('its turn is open', soonMs, async () => (await api.ask('GET', `/v1/messages/${message.id}`)).body.turnId);

describe.each(WAITS)('a turn that waits for $name', ({ code, calls, prepare }) => {
  let rig: ServiceRig;

  shareAmongTests(async (onEnd) => {
    const opened = await openServiceRig({ queue: 'postgres', config: { lanes: { main: 1 } } });
    onEnd(() => opened.close());
    rig = opened;
  });

  /**
   * Starts a process that ends with its test: it would not know the budgets of the next one
   * immediately.
   */
  async function start(roles: string): Promise<RunningProcess> {
    const process = await rig.start(roles);
    onTestFinished(() => rig.kill(process));
    return process;
  }

  const effect = (key: string): string => `[[tool: http_effect ${JSON.stringify({ key })}]]`;

  const untilParked = (turnId: string) =>
    waitUntil('the turn is parked', soonMs, async () => {
      const [turn] = await readTurns(rig, { id: turnId, status: 'parked', parkCode: code }, 'sessionId');
      return turn !== undefined && readSessions(rig, { id: turn.sessionId }, 'owner');
    });

  /** What has happened in the session of the turn, counted. */
  async function countsOf(turnId: string, key: string) {
    const [row] = await readTurns(rig, { id: turnId }, 'status', 'attempt', 'deaths');
    const calls = await countModelCalls(rig, { turnId, status: 'ok' });
    const resumed = await countEvents(rig, { turnId, type: 'turn.resumed' });
    return { ...row, calls, resumed, effects: rig.effects.effects.filter((one) => one.key === key).length };
  }

  async function endAll(processes: readonly RunningProcess[], how: 'kill' | 'stop'): Promise<void> {
    await Promise.all(processes.map((one) => (how === 'kill' ? rig.kill(one) : one.end('SIGTERM'))));
  }

  test.each(['kill', 'stop'] as const)(
    'takes no slot, and ends after a %s of all processes as if there had been none',
    async (how) => {
      const session = `all-${how}`;
      const first = await start(FRONT);
      const api = rig.apiOf(first);
      const { begin } = await prepare(api, session);
      const worker = await start('worker');
      const { turnId, end } = await begin(`${effect(session)} [[reply: Done.]]`);
      expect(await untilParked(turnId)).toEqual([{ owner: null }]);
      // The lane has one slot.
      const other = await api.settled(await api.send(`other-${session}`, { text: '[[reply: Other.]]' }));
      expect(other).toMatchObject({ status: 'answered', reply: 'Other.' });
      await endAll([first, worker], how);

      const [front] = await Promise.all([start(FRONT), start('worker')]);
      const later = rig.apiOf(front);
      const next = await later.send(session, { text: '[[reply: Next.]]', mode: 'followup' });
      await later.settled(await later.send(`another-${session}`, { text: '[[reply: Another.]]' }));
      const shown = await later.ask('GET', `/v1/turns/${turnId}`);
      expect(shown.body).toMatchObject({ status: 'parked', attempt: 1, why: { code } });
      expect(await later.ask('GET', `/v1/messages/${next.id}`)).toMatchObject({ body: { status: 'waiting' } });
      expect(await end(later)).toBe('Done.');
      expect(await later.settled(next)).toMatchObject({ status: 'answered', reply: 'Next.' });
      const counts = { status: 'completed', attempt: 1, deaths: 0, calls, resumed: 1, effects: 1 };
      expect(await countsOf(turnId, session)).toEqual(counts);
    },
  );

  test('ends once when the worker that has resumed it is killed in one of its tools (G11)', async () => {
    const session = 'resumed';
    const api = rig.apiOf(await start(FRONT));
    const { begin } = await prepare(api, session);
    await start('worker');
    const gate = rig.gate();
    const { turnId, end } = await begin(`${effect(session)} ${gate.call} [[reply: Done.]]`);
    await untilParked(turnId);
    const ended = end(api);
    await waitUntil('the command runs', soonMs, async () => {
      return (await countToolCalls(rig, { turnId, name: 'exec', status: 'intent' })) === 1;
    });
    const holder = await rig.holderOf(session);
    await Promise.all([rig.kill(holder), start('worker')]);
    expect(await ended).toBe('Done.');
    gate.open();
    const counts = { status: 'completed', attempt: 2, deaths: 1, calls: calls + 1, resumed: 1, effects: 1 };
    expect(await countsOf(turnId, session)).toEqual(counts);
  });
});
