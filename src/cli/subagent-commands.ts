// Commands about subagents.
import { Option, type Command } from 'commander';
import type { SpawnInput } from './commands/spawn.ts';
import { wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const PAGE_ITEMS = 50;
const PAGE_ITEMS_MAX = 1000;
const WAIT_SECONDS = 300;
const SECONDS_MAX = 604_800;

interface SpawnOptions extends Omit<SpawnInput, 'session' | 'task' | 'waitSeconds'> {
  wait?: number | true;
}

/** Adds spawn and subagents. */
export function addSubagentCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/spawn.ts');
  program
    .command('spawn')
    .helpGroup('Talk:')
    .description('give a task to a subagent of a session; prints its run, or with --wait its result')
    .argument('<session>', 'whom the result is announced to; without "agent:" in front it is one of the agent main')
    .argument('<task>', 'the task; "-" reads it from stdin')
    .option('--wait [seconds]', `wait for its end, ${WAIT_SECONDS} seconds unless said`, wholeNumber(0, SECONDS_MAX))
    .option('--label <label>', 'a short name')
    .option('--agent <id>', 'the agent that does it; that of the session unless said')
    .option('--model <model>', 'provider/model or an alias')
    .option('--thinking <level>', 'how much it thinks')
    .option('--timeout <seconds>', 'stop it after so long; 0: never', wholeNumber(0, SECONDS_MAX))
    .addOption(new Option('--cleanup <what>', 'of its session when it is done').choices(['keep', 'delete']))
    .addOption(new Option('--mode <mode>', 'session: it takes further tasks').choices(['run', 'session']))
    .option('--deliver <url>', 'send the answer to its announcement to this webhook')
    .option('--idempotency-key <key>', 'the same key never spawns twice; made up when absent')
    .action((session: string, task: string, options: SpawnOptions, command: Command) =>
      run(command, async (terminal, flags) => {
        const { wait, ...rest } = options;
        const waiting = wait === undefined ? {} : { waitSeconds: wait === true ? WAIT_SECONDS : wait };
        return (await load()).runSpawn({ ...rest, ...waiting, session, task }, flags, terminal);
      }),
    );
  const subagents = program.command('subagents').helpGroup('Look:').description('what sessions have spawned');
  subagents
    .command('list')
    .description('the subagents of a session, the youngest first')
    .argument('<session>', 'whose')
    .option('--limit <count>', 'at most so many', wholeNumber(1, PAGE_ITEMS_MAX), PAGE_ITEMS)
    .option('--cursor <cursor>', 'continue after the page that named this')
    .action((session: string, options: PageOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSubagentsList(session, options, flags, terminal)),
    );
  subagents
    .command('kill')
    .description('stop one, and everybody below it')
    .argument('<run>', 'its id')
    .action((runId: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSubagentsKill(runId, flags, terminal)),
    );
  subagents
    .command('steer')
    .description('say something to one; it reads that at its next step')
    .argument('<run>', 'its id')
    .argument('<text>', 'what is to be said; "-" reads it from stdin')
    .action((runId: string, text: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSubagentsSteer(runId, text, flags, terminal)),
    );
}
