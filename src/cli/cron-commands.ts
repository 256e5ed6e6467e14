// The commands of crons and heartbeats: what they are called and take. What they do is loaded when they are called.
import { InvalidArgumentError, Option, type Command } from 'commander';
import { paged, wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const SLOTS_DEFAULT = 5;
const SLOTS_MAX = 1000;
const TURN_SECONDS_MAX = 86_400;

/** What `cron add` and `cron edit` take. */
export interface CronOptions {
  name?: string;
  agent?: string;
  cron?: string;
  tz?: string;
  stagger?: string;
  every?: string;
  anchor?: string;
  at?: string;
  message?: string;
  event?: string;
  model?: string;
  thinking?: string;
  timeout?: number;
  target?: string;
  wake?: string;
  misfire?: string;
  deliver?: string;
  deleteAfterRun?: boolean;
  disabled?: boolean;
  idempotencyKey?: string;
}

/** Adds cron and heartbeats. */
export function addCronCommands(program: Command, run: RunCommand): void {
  const cron = program.command('cron').helpGroup('Schedule:').description('what happens by the clock');
  const load = () => import('./commands/cron.ts');
  paged(cron.command('list').description('crons, newest first'))
    .option('--agent <id>', 'only of this agent')
    .action((options: PageOptions & { agent?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runCronList(options, flags, terminal)),
    );
  settings(cron.command('add').description('make a cron; prints its id'))
    .option('--disabled', 'do not let it fire yet')
    .option('--idempotency-key <key>', 'the same key never makes two; made up when absent')
    .action((options: CronOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runCronAdd(options, flags, terminal)),
    );
  settings(cron.command('edit').description('change a cron').argument('<cron>', 'its id or name')).action(
    (id: string, options: CronOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runCronEdit(id, options, flags, terminal)),
  );
  for (const [verb, description] of [
    ['rm', 'delete a cron and its fires'],
    ['pause', 'let it not fire any more'],
    ['resume', 'let it fire again, from now on'],
    ['run', 'run it now; its schedule does not change'],
  ] as const) {
    cron
      .command(verb)
      .description(description)
      .argument('<cron>', 'its id or name')
      .action((id: string, _options: object, command: Command) =>
        run(command, async (terminal, flags) => (await load()).runCronAction(verb, id, flags, terminal)),
      );
  }
  cron
    .command('next')
    .description('its next slots')
    .argument('<cron>', 'its id or name')
    .option('--count <count>', 'so many', wholeNumber(1, SLOTS_MAX), SLOTS_DEFAULT)
    .action((id: string, options: { count: number }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runCronNext(id, options, flags, terminal)),
    );
  paged(
    cron.command('fires').description('what became of its slots, newest first').argument('<cron>', 'its id or name'),
  ).action((id: string, options: PageOptions, command: Command) =>
    run(command, async (terminal, flags) => (await load()).runCronFires(id, options, flags, terminal)),
  );
  addHeartbeats(program, run);
}

function addHeartbeats(program: Command, run: RunCommand): void {
  const heartbeats = program.command('heartbeats').helpGroup('Schedule:').description('polls of agents');
  const load = () => import('./commands/heartbeats.ts');
  paged(heartbeats.command('list').description('polls, newest first'))
    .option('--agent <id>', 'only of this agent')
    .addOption(new Option('--status <status>', 'only with this status').choices(['claimed', 'fired', 'skipped']))
    .action((options: PageOptions & { agent?: string; status?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runHeartbeatsList(options, flags, terminal)),
    );
  heartbeats
    .command('poll')
    .description('poll an agent now')
    .argument('<agent>', 'its id')
    .action((agent: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runHeartbeatsPoll(agent, flags, terminal)),
    );
}

function settings(command: Command): Command {
  return command
    .option('--name <name>', 'its name')
    .option('--agent <id>', 'the agent that it belongs to')
    .option('--cron <expression>', 'when: 5 or 6 fields, such as "0 9 * * 1-5"')
    .option('--tz <zone>', 'with --cron: an IANA zone, such as Europe/Berlin')
    .option('--stagger <duration>', 'with --cron: spread it by up to this much; 0 for exactly')
    .option('--every <duration>', 'when: in steps, such as 10m')
    .option('--anchor <time>', 'with --every: where the steps begin, ISO 8601')
    .option('--at <time>', 'when: once, ISO 8601 or a duration from now such as 20m')
    .option('--message <text>', 'what: a turn with this message')
    .option('--event <text>', 'what: a line in the next prompt')
    .option('--model <model>', 'with --message: provider/model or an alias')
    .option('--thinking <level>', 'with --message')
    .option('--timeout <seconds>', 'with --message: how long the turn may take', wholeNumber(1, TURN_SECONDS_MAX))
    .option('--target <target>', 'main, isolated or session:<key>', target)
    .addOption(new Option('--wake <when>', 'with --event').choices(['now', 'next-heartbeat']))
    .addOption(
      new Option('--misfire <policy>', 'what becomes of missed slots').choices(['run_once', 'run_all', 'skip']),
    )
    .option('--deliver <where>', 'none, last, webhook or a URL')
    .option('--delete-after-run', 'delete it after a successful run');
}

function target(text: string): string {
  if (text === 'main' || text === 'isolated' || text.startsWith('session:')) return text;
  throw new InvalidArgumentError('It must be main, isolated or session:<key>.');
}
