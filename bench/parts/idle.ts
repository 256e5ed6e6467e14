// (y) The statements that a service without any work sends to PostgreSQL, as a proxy in front of it
// counts them: in one process, in one with accounts of a chat platform and an MCP server that are
// not used, and in four processes. All of them have batches of the provider.
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { startPostgresProxy } from '../../test/servers/postgres-proxy.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart, type StartOptions } from '../rig/bench-context.ts';
import { splitRoles } from '../rig/bench-service.ts';
import { nameOfTrip } from '../rig/trip-name.ts';
import { idleStatements } from '../rig/turn-bars.ts';

export const idle: BenchPart = { letter: 'y', title: 'statements of a service that does nothing', run };

/** What each process does once after its start is over by then. */
const settledMs = 5_000;
const namesShown = 12;
const tokens = { pushed: '1001:token', polled: '1002:token' };
const notesServer = fileURLToPath(new URL('../../test/service/rig/notes-server.ts', import.meta.url));

async function run(context: BenchContext): Promise<BarLine[]> {
  const telegram = await startScriptedTelegram({ tokens: Object.values(tokens) });
  const account = { baseUrl: telegram.url, dm: 'open' };
  const pushed = { main: { ...account, token: tokens.pushed, secretToken: 'secret-of-the-webhook' } };
  const polled = { main: { ...account, token: tokens.polled } };
  const settings = {
    channels: {
      pushed: { adapter: 'telegram', mode: 'webhook', accounts: pushed },
      polled: { adapter: 'telegram', mode: 'poll', accounts: polled },
    },
    mcp: { servers: { notes: { command: process.execPath, args: [notesServer], sandbox: 'off' } } },
  };
  try {
    return [
      await measure(context, { name: 'one process', options: {} }),
      await measure(context, { name: 'one process with chats and an MCP server', options: { settings } }),
      await measure(context, { name: 'four processes', options: { roles: splitRoles } }),
    ];
  } finally {
    await telegram.close();
  }
}

async function measure(
  context: BenchContext,
  { name, options }: { name: string; options: StartOptions },
): Promise<BarLine> {
  // What is done once a minute is in the longer one.
  const seconds = context.isQuick ? 20 : 60;
  const databaseUrl = await context.place.createDatabase(name.replaceAll(/\W/g, '_').toLowerCase());
  const { hostname, port } = new URL(databaseUrl);
  const proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  const counts = new Map<string, number>();
  try {
    return await withService(
      context,
      { ...options, env: { DATABASE_URL: proxy.urlFor(databaseUrl) } },
      async (service) => {
        context.say(`${name}: ${seconds} s`);
        await delay(settledMs);
        const stop = proxy.onRoundTrip((trip) => {
          if (trip.outcome === 'pending') return;
          const key = nameOfTrip(trip);
          counts.set(key, (counts.get(key) ?? 0) + trip.sql.length);
        });
        await delay(seconds * 1_000);
        stop();
        const perSecond = (count: number): number => count / seconds / service.pids.length;
        const most = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, namesShown);
        context.say(
          `most often: ${most.map(([key, count]) => `${key} ${formatNumber(perSecond(count))}/s`).join(', ')}`,
        );
        const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
        return {
          part: 'y',
          what: `statements per second and process, ${name}`,
          floor: '',
          holdfast: `${all} in ${seconds} s`,
          measured: perSecond(all),
          unit: '/s',
          bar: idleStatements,
          sense: 'atMost',
        };
      },
    );
  } finally {
    await proxy.close();
  }
}
