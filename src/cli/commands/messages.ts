// `holdfast messages`: the messages of sessions, and their status.
import { command, lists, prints, type Words } from '../command.ts';
import { errorText, printFields } from '../print.ts';
import { ITS_ID, pages, TAG_FILTER } from '../options.ts';
import type { Style } from '../table.ts';

const STATUS_STYLES: Record<string, Style> = {
  answered: 'green',
  claimed: 'cyan',
  waiting: 'yellow',
  failed: 'red',
  dropped: 'red',
};

export const words: Words = {
  messages: {
    list: command({
      summary: 'list messages, newest first',
      takes: {
        ...pages(),
        ...TAG_FILTER,
        status: ['--status <statuses>', 'only these statuses, such as waiting,failed'],
        ids: ['--ids <ids>', 'only these ids, separated by commas'],
        session: ['--session <key>', 'only this session'],
      },
      run: lists('listMessages', (terminal) => [
        { title: 'MESSAGE', value: (row) => row.id },
        { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
        { title: 'SESSION', value: (row) => row.sessionTitle, dropOrder: 2, isProse: true },
        { title: 'RECEIVED', value: (row) => terminal.time(row.receivedAt), dropOrder: 3 },
        { title: 'WAITS FOR', value: (row) => row.why?.code, dropOrder: 4 },
        { title: 'WHAT', value: (row) => row.title, dropOrder: 1, isProse: true },
      ]),
    }),
    show: command({
      summary: 'print one message and its outcome',
      takes: ITS_ID,
      run: prints('getMessage', (message, terminal) => {
        printFields(terminal, {
          message: message.id,
          status: message.status,
          session: message.sessionKey,
          seq: message.seq,
          turn: message.turnId,
          error: errorText(message.error),
          waits: message.why?.text,
          received: terminal.time(message.receivedAt),
          settled: message.settledAt === null ? null : terminal.time(message.settledAt),
        });
        terminal.print(`\n${message.text}`);
        if (message.reply !== null) terminal.print(`\nreply: ${message.reply}`);
      }),
    }),
  },
};
