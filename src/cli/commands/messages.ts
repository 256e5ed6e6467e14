// `holdfast messages list|show`: the messages of sessions, and their status.
import type { MessageView as MessageAnswer } from '../../contract/views.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { errorText } from '../error-text.ts';
import type { PageOptions } from '../options.ts';
import { printFields, printList } from '../print.ts';
import type { Style } from '../style.ts';
import type { Terminal } from '../terminal.ts';

const STATUS_STYLES: Record<string, Style> = {
  answered: 'green',
  claimed: 'cyan',
  waiting: 'yellow',
  failed: 'red',
  dropped: 'red',
};

/** Lists messages, newest first. */
export async function runMessagesList(
  options: PageOptions & { status?: string; ids?: string; session?: string; tag?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).listMessages(fromOptions(options));
  printList<MessageAnswer>(
    body,
    [
      { title: 'MESSAGE', value: (row) => row.id },
      { title: 'STATUS', value: (row) => row.status, style: (row) => STATUS_STYLES[row.status] },
      { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 2 },
      { title: 'RECEIVED', value: (row) => terminal.time(row.receivedAt), dropOrder: 3 },
      { title: 'WAITS FOR', value: (row) => row.why?.code ?? '', dropOrder: 4 },
      { title: 'TEXT', value: (row) => row.text, dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  return EXIT.ok;
}

/** Shows one message. */
export async function runMessagesShow(id: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).getMessage({ id });
  if (terminal.isJson) {
    terminal.json(body);
    return EXIT.ok;
  }
  printFields(terminal, {
    message: body.id,
    status: body.status,
    session: body.sessionKey,
    seq: body.seq,
    turn: body.turnId,
    error: errorText(body.error),
    waits: body.why === null ? null : body.why.text,
    received: terminal.time(body.receivedAt),
    settled: body.settledAt === null ? null : terminal.time(body.settledAt),
  });
  terminal.print('');
  terminal.print(body.text);
  if (body.reply !== null) {
    terminal.print('');
    terminal.print(`reply: ${body.reply}`);
  }
  return EXIT.ok;
}
