// The commands that run or inspect Holdfast on this machine. Their code is loaded when they run: it
// loads the whole service.
import { arch, platform, release } from 'node:os';
import { InvalidArgumentError } from 'commander';
import type { ConfigChanges } from '../../contract/settings.ts';
import { command, localCommand, prints, type Words } from '../command.ts';
import { readManifest } from '../holdfast-version.ts';
import { parseRate, wholeNumber } from '../options.ts';
import type { Terminal } from '../terminal.ts';

type Change = ConfigChanges['items'][number];

const PROCESSES_SHOWN = 200;
const PORT_MAX = 65_535;
const DAY_MS = 86_400_000;
const MODEL_APIS = ['messages', 'responses', 'chat', 'gemini'] as const;

const address = {
  port: ['--port <port>', 'the port; 0: any free port', wholeNumber(0, PORT_MAX), 0],
  host: ['--host <host>', 'the address to listen on', undefined, '127.0.0.1'],
} as const;

function phoneNumber(text: string): string {
  if (!/^\+\d{5,15}$/.test(text)) throw new InvalidArgumentError('It must be a number such as +4915100000001.');
  return text;
}

export const words: Words = {
  start: localCommand({
    takes: {
      roles: [
        '--roles <roles>',
        'the roles of this process: api, worker, scheduler',
        undefined,
        'api,worker,scheduler',
      ],
      migrate: ['--no-migrate', 'do not migrate the database first; refuse a database whose schema is too old'],
    },
    run: async (options, { terminal }) => (await import('./start.ts')).runStart(options, terminal),
  }),
  migrate: localCommand({
    takes: { plan: ['--plan', 'print the migrations to apply and their locks, and change nothing'] },
    run: async ({ plan }, { terminal }) =>
      (await import('./migrate.ts'))[plan === true ? 'runMigratePlan' : 'runMigrate'](terminal),
  }),
  demo: localCommand({
    run: async (_input, { terminal }) => (await import('./demo.ts')).runDemo(terminal),
  }),
  'scripted-model': localCommand({
    takes: {
      ...address,
      api: ['--api <api>', 'the API whose address is printed; all of them are served', MODEL_APIS, 'messages'],
      batchDelayMs: ['--batch-delay <ms>', 'duration of a message batch', wholeNumber(0, DAY_MS), 1000],
      batchCacheHits: [
        '--batch-cache-hits <rate>',
        'share of cached prefixes that a message batch finds, 0 to 1',
        parseRate,
      ],
      obedient: ['--obedient', 'make every tool call that a page, a file or a tool asks for'],
    },
    run: async (options, { terminal }) => (await import('./scripted.ts')).runScriptedModel(options, terminal),
  }),
  'scripted-platform': {
    telegram: localCommand({
      summary: 'serve the Bot API of Telegram; people write over HTTP below /control/',
      takes: {
        ...address,
        token: ['--token <token>', 'the token of its bot: <id>:<secret>', undefined, '110201543:scripted'],
        privacy: ['--privacy', 'in groups, the bot receives only commands, mentions and answers'],
      },
      run: async (options, { terminal }) => (await import('./scripted.ts')).runTelegram(options, terminal),
    }),
    slack: localCommand({
      summary: 'serve the Web API, the Events API and Socket Mode of Slack; people write over HTTP below /control/',
      takes: address,
      run: async (options, { terminal }) => (await import('./scripted.ts')).runSlack(options, terminal),
    }),
    discord: localCommand({
      summary: 'serve the API and the gateway of Discord; people write over HTTP below /control/',
      takes: address,
      run: async (options, { terminal }) => (await import('./scripted.ts')).runDiscord(options, terminal),
    }),
    signal: localCommand({
      summary: "serve the JSON-RPC of signal-cli's daemon; people write over HTTP below /control/",
      takes: { ...address, number: ['--number <number>', 'the number of the bot', phoneNumber, '+4915100000001'] },
      run: async (options, { terminal }) => (await import('./scripted.ts')).runSignal(options, terminal),
    }),
  },
  doctor: localCommand({
    run: async (_input, { terminal }) => (await import('./doctor.ts')).runDoctor(terminal),
  }),
  config: {
    show: localCommand({
      summary: 'print every setting in use, without secrets',
      takes: { sources: ['--sources', 'print where each setting comes from'] },
      run: async ({ sources }, { terminal }) => (await import('./config.ts')).runConfigShow(sources === true, terminal),
    }),
    diff: command({
      summary: 'print the differences between the running configuration and the file, and which need a restart',
      run: prints('compareConfig', ({ items }, terminal) =>
        printChanges(items, 'after "holdfast config reload"', terminal),
      ),
    }),
    reload: command({
      summary: 'reload the configuration in the API process; SIGHUP reloads it in any process',
      async run(_input, api, terminal) {
        const answer = await api.reloadConfig({ body: { reload: true } });
        if (terminal.isJson) return terminal.json(answer);
        printChanges(answer.items, 'now', terminal);
        // Each other process has its own configuration.
        const { items } = await api.listWorkers({ limit: PROCESSES_SHOWN });
        for (const { host, pid, roles, state } of items) {
          if (state === 'lost' || (pid === answer.pid && host === answer.host)) continue;
          terminal.note(`not reloaded: process ${pid} on ${host} (${roles.join(',')}); send it SIGHUP, or restart it`);
        }
      },
    }),
    validate: localCommand({
      summary: 'list all faults of the configuration; exit 3 if there are any',
      run: async (_input, { terminal }) => (await import('./config.ts')).runConfigValidate(terminal),
    }),
  },
  version: localCommand({
    async run(_input, { terminal }) {
      const { version, dependencies } = readManifest();
      const facts = {
        node: process.versions.node,
        platform: `${platform()} ${release()} ${arch()}`,
        bullmq: dependencies['bullmq'],
        anthropicSdk: dependencies['@anthropic-ai/sdk'],
      };
      if (terminal.isJson) return terminal.json({ version, ...facts });
      for (const [name, value] of Object.entries({ holdfast: version, ...facts })) terminal.print(`${name} ${value}`);
    },
  }),
};

function printChanges(changes: readonly Change[], when: string, terminal: Terminal): void {
  if (changes.length === 0) terminal.note('the running configuration is that of the file and the environment');
  else {
    terminal.table<Change>(
      [
        { title: 'SETTING', value: (row) => row.path },
        { title: 'RUNNING', value: (row) => JSON.stringify(row.value) },
        { title: 'FILE', value: (row) => JSON.stringify(row.next) },
        {
          title: 'TAKES EFFECT',
          value: (row) => (isWithoutEffect(row) ? 'never' : row.needsRestart ? 'after a restart' : when),
          style: (row) => (row.needsRestart || isWithoutEffect(row) ? 'yellow' : undefined),
        },
      ],
      changes,
    );
    if (changes.some(isWithoutEffect))
      terminal.note('the file no longer has budgets: the budgets stay in force; "budgets: []" ends them');
  }
}

/** A service of an earlier version does not say it. */
function isWithoutEffect({ hasEffect }: { hasEffect?: boolean }): boolean {
  return hasEffect === false;
}
