// A service that does nothing sends few statements: what waits for work asks for it together
// (docs/decisions/0123).
import { expect, test } from 'vitest';
import { startScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { telegramChannel } from '../features/channels/channel-rig.ts';
import { kindOf } from '../crash/rig/statement-kinds.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { countingServer } from '../features/mcp/mcp-rig.ts';
import { readEventData } from '../rows/channels.ts';
import { startPostgresProxy, type PostgresProxy } from '../servers/postgres-proxy.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { openServiceRig, type ServiceRig } from './rig/service-rig.ts';

const SOON_MS = 150_000;
const PER_SECOND_MAX = 5;
/** A process reports itself every 3 s; what is done each minute is spread over so many. */
const REPORTS = 11;

let rig: ServiceRig;
let proxy: PostgresProxy;

shareAmongTests(async (onEnd) => {
  const telegram = await startScriptedTelegram();
  onEnd(() => telegram.close());
  const notes = await countingServer();
  onEnd(() => notes.remove());
  rig = await openServiceRig({
    queue: 'postgres',
    config: {
      channels: telegramChannel(telegram, 'poll'),
      mcp: { servers: { notes: notes.settings } },
      budgets: [{ scope: 'all', per: 'day', limitUsd: 100 }],
      tools: { approvals: { rules: [{ tools: ['exec'] }] }, externalWebhook: 'http://127.0.0.1:9/' },
      agents: { defaults: { heartbeat: { every: '1h' } } },
    },
  });
  onEnd(() => rig.close());
  const { hostname: host, port } = new URL(rig.databaseUrl);
  proxy = await startPostgresProxy({ host, port: Number(port) });
  onEnd(() => proxy.close());
});

/**
 * The statements of all pools from now on until the process has reported itself so often, by their
 * kind, and how many there are in a second.
 */
async function countStatements(reports: number): Promise<{ perSecond: number; kinds: Record<string, number> }> {
  const kinds: Record<string, number> = {};
  let [statements, reported, beginMs, endMs] = [0, 0, 0, 0];
  const stop = proxy.onRoundTrip((trip) => {
    if (trip.outcome !== 'pending') return;
    if (trip.tag === 'report-worker') {
      reported += 1;
      endMs = trip.startedAt;
      if (reported === 1) beginMs = endMs;
    }
    if (reported === 0 || reported > reports) return;
    statements += trip.sql.length;
    kinds[kindOf(trip)] = (kinds[kindOf(trip)] ?? 0) + trip.sql.length;
  });
  await waitUntil('the process has reported itself', SOON_MS, () => reported > reports);
  stop();
  return { perSecond: statements / ((endMs - beginMs) / 1_000), kinds };
}

test('a process with all roles, a channel, an MCP server and a paused batch sends at most 5 statements a second', async () => {
  const env = { DATABASE_URL: proxy.urlFor(rig.databaseUrl), HOLDFAST_RECONCILE_MS: '1000' };
  const api = rig.apiOf(await rig.start('api,worker,scheduler', { env }));
  const items = Array.from({ length: 5 }, (_, n) => ({ text: `[[reply: ${n}]] ${n}` }));
  const { body: batch } = await api.ask('POST', '/v1/batches', {
    name: 'quiet',
    concurrency: 1,
    pilot: 1,
    maxFailurePercent: 100,
    items,
  });
  expect((await api.ask('POST', `/v1/batches/${batch.id}/pause`, {})).status).toBe(200);
  await waitUntil(
    'nothing of the batch is in flight, and the channel and the server are connected',
    SOON_MS,
    async () => {
      const { body } = await api.ask('GET', `/v1/batches/${batch.id}`);
      const connected = [
        ...(await readEventData(rig, 'channel.connected')),
        ...(await readEventData(rig, 'mcp.connected')),
      ];
      return body.status === 'paused' && body.counts.running + body.counts.waiting === 0 && connected.length === 2;
    },
  );
  const { perSecond, kinds } = await countStatements(REPORTS);
  expect(perSecond, JSON.stringify(kinds)).toBeLessThanOrEqual(PER_SECOND_MAX);
});
