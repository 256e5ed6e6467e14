// Goal: whatever fault PostgreSQL has under a busy service, nothing is lost, doubled or given up,
// requests are answered meanwhile, and the service recovers without intervention (G23). Method: a
// PostgreSQL server with one service for each kind of queue, both under load (in the short form
// each is one process); its backends are terminated repeatedly, it is killed and restarted, and it
// is made read-only for a while.
import { setInterval as everyMs } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countInputs } from '../rows/inputs.ts';
import { like } from '../rows/table.ts';
import type { PostgresServer } from '../servers/postgres-server.ts';
import { startTestPostgres } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, queues, type Queue, type ServiceRig } from './rig/service-rig.ts';
import { judge, startLoad, toolLoop, untilQuiet, type SentMessage, type SteadyLoad } from './rig/steady-load.ts';

const sessions = 6;
const pauseMs = 100;
const soonMs = 150_000;
const stormMs = 3_000;
const stormEveryMs = 100;
/** No request takes longer, whatever fault the database has. */
const answeredWithinMs = 90_000;

interface Site {
  queue: Queue;
  rig: ServiceRig;
  api: ServiceApi;
  load: SteadyLoad;
}

let postgres: PostgresServer;
let sites: Site[];

shareAmongTests(async (onEnd) => {
  const server = await startTestPostgres();
  onEnd(() => server.stop());
  postgres = server;
  sites = await Promise.all(
    queues.map(async ({ queue }): Promise<Site> => {
      const databaseUrl = await server.createDatabase(`faults_${queue}`);
      const rig = await openServiceRig({ queue, databaseUrl });
      onEnd(() => rig.close());
      const [front] = await Promise.all([rig.start('api,worker,scheduler'), rig.start('worker')]);
      const site: Site = { queue, rig, api: rig.apiOf(front), load: { answered: () => 0, stop: async () => [] } };
      // Left over from a test that failed before it resumed the server.
      onEnd(() => site.load.stop());
      return site;
    }),
  );
});

describe('under load', () => {
  let faults = 0;

  beforeEach(async () => {
    faults += 1;
    for (const site of sites) {
      const options = { name: nameOf(faults), sessions, pauseMs, script: toolLoop };
      site.load = startLoad([site.api], options);
    }
    await answerMore();
  });

  // The fault of the test is over: both services must recover without intervention.
  afterEach(async () => {
    await answerMore();
    const verdicts = await Promise.all(
      sites.map(async ({ queue, rig, load }) => {
        const messages = await load.stop();
        await untilQuiet(rig, nameOf(faults), soonMs);
        return [queue, [...judgeRefusals(messages), ...(await judge(rig, nameOf(faults), messages))]];
      }),
    );
    expect(Object.fromEntries(verdicts)).toEqual(Object.fromEntries(queues.map(({ queue }) => [queue, []])));
  });

  test('its backends can be terminated repeatedly (G23)', async () => {
    const admin = await connectAsAdmin();
    let ended = 0;
    const endedMin = stormMs / stormEveryMs;
    const until = performance.now() + stormMs;
    for await (const _ of everyMs(stormEveryMs)) {
      if (performance.now() > until && ended > endedMin) break;
      const { rowCount } = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'holdfast%'`,
      );
      ended += rowCount ?? 0;
    }
    await admin.end();
  });

  test('it can be killed and restarted; meanwhile the API answers 503 (G23)', async () => {
    await postgres.kill();
    const answers = await Promise.all(
      sites.flatMap(({ api }) => ['/v1/stats', '/v1/sessions', '/readyz'].map((path) => api.ask('GET', path))),
    );
    const post = ({ api }: (typeof sites)[number]) =>
      api.ask('POST', '/v1/sessions/patient/messages', { text: '[[reply: Yes.]]' }, { 'idempotency-key': 'patient' });
    const posts = sites.map(post);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    for (const { headers, body } of answers.filter((answer) => answer.body.code !== undefined)) {
      expect(body.code).toBe('database_unavailable');
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    await postgres.restart();
    for (const [index, site] of sites.entries()) {
      let answer = await posts[index]!;
      // A request waits for the database no longer than its deadline; a retry with the same key is
      // the same message.
      if (answer.status === 503) answer = await post(site);
      expect(answer.status).toBe(202);
      expect((await site.api.settled(answer.body.message)).status).toBe('answered');
    }
  });

  test('it can be read-only for a while; meanwhile the API answers 503 and still reads (G23)', async () => {
    await setReadOnly(true);
    const begin = performance.now();
    const posts = sites.map(({ api }) =>
      api.ask('POST', '/v1/sessions/readonly/messages', { text: 'x [[reply: Yes.]]' }),
    );
    const reads = await Promise.all(sites.map(({ api }) => api.ask('GET', '/v1/stats')));
    expect(reads.map(({ status }) => status)).toEqual(reads.map(() => 200));
    for (const post of posts) {
      const { status, headers, body } = await post;
      expect({ status, code: body.code }).toEqual({ status: 503, code: 'database_unavailable' });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(performance.now() - begin).toBeLessThan(answeredWithinMs);
    await setReadOnly(false);
    for (const { rig } of sites) {
      expect(await countInputs(rig, { text: like('x %') })).toBe(0);
    }
  });

  /** Waits until each service has answered as many more messages as it has sessions. */
  async function answerMore(): Promise<void> {
    await Promise.all(
      sites.map(({ queue, load }) => {
        const until = load.answered() + sessions;
        return waitUntil(`${queue} answers more`, soonMs, () => load.answered() >= until);
      }),
    );
  }
});

function nameOf(fault: number): string {
  return `fault${fault}`;
}

/** A refused message gets 503 with a short Retry-After. */
function judgeRefusals(messages: SentMessage[]): string[] {
  return messages.flatMap(({ marker, refusals }) =>
    refusals
      .filter(
        ({ status, ms, contentType, retryAfter }) =>
          status !== 503 ||
          ms > answeredWithinMs ||
          contentType?.startsWith('application/problem+json') !== true ||
          !(Number(retryAfter) > 0),
      )
      .map((refusal) => `${marker}: ${JSON.stringify(refusal)}`),
  );
}

async function setReadOnly(isReadOnly: boolean): Promise<void> {
  const admin = await connectAsAdmin();
  await admin.query(
    `alter system ${isReadOnly ? 'set default_transaction_read_only = on' : 'reset default_transaction_read_only'}`,
  );
  await admin.query('select pg_reload_conf()');
  await admin.end();
  // The server tells its processes before it starts one with the new setting.
  await waitUntil(`new connections are read-only: ${isReadOnly}`, soonMs, async () => {
    const client = new pg.Client({ connectionString: postgres.url });
    await client.connect();
    const { rows } = await client.query<{ on: boolean }>(
      `select current_setting('default_transaction_read_only')::boolean as on`,
    );
    await client.end();
    return rows[0]?.on === isReadOnly;
  });
}

async function connectAsAdmin(): Promise<pg.Client> {
  const admin = new pg.Client({ connectionString: postgres.url, options: '-c default_transaction_read_only=off' });
  await admin.connect();
  return admin;
}
