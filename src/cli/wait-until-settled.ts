// Sending a message and waiting for its end. The service waits up to its own limit (`Prefer:
// wait`), then the command queries; when the service stops meanwhile, the request is sent again
// with the same idempotency key until the command's own time limit.
import { performance } from 'node:perf_hooks';
import type { AcceptedMessage, SettledMessage } from '../contract/answers.ts';
import type { MessageView, TurnView } from '../contract/views.ts';
import type { CallOptions } from '../client/create-client.ts';
import { pause } from '../clock.ts';
import type { ApiClient } from './api-client.ts';
import { CliError, conflict } from './cli-error.ts';
import { isAway } from './poll-until-end.ts';

/** Longest single wait asked of the service. */
const SERVER_WAIT_SECONDS_MAX = 30;
const POLL_MS = 500;
/** An answer may come this much later than the requested wait. */
const ANSWER_GRACE_MS = 10_000;

/** The message, with its idempotency key: if it is sent again, it is the same message. */
export interface SendRequest {
  sessionKey: string;
  send: (options: CallOptions) => Promise<AcceptedMessage | SettledMessage>;
}

export interface WaitLimits {
  /** On the monotonic clock. */
  deadlineMs: number;
  /** Aborts when the person leaves. */
  signal: AbortSignal;
}

/** `accepted` is null when even that is not known. */
export type WaitResult =
  | { kind: 'settled'; answer: SettledMessage }
  | { kind: 'waitEnded' | 'interrupted'; accepted: AcceptedMessage | null };

/** Sends and waits. Throws when the service refuses, or cannot be reached at the first try. */
export async function waitUntilSettled(api: ApiClient, request: SendRequest, limits: WaitLimits): Promise<WaitResult> {
  let accepted: AcceptedMessage | null = null;
  for (let attempt = 0; ; attempt += 1) {
    try {
      const answer: AcceptedMessage | SettledMessage =
        accepted === null ? await postMessage(request, limits) : await readAgain(api, accepted);
      if ('turn' in answer) return { kind: 'settled', answer };
      accepted = answer;
      if (answer.disposition === 'rejected') throw rejected(answer);
    } catch (error) {
      if (limits.signal.aborted) return { kind: 'interrupted', accepted };
      if (!isAway(error) || attempt === 0) throw error;
    }
    if (performance.now() >= limits.deadlineMs) return { kind: 'waitEnded', accepted };
    await pause(Math.min(POLL_MS, Math.max(1, limits.deadlineMs - performance.now())), limits.signal);
    if (limits.signal.aborted) return { kind: 'interrupted', accepted };
  }
}

function postMessage(request: SendRequest, limits: WaitLimits): Promise<AcceptedMessage | SettledMessage> {
  const leftSeconds = Math.max(0, Math.floor((limits.deadlineMs - performance.now()) / 1000));
  const waitSeconds = Math.min(SERVER_WAIT_SECONDS_MAX, leftSeconds);
  return request.send({ waitSeconds, timeoutMs: ANSWER_GRACE_MS, signal: limits.signal });
}

/** The settled answer of an accepted message, or the message as it is by now. */
async function readAgain(api: ApiClient, accepted: AcceptedMessage): Promise<AcceptedMessage | SettledMessage> {
  const message = await api.getMessage({ id: accepted.message.id });
  return isOpen(message) ? { ...accepted, message } : await readSettled(api, message);
}

/** The answer of a message that has ended. */
export async function readSettled(api: ApiClient, message: MessageView): Promise<SettledMessage> {
  const turn = await readTurn(api, message.turnId);
  return { message, turn, reply: message.reply, output: turn?.output ?? null };
}

/** True while the message waits or is being worked on. */
export function isOpen(message: MessageView): boolean {
  return message.status === 'waiting' || message.status === 'claimed';
}

/** The turn that took a message; null when none did. */
async function readTurn(api: ApiClient, turnId: string | null): Promise<TurnView | null> {
  return turnId === null ? null : api.getTurn({ id: turnId });
}

/** An error for a message that the session did not take. */
export function rejected(answer: AcceptedMessage): CliError {
  return conflict(
    `${answer.message.sessionKey} is busy and its queue mode is reject`,
    'try again later, or send with --mode followup',
    'rejected',
  );
}
