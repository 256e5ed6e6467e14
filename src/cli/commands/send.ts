// `holdfast send`: a message to a session, and with --wait or --stream the way to its end. Every send carries an idempotency key and the
// wait outlives a restart of the service: asking again never sends twice. Leaving early (Ctrl-C, the wait's end) cancels nothing.
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { MessageView as MessageAnswer, TurnView as TurnAnswer } from '../../contract/views.ts';
import type { SettledMessage as SettledMessageAnswer } from '../../contract/answers.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { errorText } from '../error-text.ts';
import { interruption } from '../poll-until-end.ts';
import { readArgument } from '../read-argument.ts';
import { streamReply } from '../stream-reply.ts';
import type { Terminal } from '../terminal.ts';
import { waitUntilSettled, type SendRequest } from '../wait-until-settled.ts';

export interface SendInput {
  session: string;
  /** `-`: from stdin. */
  text: string;
  /** Absent: do not wait. */
  waitSeconds?: number;
  isStreaming: boolean;
  idempotencyKey?: string;
  mode?: string;
  model?: string;
  thinking?: string;
  deliver?: string;
  tag?: Record<string, string>;
}

/** Sends, waits if asked to, prints the message's id or the reply. */
export async function runSend(input: SendInput, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const api = connectApi(flags);
  const body = await bodyOf(input);
  const idempotencyKey = input.idempotencyKey ?? randomUUID();
  const request: SendRequest = {
    sessionKey: input.session,
    send: (options) => api.sendMessage({ key: input.session, body: fromOptions(body) }, { ...options, idempotencyKey }),
  };
  if (input.waitSeconds === undefined) return sendOnly(request, terminal);
  const deadlineMs = performance.now() + input.waitSeconds * 1000;
  const signal = interruption();
  const result = input.isStreaming
    ? await streamReply(api, request, { deadlineMs, signal, terminal })
    : await waitUntilSettled(api, request, { deadlineMs, signal });
  if (result.kind === 'settled') return reportSettled(result.answer, { wasStreamed: input.isStreaming, terminal });
  if (terminal.isJson) terminal.json(result.accepted ?? {});
  else if (result.accepted !== null)
    terminal.note(`it continues: holdfast turns list --session ${result.accepted.message.sessionKey}`);
  if (result.kind === 'interrupted') return EXIT.interrupted;
  terminal.note(`no answer within ${input.waitSeconds} s`);
  return EXIT.waitEnded;
}

async function bodyOf(input: SendInput): Promise<Record<string, unknown>> {
  const text = await readArgument(input.text);
  if (text.trim() === '') {
    throw new CliError({
      code: 'empty_message',
      exitCode: EXIT.usage,
      message: 'the message is empty',
      fix: 'pass a text, or pass "-" and pipe one in',
    });
  }
  const { mode, model, thinking, deliver, tag } = input;
  return { text, mode, model, thinking, tags: tag, deliver: deliver === undefined ? undefined : { url: deliver } };
}

async function sendOnly(request: SendRequest, terminal: Terminal): Promise<ExitCode> {
  const body = await request.send({});
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.message.id);
  if ('turn' in body) {
    // The answer to the first request with this key, which waited for its end.
    terminal.note(`sent before; it is ${body.message.status}`);
    return EXIT.ok;
  }
  terminal.note(`${body.disposition} for ${body.message.sessionKey}; ${body.session.waitingMessages} waiting`);
  return body.disposition === 'rejected' ? EXIT.conflict : EXIT.ok;
}

/** Prints how the message ended; the exit code says it, too. */
function reportSettled(answer: SettledMessageAnswer, how: { wasStreamed: boolean; terminal: Terminal }): ExitCode {
  const { terminal, wasStreamed } = how;
  const reply = answer.reply ?? answer.message.reply;
  if (terminal.isJson) {
    if (wasStreamed) terminal.jsonLine({ type: 'result', ...answer });
    else terminal.json(answer);
  } else if (reply !== null && !wasStreamed) {
    terminal.print(reply);
  }
  return reportEnd(answer.message, answer.turn, terminal);
}

/** Notes an end that is no answer, with its reason; answers with the exit code that says the same. */
export function reportEnd(message: MessageAnswer, turn: TurnAnswer | null, terminal: Terminal): ExitCode {
  const reason = errorText(message.error) ?? errorText(turn?.error) ?? 'no reason given';
  const look = message.turnId === null ? '' : `\nFix: run "holdfast turns show ${message.turnId}" to see what happened`;
  switch (message.status) {
    case 'answered':
      return EXIT.ok;
    case 'silent':
      terminal.note('no reply, by decision of the agent (silent)');
      return EXIT.ok;
    case 'cancelled':
      terminal.note(`cancelled: ${reason}${look}`);
      return EXIT.turnAborted;
    case 'failed':
      terminal.note(`the turn ${turn?.status ?? 'failed'}: ${reason}${look}`);
      return turn?.status === 'aborted' || turn?.status === 'timedOut' ? EXIT.turnAborted : EXIT.turnFailed;
    case 'dropped':
      terminal.note(`dropped: ${reason}${look}`);
      return EXIT.failed;
    case 'waiting':
    case 'claimed':
      return EXIT.waitEnded;
  }
}
