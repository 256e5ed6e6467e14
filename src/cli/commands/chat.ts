// `holdfast chat`: a conversation with an agent. At a terminal, lines are sent as they are typed, also while a turn runs; in a pipe, each line is
// a message that waits for the answer to the one before.
import { createInterface, type Interface } from 'node:readline';
import type { MessageView } from '../../contract/views.ts';
import type { ApiClient } from '../api-client.ts';
import { ChatPrinter } from '../chat-printer.ts';
import { ChatSession } from '../chat-session.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { command, type InputOf, type Words } from '../command.ts';
import { printParts } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import { reportEnd } from './send.ts';

const TAKES = {
  key: ['[session]', 'the session key', undefined, 'main'],
  showContext: ['--show-context', 'print the parts of each prompt, with their origin and trust'],
} as const;

type Input = InputOf<typeof TAKES>;

export const words: Words = {
  chat: command({
    takes: TAKES,
    run: chatWith,
  }),
};

interface Chat {
  api: ApiClient;
  session: ChatSession;
  printer: ChatPrinter;
  terminal: Terminal;
  stop: AbortController;
  showsContext: boolean;
}

/** Talks until the end of the input. The exit code is that of the last message. */
async function chatWith({ key, showContext = false }: Input, api: ApiClient, terminal: Terminal): Promise<ExitCode> {
  const stop = new AbortController();
  const printer = new ChatPrinter(terminal);
  const session = new ChatSession({ api, key, printer, stop: stop.signal });
  const opened = Promise.withResolvers<void>();
  const following = session.follow(opened.resolve);
  await Promise.race([opened.promise, following]);
  const chat = { api, session, printer, terminal, stop, showsContext: showContext };
  const isAttended = process.stdin.isTTY === true;
  const lines = createInterface({
    input: process.stdin,
    ...(isAttended ? { output: process.stderr, prompt: '> ' } : {}),
  });
  const talking = isAttended ? talk(chat, lines) : readPipe(chat, lines);
  try {
    return await Promise.race([talking, following.then(() => EXIT.interrupted)]);
  } finally {
    stop.abort();
    lines.close();
    await Promise.allSettled([talking, following]);
    printer.endLine();
  }
}

/** One message after the other. */
async function readPipe(chat: Chat, lines: Interface): Promise<ExitCode> {
  process.once('SIGINT', () => chat.stop.abort());
  let exit: ExitCode = EXIT.ok;
  for await (const line of lines) {
    if (line.trim() === '') continue;
    const message = await chat.session.send(line);
    if (message === null) return EXIT.interrupted;
    exit = await report(chat, message);
  }
  return exit;
}

/** Messages as they are typed. Resolves when the person leaves. */
function talk(chat: Chat, lines: Interface): Promise<ExitCode> {
  const { session, printer, terminal } = chat;
  const left = Promise.withResolvers<ExitCode>();
  let last: ExitCode = EXIT.ok;
  terminal.note(`session ${session.key}; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves`);
  lines.prompt();
  lines.on('line', (line) => {
    if (line.trim() === '') return lines.prompt();
    session
      .send(line)
      .then(async (message) => {
        if (message !== null) last = await report(chat, message);
        lines.prompt();
      })
      .catch(left.reject);
  });
  lines.on('SIGINT', () => {
    if (printer.runningTurn === null) return left.resolve(EXIT.interrupted);
    printer.note('stopping the turn; Ctrl-C again leaves');
    chat.api.abortSession({ key: session.key, body: { queued: 'keep' } }).catch(left.reject);
    lines.removeAllListeners('SIGINT').on('SIGINT', () => left.resolve(EXIT.interrupted));
  });
  lines.on('close', () => left.resolve(last));
  return left.promise;
}

/** Prints what the events have not shown: replies of commands, ends without an answer, the context. */
async function report({ api, printer, terminal, showsContext }: Chat, message: MessageView): Promise<ExitCode> {
  printer.endLine();
  if (terminal.isJson) terminal.jsonLine({ type: 'result', message });
  else if (message.reply !== null && !printer.hasSpoken(message.turnId)) printer.print(message.reply);
  if (showsContext && message.turnId !== null) await printContext(api, message.turnId, terminal);
  return reportEnd(message, null, terminal);
}

/** The input of the turn's first call, without the model's own earlier text. */
async function printContext(api: ApiClient, id: string, terminal: Terminal): Promise<void> {
  const turn = await api.getTurn({ id });
  if (turn.steps.length === 0) return;
  const { parts } = await api.getModelRequest({ id, n: 1 });
  printParts(
    parts.filter(({ trust }) => trust !== 'model'),
    terminal.note,
    { width: terminal.width, paint: (_, text) => text },
  );
}
