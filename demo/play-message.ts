// Sends a message and shows its turn live: each tool call with its end, the reply while it is
// written. Resolves when the turn has ended.
import { randomUUID } from 'node:crypto';
import type { AcceptedMessage } from '../src/contract/answers.ts';
import type { MessageView, TurnView } from '../src/contract/views.ts';
import type { StreamedEvent } from '../src/cli/event-stream.ts';
import type { EventChoice } from '../src/client/create-client.ts';
import { isOpen } from '../src/cli/wait-until-settled.ts';
import type { Scene } from './chapter.ts';
import { EventWatch } from './event-watch.ts';
import type { LiveStep } from './progress.ts';
import { messageTextOf, type ScriptedMessage } from './script.ts';

export interface PlayedMessage {
  message: MessageView;
  turn: TurnView;
  /** Of this session, from the acceptance of the message to the end of its turn. */
  events: StreamedEvent[];
  idempotencyKey: string;
}

export interface PlayOptions {
  sessionKey: string;
  script: ScriptedMessage;
  /** Called with each event; answers true when it has shown the event itself. */
  show?: (event: StreamedEvent, live: LiveCall) => Promise<boolean>;
  /** Brings the text to the session; absent: the API does. */
  send?: (text: string) => Promise<void>;
}

/** The line of the tool call that runs now, if one does. */
export interface LiveCall {
  step: LiveStep | null;
}

/** Plays one message to its end. */
export async function playMessage(scene: Scene, options: PlayOptions): Promise<PlayedMessage> {
  const { stage, progress, record } = scene;
  const { sessionKey, script } = options;
  const watch = await EventWatch.open(stage.api, { session: sessionKey }, stage.signal);
  try {
    const idempotencyKey = randomUUID();
    progress.say('user', script.text);
    const text = messageTextOf(script);
    await (options.send?.(text) ?? sendMessage(scene, { sessionKey, text, idempotencyKey }));
    const events = await showUntilEnded(scene, watch, options);
    const id = String(events[0]?.data['messageId']);
    record.inputs.set(id, 'answered');
    const message = await stage.read<MessageView>(`/v1/messages/${id}`);
    const turn = await stage.read<TurnView>(`/v1/turns/${message.turnId}`);
    return { message, turn, events, idempotencyKey };
  } finally {
    watch.close();
  }
}

export interface SentMessage {
  sessionKey: string;
  text: string;
  idempotencyKey: string;
  /** Further fields of the message. */
  more?: { mode?: 'steer' | 'interrupt'; deliver?: { url: string } };
}

/** Posts a message; resolves when it is committed. */
export async function sendMessage(
  { stage: { api, signal } }: Scene,
  { sessionKey: key, text, idempotencyKey, more = {} }: SentMessage,
): Promise<AcceptedMessage> {
  const answer = await api.call('sendMessage', { key, text, ...more }, { idempotencyKey, signal });
  // It does not wait for the end of the message.
  return answer as AcceptedMessage;
}

/** Resolves with the message when it has ended. */
export async function settledMessage({ stage }: Scene, sessionKey: string, id: string): Promise<MessageView> {
  const choice: EventChoice = { session: sessionKey, types: ['message.settled'] };
  const watch = await EventWatch.open(stage.api, choice, stage.signal);
  try {
    for (;;) {
      // The first read happens after the stream is open, so an end is seen in one of the two.
      const message = await stage.read<MessageView>(`/v1/messages/${id}`);
      if (!isOpen(message)) return message;
      while ((await watch.next()).data['messageId'] !== id);
    }
  } finally {
    watch.close();
  }
}

async function showUntilEnded(
  scene: Scene,
  watch: EventWatch,
  { script, show }: PlayOptions,
): Promise<StreamedEvent[]> {
  const { progress } = scene;
  const events: StreamedEvent[] = [];
  const live: LiveCall = { step: null };
  for (;;) {
    const event = await watch.next();
    // A new stream may begin with the end of an earlier turn: it is committed, but no stream shows
    // it while an older transaction is open.
    if (events.length === 0 && event.type !== 'message.accepted') continue;
    events.push(event);
    const isShown = (await show?.(event, live)) ?? false;
    if (!isShown) showEvent(event, live, scene, script);
    if (event.type !== 'turn.ended') continue;
    if (typeof event.data['reply'] === 'string') progress.replied(event.data['reply']);
    return events;
  }
}

function showEvent(event: StreamedEvent, live: LiveCall, { progress }: Scene, script: ScriptedMessage): void {
  switch (event.type) {
    case 'tool.started':
      // One call per step, so the step's number finds its label.
      live.step = progress.begin(script.steps[Number(event.data['step']) - 1]?.label ?? String(event.data['name']));
      break;
    case 'tool.ended':
      if (event.data['status'] === 'done') live.step?.done();
      else live.step?.end(event.data['status'] === 'unknown' ? 'unknown' : 'failed');
      live.step = null;
      break;
    case 'model.fallback':
      progress.print(
        `${String(event.data['to'])} continues. ${String(event.data['from'])}: ${String(event.data['reason'])}`,
      );
      break;
    case 'model.delta':
      progress.replying(String(event.data['text']));
      break;
    default:
  }
}
