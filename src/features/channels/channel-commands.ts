// `holdfast channels`: the accounts of bots on chat platforms.
import { CHANNEL_ADAPTERS, CHANNEL_MODES, DM_POLICIES } from '../../config/schema-channels.ts';
import { CliError, EXIT } from '../../cli/cli-error.ts';
import { command, localCommand, prints, type Words } from '../../cli/command.ts';
import { printTable } from '../../cli/print.ts';

const NAME = ['<channel>', 'its name in the configuration'] as const;
const ACCOUNT = ['[account]', 'the name of an account in the configuration', undefined, 'main'] as const;

export const words: Words = {
  channels: {
    list: command({
      summary: 'list the channels of the configuration, with the state of their accounts',
      async run(_input, api, terminal) {
        const answer = await api.call('listChannels', {});
        const rows = answer.items.flatMap(({ accounts, ...channel }) =>
          accounts.map((account) => ({ ...channel, ...account })),
        );
        if (terminal.isJson) return terminal.json(answer);
        printTable(
          { items: rows, nextCursor: null },
          [
            { title: 'ACCOUNT', value: (row) => `${row.name}/${row.accountId}` },
            { title: 'PLATFORM', value: (row) => row.adapter, dropOrder: 3 },
            { title: 'MODE', value: (row) => row.mode, dropOrder: 4 },
            { title: 'STATE', value: (row) => row.state, style: (row) => (row.state === 'lost' ? 'red' : 'green') },
            {
              title: 'RECEIVED',
              value: (row) => (row.lastReceivedAt === null ? 'never' : terminal.time(row.lastReceivedAt)),
              dropOrder: 2,
            },
            { title: 'WAITING', value: (row) => row.waitingParts },
            { title: 'PROBLEM', value: (row) => row.lastError ?? '', dropOrder: 1, isProse: true },
          ],
          terminal,
        );
        if (rows.length === 0)
          terminal.note('the configuration has no channels; add one with: holdfast channels add telegram');
      },
    }),
    add: localCommand({
      summary: 'connect a bot: asks for its token, checks it, and writes it to the configuration file',
      takes: {
        adapter: ['<platform>', 'the platform', Object.keys(CHANNEL_ADAPTERS)],
        name: ['--name <channel>', 'the name of the channel in the configuration; by default that of the platform'],
        account: ['--account <account>', 'the name of the account in the configuration', undefined, 'main'],
        mode: [
          '--mode <mode>',
          'how messages come in; by default poll for Telegram, and socket for the others',
          CHANNEL_MODES,
        ],
        dm: ['--dm <policy>', 'who may write in direct chats', DM_POLICIES, 'pairing'],
        tokenEnv: [
          '--token-env <variable>',
          'write the name of this variable instead of the token, and read the token from it',
        ],
        baseUrl: ['--base-url <url>', "where the platform's API is; by default its public address"],
      },
      async run(input, { terminal }) {
        const { addChannel } = await import('./add-channel.ts');
        return await addChannel(input, terminal);
      },
    }),
    test: command({
      summary: 'ask the platform of an account who the bot is, and what is wrong with its rights and settings',
      takes: { name: NAME, account: ACCOUNT },
      run: prints('testChannel', ({ botId, botName, error, problems }, terminal, { name, account }) => {
        if (error === null && problems.length === 0) return `${name}/${account} is ${botName} (${botId})`;
        if (error === null) terminal.note(`${name}/${account} is ${botName} (${botId})`);
        throw new CliError({
          code: 'channel_test_failed',
          exitCode: EXIT.failed,
          message: error ?? problems.join('\n'),
          fix:
            error === null
              ? 'change what is named above, then test again'
              : `correct channels.${name}.accounts.${account}`,
        });
      }),
    }),
    pause: command({
      summary: 'let an account neither read nor send; what is to be sent waits',
      takes: { name: NAME, account: ACCOUNT },
      run: prints('pauseChannel', ({ channel, accountId }) => `${channel}/${accountId} is paused`),
    }),
    resume: command({
      summary: 'end the pause of an account',
      takes: { name: NAME, account: ACCOUNT },
      run: prints('resumeChannel', ({ channel, accountId }) => `${channel}/${accountId} reads and sends`),
    }),
  },
};
