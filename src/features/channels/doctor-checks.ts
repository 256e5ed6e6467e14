// What the doctor checks of channels: that the platform of each account accepts its token, and that
// nothing is missing among its rights and settings.
import { failure, ok, warning, type Check, type Finding } from '../../cli/doctor/check.ts';
import type { Config } from '../../config.ts';
import { testAccount, listAccounts, type BotAccount } from './accounts.ts';

/** One check for each account. */
export function channelChecks(config: Config): Check[] {
  return listAccounts(config).map((account) => ({
    code: `channel-${account.channel}-${account.account}`,
    title: `bot ${account.channel}/${account.account}`,
    run: () => findingOf(config, account),
  }));
}

async function findingOf(config: Config, account: BotAccount): Promise<Finding> {
  const { botId, botName, error, problems } = await testAccount(config, account);
  if (error !== null)
    return failure(error, `correct channels.${account.channel}.accounts.${account.account}, or reach the platform`);
  const bot = `${botName} (${botId})`;
  return problems.length === 0 ? ok(bot) : warning(`${bot}: ${problems.length} problems`, problems.join('; '));
}
