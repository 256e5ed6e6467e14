// What an API says of channels beside their routes: a note of the readiness for accounts that are
// lost, and metrics.
//
// A lost account does not make the service degraded: other channels and the API work, its messages
// wait, and the platform keeps what people write. The balancer in front of the service must not
// take processes out because a platform is down.
import type { CreateApiPart } from '../../api/part.ts';
import { answerWithin } from '../../api/problem.ts';
import { metricIn } from '../../metrics.ts';
import { ACCOUNT_STATES } from '../../contract/channels.ts';
import { viewChannels, listAccounts } from './accounts.ts';

const SCRAPE_MS_MAX = 3_000;

export const createApiPart: CreateApiPart = ({ config, reads }) => ({
  async readNotes() {
    const channels = await viewChannels(config, reads);
    const lost = channels.flatMap(({ name, accounts }) =>
      accounts.filter(({ state }) => state === 'lost').map(({ accountId }) => `${name}/${accountId}`),
    );
    return lost.length === 0 ? [] : [`the platform of ${lost.join(', ')} is not reached; GET /v1/channels says why`];
  },
  addMetrics(registry) {
    if (listAccounts(config).length === 0) return;
    const accounts = metricIn(registry, 'holdfast_channel_accounts');
    const waiting = metricIn(registry, 'holdfast_channel_waiting_parts');
    const received = metricIn(registry, 'holdfast_channel_last_received_seconds');
    return async () => {
      const channels = await answerWithin(viewChannels(config, reads), SCRAPE_MS_MAX, '').catch(() => []);
      for (const metric of [accounts, waiting, received]) metric.reset();
      for (const { name: channel, accounts: own } of channels) {
        for (const state of ACCOUNT_STATES)
          accounts.set({ channel, state }, own.filter((account) => account.state === state).length);
        for (const { accountId: account, waitingParts, lastReceivedAt } of own) {
          waiting.set({ channel, account }, waitingParts);
          if (lastReceivedAt !== null)
            received.set({ channel, account }, (Date.now() - Date.parse(lastReceivedAt)) / 1_000);
        }
      }
    };
  },
});
