// The commands about sessions: what they are called and take. What they do is loaded when they are called.
import { Option, type Command } from 'commander';
import { filteredByTag, paged, wholeNumber, type PageOptions, type RunCommand } from './options.ts';

const WAIT_SECONDS = 300;
const WAIT_SECONDS_MAX = 86_400;
const TAIL_MAX = 200;

interface CompactOptions {
  instructions?: string;
  wait?: number | true;
  idempotencyKey?: string;
}

export interface EraseOptions {
  dryRun?: boolean;
  yes?: boolean;
  reason?: string;
}

export interface SubjectOptions extends EraseOptions {
  channel?: string;
  shared?: 'keep' | 'erase';
}

/** Adds sessions. */
export function addSessionCommands(program: Command, run: RunCommand): void {
  const sessions = program.command('sessions').helpGroup('Look:').description('sessions: conversations');
  addLooks(sessions, run);
  addExport(sessions, run);
  addChanges(sessions, run);
  addErasures(program, sessions, run);
}

function addErasures(program: Command, sessions: Command, run: RunCommand): void {
  const load = () => import('./commands/erase.ts');
  const erasing = (command: Command): Command =>
    command
      .option('--dry-run', 'only count what would be removed')
      .option('--yes', 'remove it without a question')
      .option('--reason <text>', 'the reason, stored in the audit log');
  erasing(
    sessions
      .command('delete')
      .description('erase a session with its subagents: every row and file; for admins')
      .argument('<session>', 'the session key'),
  ).action((key: string, options: EraseOptions, command: Command) =>
    run(command, async (terminal, flags) => (await load()).runSessionsDelete(key, options, flags, terminal)),
  );
  const subjects = program.command('subjects').helpGroup('Look:').description('subjects: the people who write');
  erasing(
    subjects
      .command('delete')
      .description(
        'erase all sessions in which only this person has written; exit 9 if shared sessions are kept; for admins',
      )
      .argument('<sender-id>', 'the sender.id of their messages'),
  )
    .option('--channel <channel>', 'only sessions with their messages of this channel')
    .addOption(
      new Option('--shared <what>', 'sessions in which others have written too')
        .choices(['keep', 'erase'])
        .default('keep'),
    )
    .action((senderId: string, options: SubjectOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSubjectsDelete(senderId, options, flags, terminal)),
    );
}

function addLooks(sessions: Command, run: RunCommand): void {
  const load = () => import('./commands/sessions.ts');
  filteredByTag(paged(sessions.command('list').description('list sessions')))
    .option('--kind <kinds>', 'only of these kinds, separated by commas; by default all but batch')
    .action((options: PageOptions & { kind?: string; tag?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsList(options, flags, terminal)),
    );
  sessions
    .command('show')
    .description('print one session')
    .argument('<session>', 'the session key')
    .action((key: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsShow(key, flags, terminal)),
    );
  paged(
    sessions
      .command('transcript')
      .description('print the transcript, oldest entry first')
      .argument('<session>', 'the session key'),
  )
    .option('--all', 'also entries that are pruned, compacted or hidden')
    .option('--tail <count>', 'only the last entries', wholeNumber(1, TAIL_MAX))
    .action((key: string, options: PageOptions & { all?: boolean; tail?: number }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runTranscript(key, options, flags, terminal)),
    );
}

function addExport(sessions: Command, run: RunCommand): void {
  sessions
    .command('export')
    .description('print everything that is stored about a session, as lines of JSON')
    .argument('<session>', 'the session key')
    .option('--out <file>', 'write to this file instead of stdout')
    .action((key: string, options: { out?: string }, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/sessions-export.ts')).runSessionsExport(key, options, flags, terminal),
      ),
    );
}

function addChanges(sessions: Command, run: RunCommand): void {
  const load = () => import('./commands/transcripts.ts');
  sessions
    .command('abort')
    .alias('stop')
    .description('stop the running turn and its subagents, cancel waiting messages')
    .argument('<session>', 'the session key')
    .option('--keep-queued', 'keep the waiting messages')
    .action((key: string, options: { keepQueued?: boolean }, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/sessions.ts')).runSessionsAbort(key, options, flags, terminal),
      ),
    );
  sessions
    .command('compact')
    .description('compact the transcript as soon as the session is idle')
    .argument('<session>', 'the session key')
    .option('--instructions <text>', 'what the summary should keep')
    .option(
      '--wait [seconds]',
      `wait for the compaction; ${WAIT_SECONDS} seconds by default`,
      wholeNumber(0, WAIT_SECONDS_MAX),
    )
    .option('--idempotency-key <key>', 'a repeated key never compacts twice; generated by default')
    .action((key: string, { wait, ...options }: CompactOptions, command: Command) =>
      run(command, async (terminal, flags) => {
        const waiting = wait === undefined ? {} : { waitSeconds: wait === true ? WAIT_SECONDS : wait };
        return (await load()).runSessionsCompact(key, { ...options, ...waiting }, flags, terminal);
      }),
    );
  sessions
    .command('reset')
    .description('start a new transcript under the same key; the old one is kept')
    .argument('<session>', 'the session key')
    .option('--abort', 'stop a running turn first')
    .action((key: string, options: { abort?: boolean }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsReset(key, options, flags, terminal)),
    );
  sessions
    .command('fork')
    .description('copy a session to a new key; print that key')
    .argument('<session>', 'the session key')
    .argument('<new-key>', 'the key of the copy')
    .option('--until <entry>', 'the last entry to copy; by default all')
    .action((key: string, newKey: string, options: { until?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runSessionsFork(key, newKey, options, flags, terminal)),
    );
}
