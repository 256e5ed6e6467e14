// The words of the first level in the order of the help. Their commands are loaded when they are called: the help must be instant.
import type { Words } from './command.ts';

/** By each word, and what its command takes: the part of the help that it stands in (null: it is hidden), and its summary. */
type Summaries = Readonly<Record<string, readonly [helpGroup: HelpGroup | null, summary: string]>>;

type HelpGroup = 'Run' | 'Inspect' | 'Talk' | 'Look' | 'Schedule';

/** The files of the commands, with their words. */
export const FILES: readonly (readonly [load: () => Promise<{ words: Words }>, words: Summaries])[] = [
  [
    () => import('./commands/service.ts'),
    {
      'start [options]': ['Run', 'run the service; SIGTERM and Ctrl-C drain it, SIGHUP reads its configuration again'],
      'migrate [options]': ['Run', 'migrate the database to the newest schema'],
      'backup [options] <file>': [
        'Run',
        'write the embedded database and the files of the data directory to a file; works while the service runs',
      ],
      'restore [options] <file>': ['Run', 'restore what "holdfast backup" has written; the service must not run'],
      demo: ['Run', 'show and check messages, tools, crons, subagents and a killed worker, in under a minute'],
      'scripted-model [options]': ['Run', 'run the scripted model server'],
      doctor: ['Inspect', 'check everything that Holdfast needs; exit 1 if a check fails'],
      config: ['Inspect', 'the configuration of this machine'],
      version: ['Inspect', 'print the versions of Holdfast, Node and the platform'],
    },
  ],
  [
    () => import('./commands/send.ts'),
    {
      'send [options] <session> <text>': [
        'Talk',
        'send a message to a session; print its id or, with --wait, the reply',
      ],
    },
  ],
  [
    () => import('./commands/chat.ts'),
    { 'chat [options] [session]': ['Talk', 'talk to an agent; in a pipe, each line is a message'] },
  ],
  [
    () => import('./commands/sessions.ts'),
    {
      sessions: ['Look', 'sessions: conversations'],
      subjects: ['Look', 'subjects: the people who write'],
    },
  ],
  [() => import('./commands/messages.ts'), { messages: ['Look', 'messages that sessions have received'] }],
  [() => import('./commands/turns.ts'), { turns: ['Look', 'turns: the runs of sessions'] }],
  [() => import('../features/deliveries/commands.ts'), { deliveries: ['Look', 'deliveries: the outbox'] }],
  [() => import('./commands/events.ts'), { 'events [options]': ['Look', 'print live events until Ctrl-C'] }],
  [
    () => import('../features/batches/commands/batch.ts'),
    { batch: ['Talk', 'batches: many conversations submitted as one'] },
  ],
  [() => import('../features/crons/commands.ts'), { cron: ['Schedule', 'crons: turns and events by the clock'] }],
  [() => import('../features/heartbeats/commands.ts'), { heartbeats: ['Schedule', 'heartbeats: polls of agents'] }],
  [
    () => import('../features/subagents/commands.ts'),
    {
      'spawn [options] <session> <task>': [
        'Talk',
        'give a task to a new subagent of a session; print the run or, with --wait, the result',
      ],
      subagents: ['Look', 'subagents that sessions have spawned'],
    },
  ],
  [
    () => import('../features/dead-letters/commands.ts'),
    { dead: ['Look', 'dead letters: failed turns and deliveries'] },
  ],
  [
    () => import('../features/bulk-actions/commands.ts'),
    { bulk: ['Look', 'one action on many turns, messages, deliveries or dead letters'] },
  ],
  [
    () => import('../features/costs/commands.ts'),
    {
      'usage [options]': ['Look', 'print usage and costs, oldest first'],
      prices: ['Look', 'what models cost'],
    },
  ],
  [() => import('../features/budgets/commands.ts'), { budgets: ['Look', 'how much model calls may cost'] }],
  [
    () => import('./commands/open.ts'),
    {
      'open [options] [path]': [
        'Look',
        'open the dashboard in the browser, signed in; without a browser, print the address',
      ],
    },
  ],
  [() => import('../features/keys/commands.ts'), { keys: ['Run', 'API keys, with roles (needs an admin key)'] }],
  [
    () => import('./commands/waiting.ts'),
    {
      'waiting [options]': ['Look', 'list waiting messages with their reasons, oldest first'],
      'why <what>': ['Look', 'explain why something waits, and what to do next'],
    },
  ],
  [() => import('../features/overview/commands.ts'), { attention: ['Look', 'problems that need an operator'] }],
  [() => import('./commands/workers.ts'), { workers: ['Look', 'the processes of the service'] }],
  [
    () => import('./commands/pauses.ts'),
    {
      'pause [options]': [
        'Run',
        'start no more turns of a lane, an agent or a session, or none at all; running turns finish',
      ],
      'resume [options]': ['Run', 'end the pause of exactly this scope; without options, all pauses'],
      pauses: ['Look', 'list pauses, oldest first'],
    },
  ],
  [
    () => import('./commands/models.ts'),
    { models: ['Look', 'models that are not called, because their provider has asked for that'] },
  ],
  [
    () => import('./commands/logs.ts'),
    {
      'logs [options]': [
        'Look',
        'print the log files of the data directory, oldest line first; in a pipe as stored, one JSON line per record',
      ],
    },
  ],
  [
    () => import('./commands/completion.ts'),
    {
      'completion <shell>': ['Inspect', 'print the script that makes a shell complete commands, options and ids'],
      __complete: [null, ''],
    },
  ],
];
