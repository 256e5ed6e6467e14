// A whole service that runs, with an object of every kind that a command can show.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { changeDeliveries } from '../../rows/deliveries.ts';
import { ahead } from '../../rows/table.ts';
import type { Message } from '../../service/rig/service-api.ts';
import { apiKey, openServiceRig, type ServiceRig } from '../../service/rig/service-rig.ts';

const SOON_MS = 120_000;
/** A turn with this text runs until it is stopped. */
const STAYS = '[[delay: 600000]]';
const FAILS = '[[error: 400 message="no"]]';
const EVERY_HOUR = { kind: 'every', everyMs: 3_600_000 };
/** How a data set is evaluated. */
const EVALUATED = { candidates: [{ name: 'now' }], graders: [{ type: 'equal' }], repeats: 1 };
/** No server listens there. */
const NO_RECEIVER = 'http://127.0.0.1:1';

/** Texts for the names in braces of a row. */
export type Names = Readonly<Record<string, string>>;

export type Scene = Awaited<ReturnType<typeof openScene>>;

/** Starts the service and makes the objects. `close` ends everything. */
export async function openScene() {
  const rig = await openServiceRig({ queue: 'postgres', config: CONFIG });
  try {
    const { url } = await rig.start('api,worker,scheduler');
    await changeConfig(rig);
    const actions = actionsOf(rig, url);
    return {
      ...actions,
      env: envOf(rig, url),
      names: await makeObjects(actions),
      close: () => rig.close(),
    };
  } catch (error) {
    await rig.close();
    throw error;
  }
}

const CONFIG = {
  messages: { queue: { debounceMs: 0 } },
  channels: { webhook: { maxAttempts: 1 }, telegram: {} },
  bindings: [{ agent: 'main', match: { channel: 'telegram', chatId: '-100123' } }],
};

/** Of a command on the machine of the service. */
function envOf({ dataDir, databaseUrl, effects }: ServiceRig, url: string): Record<string, string> {
  return {
    HOLDFAST_URL: url,
    HOLDFAST_API_KEY: apiKey,
    HOLDFAST_DATA_DIR: dataDir,
    HOLDFAST_CONFIG: join(dataDir, 'holdfast.json'),
    DATABASE_URL: databaseUrl,
    HTTP_EFFECT_URL: effects.url,
  };
}

/**
 * After the start: a setting that only a restart changes, so that each reload finds the same
 * difference.
 */
async function changeConfig({ dataDir }: ServiceRig): Promise<void> {
  const path = join(dataDir, 'holdfast.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...config, limits: { eventStreams: 77 } }));
}

/** What rows use to make their own objects. */
function actionsOf(rig: ServiceRig, url: string) {
  const api = rig.apiOf({ url });
  let made = 0;

  async function ask(method: string, path: string, body?: object) {
    const answer = await api.ask(method, path, body);
    if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Polls until the answer is what is expected. */
  function look<Value>(path: string, found: (body: Awaited<ReturnType<typeof ask>>) => Value | Promise<Value>) {
    return waitUntil(path, SOON_MS, async () => found(await ask('GET', path)));
  }

  /** A message and its end. */
  async function say(session: string, text: string, more: object = {}): Promise<Message> {
    return api.settled(await api.send(session, { text, ...more }));
  }

  /** A name that no other object has. */
  const fresh = (name: string): string => `${name}-${(made += 1)}`;

  return {
    rig,
    url,
    ask,
    look,
    say,
    fresh,
    send: (session: string, text: string, more: object = {}) => api.send(session, { text, ...more }),
    /** A session in which one turn has ended. */
    async talked(name: string): Promise<Names & { session: string; turn: string }> {
      const session = fresh(name);
      const { turnId } = await say(session, 'hello');
      return { session, turn: turnId ?? '' };
    },
    /** A session with a turn that runs. */
    async running(name: string): Promise<{ session: string; turn: string }> {
      const session = fresh(name);
      const { id } = await api.send(session, { text: STAYS });
      const turn = await look(`/v1/messages/${id}`, (body: Message) => body.turnId);
      return { session, turn };
    },
    /** A session with a turn that has failed, and its dead letter. */
    async failed(name: string): Promise<{ session: string; turn: string; letter: string }> {
      const session = fresh(name);
      const { turnId } = await say(session, FAILS);
      const letter = await look('/v1/dead-letters', (body) => letterOf(body, ({ turnId: of }) => of === turnId));
      return { session, turn: turnId ?? '', letter };
    },
    /** A delivery that has failed, and its dead letter. */
    async undelivered(name: string): Promise<{ session: string; delivery: string; letter: string }> {
      const session = fresh(name);
      await say(session, 'hello', { deliver: { url: NO_RECEIVER } });
      const delivery: string = await look(
        `/v1/deliveries?session=${session}`,
        ({ items: [found] }) => found?.status === 'failed' && found.id,
      );
      const letter = await look('/v1/dead-letters', (body) => letterOf(body, (one) => one.deliveryId === delivery));
      return { session, delivery, letter };
    },
    /** A delivery that waits for its next attempt. */
    async retried(name: string): Promise<{ delivery: string }> {
      const { delivery } = await this.undelivered(name);
      await changeDeliveries(rig, { id: delivery }, { status: 'pending', dueAt: ahead('1 hour') });
      return { delivery };
    },
    /** A call of an external tool that waits for its program. */
    async external(name: string): Promise<{ tool: string; call: string }> {
      const tool = fresh(name);
      const external = [{ name: tool, description: 'Ships.', inputSchema: { type: 'object' } }];
      const text = `[[tool: ${tool} {"order":"42"}]] [[reply: done]]`;
      await api.send(tool, { text, tools: { external } });
      const call = await look(`/v1/tool-calls?tool=${tool}`, ({ items: [found] }) => found !== undefined && found.id);
      return { tool, call };
    },
    /** A subagent that runs until it is stopped. */
    async subagent(name: string): Promise<{ session: string; run: string }> {
      const session = fresh(name);
      const { runId, childSessionKey } = await ask('POST', `/v1/sessions/${session}/spawn`, { task: STAYS });
      await look(`/v1/sessions/${childSessionKey}`, ({ status }) => status === 'running');
      return { session, run: runId };
    },
    /** A cron that is not due. */
    async cron(name: string): Promise<{ name: string; cron: string }> {
      const unique = fresh(name);
      const payload = { kind: 'agentTurn', message: 'x' };
      const { id } = await ask('POST', '/v1/crons', { name: unique, schedule: EVERY_HOUR, payload });
      return { name: unique, cron: id };
    },
    /** A batch that can be paused and cancelled: its item waits for a session that is paused. */
    async batch(name: string): Promise<{ name: string; batch: string }> {
      const unique = fresh(name);
      const items = [{ text: 'one', sessionKey: 'waits' }];
      const { id } = await ask('POST', '/v1/batches', { name: unique, items });
      return { name: unique, batch: id };
    },
    /** A batch that has ended: one item was answered, one has failed. */
    async endedBatch(name: string): Promise<{ name: string; batch: string }> {
      const unique = fresh(name);
      const items = [
        { text: 'one', customId: 'good' },
        { text: FAILS, customId: 'bad' },
      ];
      const { id } = await ask('POST', '/v1/batches', { name: unique, items });
      await look(`/v1/batches/${id}`, ({ status }) => status === 'ended');
      return { name: unique, batch: id };
    },
    /** A data set with one case. */
    async dataset(name: string, input = 'Is it paid? [[reply: yes]]'): Promise<{ dataset: string }> {
      const dataset = fresh(name);
      await ask('POST', '/v1/datasets', { name: dataset });
      await ask('POST', `/v1/datasets/${dataset}/items`, { items: [{ input, expected: 'yes' }] });
      return { dataset };
    },
    /** An evaluation that has ended. */
    async evaluation(name: string): Promise<{ evaluation: string }> {
      const { id } = await ask('POST', '/v1/evaluations', { ...EVALUATED, ...(await this.dataset(name)) });
      await look(`/v1/evaluations/${id}`, ({ status }) => status === 'ended');
      return { evaluation: id };
    },
    /** An evaluation whose run does not end. */
    async runningEvaluation(name: string): Promise<{ evaluation: string }> {
      const { id } = await ask('POST', '/v1/evaluations', { ...EVALUATED, ...(await this.dataset(name, STAYS)) });
      const batch = await look(`/v1/evaluations/${id}`, ({ status, batchId }) => status === 'running' && batchId);
      await look(`/v1/batches/${batch}`, ({ status }) => status === 'running');
      return { evaluation: id };
    },
    /**
     * A bulk action that has begun and does not end: nearly all of its turns do not exist, and it
     * looks at one per second.
     */
    async bulk(): Promise<{ bulk: string }> {
      const ids = Array.from({ length: 500 }, () => crypto.randomUUID());
      const { id } = await ask('POST', '/v1/bulk-actions', { action: 'retry', target: 'turns', ids, perSecond: 1 });
      return { bulk: id };
    },
  };
}

interface Letter {
  id: string;
  turnId: string | null;
  deliveryId: string | null;
}

function letterOf({ items }: { items: { letters: Letter[] }[] }, isWanted: (letter: Letter) => boolean): string | null {
  return items.flatMap(({ letters }) => letters).find(isWanted)?.id ?? null;
}

/** The objects that commands only read. */
async function makeObjects(actions: ReturnType<typeof actionsOf>): Promise<Names> {
  const { ask, look, say, send, fresh } = actions;
  await ask('POST', '/v1/pause', { session: 'waits', reason: 'a test' });
  const [seen, failed, undelivered, , waits, batch, cron, spawned, budget, key, [worker]] = await Promise.all([
    say('seen', '[[tool: session_status {}]] [[reply: Seen it.]]'),
    actions.failed('failing'),
    actions.undelivered('undelivered'),
    say('unpriced', 'hello', { model: 'anthropic/scripted-1' }),
    send('waits', 'Later, please.'),
    actions.endedBatch('tickets'),
    actions.cron('hourly'),
    ask('POST', '/v1/sessions/parent/spawn', { task: '[[reply: Done.]]', label: 'a-task' }),
    ask('POST', '/v1/budgets', { scope: 'agent:main', per: 'day', limitUsd: 100 }),
    ask('POST', '/v1/keys', { name: 'night-shift', role: 'viewer' }),
    ask('GET', '/v1/workers').then(({ items }) => items),
  ]);
  await ask('POST', `/v1/crons/${cron.cron}/run`);
  await look(`/v1/crons/${cron.cron}/fires`, ({ items }) => items[0]?.status === 'completed');
  await look(`/v1/subagents/${spawned.runId}`, ({ status }) => status === 'ok');
  await ask('POST', `/v1/turns/${seen.turnId}/scores`, { score: 'helpful', value: true, note: 'Well done.' });
  const poll = await ask('POST', '/v1/agents/main/heartbeat');
  await look(`/v1/messages/${poll.messageId}`, ({ settledAt }) => settledAt !== null);
  const bulk = await ask('POST', '/v1/bulk-actions', {
    action: 'retry',
    target: 'turns',
    ids: [seen.turnId],
    reason: 'a mistake',
  });
  await look(`/v1/bulk-actions/${bulk.id}`, ({ endedAt }) => endedAt !== null);
  return {
    url: actions.url,
    session: 'seen',
    message: seen.id,
    turn: seen.turnId ?? '',
    failedTurn: failed.turn,
    letter: failed.letter,
    delivery: undelivered.delivery,
    waiting: waits.id,
    batch: batch.batch,
    batchName: batch.name,
    cron: cron.cron,
    cronName: cron.name,
    run: spawned.runId,
    budget: budget.id,
    key: key.id,
    worker: worker.id,
    bulk: bulk.id,
    fresh: fresh('unused'),
  };
}
