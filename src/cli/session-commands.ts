// The commands about sessions: what they are called and take. What they do is loaded when they are called.
import type { Command } from 'commander';
import { paged, wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const WAIT_SECONDS = 300;
const WAIT_SECONDS_MAX = 86_400;
const TAIL_MAX = 200;

interface CompactOptions {
  instructions?: string;
  wait?: number | true;
  idempotencyKey?: string;
}

/** Adds sessions. */
export function addSessionCommands(program: Command, run: RunCommand): void {
  const sessions = program.command('sessions').helpGroup('Look:').description('conversations');
  addLooks(sessions, run);
  addChanges(sessions, run);
}

function addLooks(sessions: Command, run: RunCommand): void {
  const load = () => import('./commands/sessions.ts');
  paged(sessions.command('list').description('sessions')).action((options: PageOptions, command: Command) =>
    run(command, async (terminal, flags) => (await load()).runSessionsList(options, flags, terminal)),
  );
  sessions
    .command('show')
    .description('one session')
    .argument('<session>', 'its key')
    .action((key: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsShow(key, flags, terminal)),
    );
  paged(sessions.command('transcript').description('what was said, oldest first').argument('<session>', 'its key'))
    .option('--all', 'also what is pruned, compacted or hidden')
    .option('--tail <count>', 'only the last so many entries', wholeNumber(1, TAIL_MAX))
    .action((key: string, options: PageOptions & { all?: boolean; tail?: number }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runTranscript(key, options, flags, terminal)),
    );
}

function addChanges(sessions: Command, run: RunCommand): void {
  const load = () => import('./commands/transcripts.ts');
  sessions
    .command('abort')
    .alias('stop')
    .description('stop the running turn and its subagents, and cancel what waits')
    .argument('<session>', 'its key')
    .option('--keep-queued', 'keep what waits')
    .action((key: string, options: { keepQueued?: boolean }, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/sessions.ts')).runSessionsAbort(key, options, flags, terminal),
      ),
    );
  sessions
    .command('compact')
    .description('compact the transcript as soon as the session is idle')
    .argument('<session>', 'its key')
    .option('--instructions <text>', 'what is to be kept in mind')
    .option(
      '--wait [seconds]',
      `wait for its end, ${WAIT_SECONDS} seconds unless said`,
      wholeNumber(0, WAIT_SECONDS_MAX),
    )
    .option('--idempotency-key <key>', 'the same key never asks twice; made up when absent')
    .action((key: string, { wait, ...options }: CompactOptions, command: Command) =>
      run(command, async (terminal, flags) => {
        const waiting = wait === undefined ? {} : { waitSeconds: wait === true ? WAIT_SECONDS : wait };
        return (await load()).runSessionsCompact(key, { ...options, ...waiting }, flags, terminal);
      }),
    );
  sessions
    .command('reset')
    .description('begin a new transcript under the same key; the old one is kept')
    .argument('<session>', 'its key')
    .option('--abort', 'stop a running turn first')
    .action((key: string, options: { abort?: boolean }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsReset(key, options, flags, terminal)),
    );
  sessions
    .command('fork')
    .description('begin a new session with a copy of this one; prints its key')
    .argument('<session>', 'its key')
    .argument('<new-key>', 'the key of the copy')
    .option('--until <entry>', 'the last entry that is taken along; all of them when absent')
    .action((key: string, newKey: string, options: { until?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsFork(key, newKey, options, flags, terminal)),
    );
}
