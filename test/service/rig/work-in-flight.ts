// One of everything that waits or runs, so that it is in flight while processes of a service are
// replaced: requests for approvals, calls of external tools, tasks of an MCP server, turns that a
// budget parks, subagents, delayed messages, a queued backlog, crons, polls, a batch that is fed,
// and a batch of the provider. `judge` says what is wrong when all of it is over.
import { batchPlay, type BatchScene } from '../../crash/rig/batch-play.ts';
import type { ScheduledPlay } from '../../crash/rig/scheduled-sweep.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { judgeOnce, judgeSent, judgeTicks, readOpen } from './judge-work.ts';
import type { Message, ServiceApi } from './service-api.ts';
import type { ServiceRig } from './service-rig.ts';

/** What `openServiceRig` needs for it; a poll becomes due every few seconds. */
export function settingsOfWork(mcpUrl: string): Record<string, unknown> {
  return {
    agents: {
      defaults: {
        heartbeat: { every: '5s', prompt: 'Look around. [[reply: HEARTBEAT_OK]]' },
        subagents: { announceDebounce: 0 },
      },
    },
    tools: {
      approvals: { rules: [{ tools: ['glob'] }] },
      external: [{ name: 'refund', description: 'Refunds an order.', inputSchema: { type: 'object' } }],
    },
    mcp: { servers: { far: { url: mcpUrl } } },
    batches: { windowMs: 200, pollMs: { min: 100, max: 500 }, settleMs: 1_000 },
    // A scheduler that is killed or late misses no slot.
    cron: { misfire: 'run_all', maxCatchUp: 1_000 },
  };
}

/** How long a message batch of the model takes: as long as processes are replaced. */
export const BATCH_DELAY_MS = 3_000;

const WITHIN_MS = 240_000;
const OF_EACH = [1, 2, 3] as const;
const BACKLOG = 20;
const CHILD_MS = 4_000;
/** Rare enough that a busy machine keeps up with it. */
const TICK_MS = 3_000;

type Nth = (typeof OF_EACH)[number];

interface Wait {
  name: string;
  /** Why a message waits meanwhile. */
  code: string;
  directive: string;
  end: (api: ServiceApi, message: Message, session: string) => Promise<void>;
}

export interface WorkInFlight {
  /** Ends the n-th of the three waits of each kind, by a process with an API. */
  endWaits(api: ServiceApi, n: Nth): Promise<void>;
  /** Waits until all of it is over; no cron fires after it. */
  settle(api: () => ServiceApi): Promise<void>;
  /** What is wrong then, one sentence each. */
  judge(): Promise<string[]>;
}

interface Begun {
  rig: ServiceRig;
  /** Ends the tasks of the MCP server that have begun. */
  endTasks: () => Promise<void>;
}

const keyOf = (session: string): string => `agent:main:${session}`;

/** Budgets that leave nothing to spend, by the names of their sessions. */
async function makeBudgets(api: ServiceApi): Promise<Map<string, string>> {
  const budgets = new Map<string, string>();
  for (const n of OF_EACH) {
    const scope = `session:${keyOf(`budget-${n}`)}`;
    const { body } = await expectStatus(201, api.ask('POST', '/v1/budgets', { scope, per: 'total', limitUsd: 0 }));
    budgets.set(`budget-${n}`, body.id);
  }
  return budgets;
}

/** Begins everything, and resolves when it is in flight. */
export async function beginWork({ rig, endTasks }: Begun, api: ServiceApi): Promise<WorkInFlight> {
  const budgets = await makeBudgets(api);
  const waits = waitsOf(budgets);
  const sent = new Map<string, { session: string; message: Message; reply: string }>();
  const send = async (name: string, session: string, text: string, more: object = {}): Promise<void> => {
    const reply = `done with ${name}`;
    const message = await api.send(session, {
      text: `${name}: ${text} [[reply: ${reply}]]`,
      mode: 'followup',
      ...more,
    });
    sent.set(name, { session, message, reply });
  };
  for (const { name, directive } of waits)
    for (const n of OF_EACH) await send(`${name}-${n}`, `${name}-${n}`, directive);
  for (const n of OF_EACH) await send(`task-${n}`, `task-${n}`, '[[tool: far__long {}]]');
  for (const { name, code } of [...waits, { name: 'task', code: 'task' }])
    for (const n of OF_EACH) await untilWhy(api, sent.get(`${name}-${n}`)!.message, code);

  const batches = [
    batchPlay(
      playRig(rig, () => api),
      'live',
      { items: 16 },
    ),
    batchPlay(
      playRig(rig, () => api),
      'provider-batch',
    ),
  ];
  const scenes = await Promise.all(batches.map((play) => play.begin()));
  const cron = await expectStatus(
    201,
    api.ask('POST', '/v1/crons', {
      name: 'tick',
      schedule: { kind: 'every', everyMs: TICK_MS },
      payload: { kind: 'agentTurn', message: '[[reply: ticked]]' },
    }),
  );
  for (let n = 1; n <= BACKLOG; n += 1) await send(`backlog-${n}`, 'backlog', '[[delay: 200]]');
  for (const n of OF_EACH) {
    const task = `[[delay: ${CHILD_MS}]] [[reply: found ${n}]]`;
    await send(
      `parent-${n}`,
      `parent-${n}`,
      `[[tool: sessions_spawn ${JSON.stringify({ task, label: `child-${n}` })}]]`,
    );
    await send(`later-${n}`, `later-${n}`, '', { deliverAt: new Date(Date.now() + n * 2_000).toISOString() });
  }
  let tasksEnded = false;
  return {
    async endWaits(by, n) {
      for (const { name, end } of waits) {
        const { message, session } = sent.get(`${name}-${n}`)!;
        await end(by, message, session);
      }
      if (!tasksEnded) await endTasks();
      tasksEnded = true;
    },
    async settle(current) {
      await expectStatus(200, current().ask('PATCH', `/v1/crons/${cron.body.id}`, { enabled: false }));
      for (const { message } of sent.values()) await current().settled(message);
      for (const [at, play] of batches.entries()) await play.settle(scenes[at]!);
      await waitUntil('nothing is open', WITHIN_MS, async () => (await readOpen(rig)).length === 0).catch(
        async (error) => {
          throw new Error(`still open: ${(await readOpen(rig)).join(', ')}`, { cause: error });
        },
      );
    },
    async judge() {
      return [
        ...(await judgeSent(rig, [...sent.entries()])),
        ...(await judgeBatches(batches, scenes)),
        ...(await judgeTicks(rig, TICK_MS)),
        ...(await judgeOnce(rig)),
      ];
    },
  };
}

function waitsOf(budgets: ReadonlyMap<string, string>): Wait[] {
  return [
    {
      name: 'approval',
      code: 'approval',
      directive: '[[tool: glob {"pattern": "*.md"}]]',
      async end(api, _message, session) {
        const { body } = await api.ask('GET', '/v1/approvals?status=open');
        const request = (body.items as { id: string; sessionKey: string }[]).find(
          ({ sessionKey }) => sessionKey === keyOf(session),
        );
        await expectStatus(200, api.ask('POST', `/v1/approvals/${request?.id}/approve`, {}));
      },
    },
    {
      name: 'external',
      code: 'external_tool',
      directive: '[[tool: refund {"order": "42"}]]',
      async end(api, message) {
        const { body } = await api.ask('GET', `/v1/messages/${message.id}`);
        await expectStatus(200, api.ask('POST', `/v1/tool-calls/${body.why.by}/result`, { content: '19.90 EUR' }));
      },
    },
    {
      name: 'budget',
      code: 'budget_reached',
      directive: '[[tool: session_status {}]]',
      async end(api, _message, session) {
        await expectStatus(200, api.ask('PATCH', `/v1/budgets/${budgets.get(session)}`, { limitUsd: 10 }));
      },
    },
  ];
}

async function expectStatus(status: number, asked: ReturnType<ServiceApi['ask']>): ReturnType<ServiceApi['ask']> {
  const answer = await asked;
  if (answer.status !== status) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer;
}

async function untilWhy(api: ServiceApi, { id }: Message, code: string): Promise<void> {
  await waitUntil(`a message waits for ${code}`, WITHIN_MS, async () => {
    return (await api.ask('GET', `/v1/messages/${id}`)).body.why?.code === code;
  });
}

function playRig(rig: ServiceRig, api: () => ServiceApi): Parameters<typeof batchPlay>[0] {
  return {
    effects: rig.effects,
    model: rig.model,
    rows: (sql, values) => rig.rows(sql, values),
    async ask(method, path, body) {
      return (await api().ask(method, path, body as object)).body;
    },
  };
}

async function judgeBatches(
  plays: readonly ScheduledPlay<BatchScene>[],
  scenes: readonly BatchScene[],
): Promise<string[]> {
  const faults: string[] = [];
  for (const [at, play] of plays.entries())
    faults.push(...(await play.judge(scenes[at]!)).map((fault) => `${play.name}: ${fault}`));
  return faults;
}
