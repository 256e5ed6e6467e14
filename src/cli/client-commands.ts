// Commands that talk to a running service.
import { Option, type Command } from 'commander';
import { paged, wholeNumber, type PageOptions, type RunCommand, type TurnListOptions } from './options.ts';
import { QUEUE_MODES } from '../core/queue-mode.ts';
import { addSessionCommands } from './session-commands.ts';

const WAIT_SECONDS = 300;
const WAIT_SECONDS_MAX = 86_400;

/** Adds send, sessions, messages, turns, deliveries and events. */
export function addClientCommands(program: Command, run: RunCommand): void {
  addSend(program, run);
  addSessionCommands(program, run);
  addMessages(program, run);
  addTurns(program, run);
  addDeliveries(program, run);
  program
    .command('events')
    .helpGroup('Look:')
    .description('live events, until Ctrl-C')
    .option('--session <key>', 'only of this session')
    .option('--types <types>', 'only these, such as turn.started,turn.ended')
    .action((options: { session?: string; types?: string }, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/events.ts')).runEvents(options, flags, terminal),
      ),
    );
}

function addSend(program: Command, run: RunCommand): void {
  program
    .command('send')
    .helpGroup('Talk:')
    .description('send a message to a session; prints its id, or with --wait the reply')
    .argument('<session>', 'its key; without "agent:" in front it is one of the agent main')
    .argument('<text>', 'the message; "-" reads it from stdin')
    .option(
      '--wait [seconds]',
      `wait for the reply, ${WAIT_SECONDS} seconds unless said`,
      wholeNumber(0, WAIT_SECONDS_MAX),
    )
    .option('--stream', 'print the reply as it is written (waits, too)')
    .option('--idempotency-key <key>', 'the same key never sends twice; made up when absent')
    .addOption(new Option('--mode <mode>', 'what happens when the session is busy').choices(QUEUE_MODES))
    .option('--model <model>', 'provider/model or an alias, for this message')
    .option('--thinking <level>', 'for this message')
    .option('--deliver <url>', 'send the reply to this webhook')
    .action((session: string, text: string, options: SendOptions, command: Command) =>
      run(command, async (terminal, flags) => {
        const { runSend } = await import('./commands/send.ts');
        const { wait, stream, ...rest } = options;
        const waitSeconds = wait === true || (wait === undefined && stream === true) ? WAIT_SECONDS : wait;
        const waiting = waitSeconds === undefined ? {} : { waitSeconds };
        return runSend({ ...rest, ...waiting, session, text, isStreaming: stream === true }, flags, terminal);
      }),
    );
}

interface SendOptions {
  wait?: number | true;
  stream?: boolean;
  idempotencyKey?: string;
  mode?: string;
  model?: string;
  thinking?: string;
  deliver?: string;
}

function addTurns(program: Command, run: RunCommand): void {
  const turns = program.command('turns').helpGroup('Look:').description('runs of sessions');
  paged(turns.command('list').description('turns, newest first'))
    .option('--session <key>', 'only of this session')
    .option('--status <status>', 'only with this status, such as failed')
    .option('--kind <kind>', 'only of this kind, such as cron')
    .option('--lane <lane>', 'only of this lane')
    .option('--since <time>', 'only started since then: ISO 8601, or a duration such as 30m')
    .action((options: TurnListOptions, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/turns.ts')).runTurnsList(options, flags, terminal),
      ),
    );
  turns
    .command('show')
    .description('one turn with its steps')
    .argument('<id>', 'its id')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await import('./commands/turns.ts')).runTurnsShow(id, flags, terminal)),
    );
  for (const [verb, description] of [
    ['abort', 'stop it; what waits in its session stays'],
    ['retry', 'repeat the messages of a turn that ended badly'],
  ] as const) {
    turns
      .command(verb)
      .description(description)
      .argument('<id>', 'its id')
      .action((id: string, _options: object, command: Command) =>
        run(command, async (terminal, flags) =>
          (await import('./commands/turns.ts')).runTurnsAction(verb, id, flags, terminal),
        ),
      );
  }
  turns
    .command('watch')
    .description('follow a turn live until it ends; exit 7 or 8 when it ends badly')
    .argument('<id>', 'its id')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/turns-watch.ts')).runTurnsWatch(id, flags, terminal),
      ),
    );
}

function addMessages(program: Command, run: RunCommand): void {
  const messages = program.command('messages').helpGroup('Look:').description('what sessions were sent');
  const load = () => import('./commands/messages.ts');
  paged(messages.command('list').description('messages, newest first'))
    .option('--status <statuses>', 'only with these, such as waiting,failed')
    .option('--ids <ids>', 'only these, separated by commas')
    .action((options: PageOptions & { status?: string; ids?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runMessagesList(options, flags, terminal)),
    );
  messages
    .command('show')
    .description('one message and what became of it')
    .argument('<id>', 'its id')
    .action((id: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runMessagesShow(id, flags, terminal)),
    );
}

function addDeliveries(program: Command, run: RunCommand): void {
  const deliveries = program.command('deliveries').helpGroup('Look:').description('replies on their way out');
  const load = () => import('./commands/deliveries.ts');
  paged(deliveries.command('list').description('deliveries, newest first'))
    .option('--session <key>', 'only of this session')
    .option('--status <status>', 'only with this status, such as failed')
    .action((options: PageOptions & { session?: string; status?: string }, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runDeliveriesList(options, flags, terminal)),
    );
  for (const [verb, description] of [
    ['redrive', 'send it again'],
    ['discard', 'give it up'],
  ] as const) {
    deliveries
      .command(verb)
      .description(description)
      .argument('<id>', 'its id')
      .action((id: string, _options: object, command: Command) =>
        run(command, async (terminal, flags) => (await load()).runDeliveryAction(verb, id, flags, terminal)),
      );
  }
}
