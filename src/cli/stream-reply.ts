// `send --stream`: the reply as it is written. The event stream is opened before the message is sent, so nothing of it is missed; texts of
// other turns of the session are left out.
import { performance } from 'node:perf_hooks';
import type { AcceptedMessage } from '../contract/answers.ts';
import type { EventHooks } from '../client/create-client.ts';
import type { ApiClient } from './api-client.ts';
import { ChatPrinter } from './chat-printer.ts';
import { watchEvents, type StreamedEvent } from './event-stream.ts';
import type { Terminal } from './terminal.ts';
import {
  isOpen,
  readSettled,
  rejected,
  type SendRequest,
  type WaitLimits,
  type WaitResult,
} from './wait-until-settled.ts';

const TYPES = [
  'message.settled',
  'turn.started',
  'turn.ended',
  'model.delta',
  'model.ended',
  'tool.started',
  'tool.ended',
  'steer.injected',
] as const;

/** Sends, prints text as it arrives (with `--json` each event as a line), and waits for the end of the message. */
export async function streamReply(
  api: ApiClient,
  request: SendRequest,
  limits: WaitLimits & { terminal: Terminal },
): Promise<WaitResult> {
  const time = AbortSignal.timeout(Math.max(1, Math.ceil(limits.deadlineMs - performance.now())));
  const done = new AbortController();
  const signal = AbortSignal.any([limits.signal, time, done.signal]);
  const opened = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<AcceptedMessage>();
  const printer = new ChatPrinter(limits.terminal);
  const isOwn = ownTurns(api);
  const open = (hooks: EventHooks) => api.events({ session: request.sessionKey, types: TYPES, ...hooks });
  const watch = async () => {
    for await (const event of watchEvents(open, { signal, onOpen: opened.resolve })) {
      // Whose events these are is not known before the message has its id; they wait in the stream.
      const { message } = await sent.promise;
      if (event.type === 'message.settled') {
        if (event.data['messageId'] === message.id) return;
      } else if (await isOwn(event, message.id)) printer.take(event);
    }
  };
  const watching = watch();
  let accepted: AcceptedMessage | null = null;
  try {
    await Promise.race([opened.promise, watching]);
    const answer = await request.send({ signal });
    // The answer to the first request with this key, which waited for its end.
    if ('turn' in answer) return { kind: 'settled', answer };
    accepted = answer;
    sent.resolve(accepted);
    if (accepted.disposition === 'rejected') throw rejected(accepted);
    // One that was sent before may have been settled long ago: no event will come.
    if (isOpen(await api.getMessage({ id: accepted.message.id }))) await watching;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    done.abort();
    if (accepted === null) sent.reject(new Error('the message was not sent'));
    await Promise.allSettled([watching, sent.promise]);
    printer.endLine();
  }
  return awaitResult(api, accepted, limits);
}

async function awaitResult(api: ApiClient, accepted: AcceptedMessage | null, limits: WaitLimits): Promise<WaitResult> {
  if (limits.signal.aborted || accepted === null)
    return { kind: limits.signal.aborted ? 'interrupted' : 'waitEnded', accepted };
  const message = await api.getMessage({ id: accepted.message.id });
  if (isOpen(message)) return { kind: 'waitEnded', accepted: { ...accepted, message } };
  return { kind: 'settled', answer: await readSettled(api, message) };
}

/** Whether a turn works on a message: asked again after a steer, which may hand the message to a running turn. */
function ownTurns(api: ApiClient) {
  const known = new Map<string, boolean>();
  return async ({ type, turnId }: StreamedEvent, id: string): Promise<boolean> => {
    if (type === 'steer.injected') known.clear();
    if (turnId === null) return false;
    const isOwn = known.get(turnId) ?? (await api.getMessage({ id })).turnId === turnId;
    known.set(turnId, isOwn);
    return isOwn;
  };
}
