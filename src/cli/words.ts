// The kernel's words of the first level in the order of the help; those of features follow. Their commands are loaded when they are called: the help
// must be instant.
import type { CommandFile } from './command.ts';

/** The files of the commands, with their words. */
export const FILES: readonly CommandFile[] = [
  [
    () => import('./commands/service.ts'),
    {
      'start [options]': ['Run', 'run the service; SIGTERM and Ctrl-C drain it, SIGHUP reads its configuration again'],
      'migrate [options]': ['Run', 'migrate the database to the newest schema'],
      demo: ['Run', 'show and check messages, tools, crons, subagents and a killed worker, in under a minute'],
      'scripted-model [options]': ['Run', 'run the scripted model server'],
      'scripted-platform': ['Run', 'run a chat platform whose people are scripted, to test bots'],
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
  [() => import('./commands/sessions.ts'), { sessions: ['Look', 'sessions: conversations'] }],
  [() => import('./commands/messages.ts'), { messages: ['Look', 'messages that sessions have received'] }],
  [() => import('./commands/turns.ts'), { turns: ['Look', 'turns: the runs of sessions'] }],
  [() => import('./commands/events.ts'), { 'events [options]': ['Look', 'print live events until Ctrl-C'] }],
  [
    () => import('./commands/waiting.ts'),
    {
      'waiting [options]': ['Look', 'list waiting messages with their reasons, oldest first'],
      'why <what>': ['Look', 'explain why something waits, and what to do next'],
    },
  ],
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
    { models: ['Look', 'what is known of models, and which are not called because their provider asked for that'] },
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
      __complete: ['Inspect', ''],
    },
  ],
];
