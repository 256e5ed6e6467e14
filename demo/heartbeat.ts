// Chapter: an agent is asked whether anything needs attention, and nothing does. The poll costs its
// model call and leaves no trace: it is not delivered, and no later request shows it. First the
// chapter shows that replies of this session are delivered.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeliveryView } from '../src/features/deliveries/contract.ts';
import type { HeartbeatView } from '../src/features/heartbeats/contract.ts';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { Chapter, Scene } from './chapter.ts';
import { EventWatch } from './event-watch.ts';
import { sendMessage, settledMessage } from './play-message.ts';
import { messageTextOf, type ScriptedMessage } from './script.ts';
import { entriesOf } from './transcript.ts';
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts';

/** The main session of the agent: the one that is polled. */
const SESSION = 'main';
const FILE = 'HEARTBEAT.md';
/** How a poll begins, and how it is acknowledged. */
const POLL = 'Read HEARTBEAT.md if it exists';
const ACKNOWLEDGEMENT = 'HEARTBEAT_OK';
const TASK = '- Report when the stove is on and the house is empty.\n';

const WATCH: ScriptedMessage = {
  text: 'Watch the stove, and report here.',
  steps: [],
  reply: 'I check it at every heartbeat.',
};
const DONE: ScriptedMessage = { text: 'Is everything in order?', steps: [], reply: 'Yes, everything is in order.' };

export const heartbeat: Chapter = {
  id: 'heartbeat',
  title: 'A heartbeat that finds nothing',
  proves: 'acknowledged, not delivered, and in no later request',
  async play(scene) {
    const receiver = await startWebhookReceiver();
    try {
      await playHeartbeat(scene, receiver);
    } finally {
      await receiver.close();
    }
  },
};

interface ModelRequest {
  request: { system: unknown[]; messages: unknown };
}

async function playHeartbeat(scene: Scene, receiver: WebhookReceiver): Promise<void> {
  const { stage, progress, check, record } = scene;
  await writeFile(join(stage.workspaceDir, FILE), TASK);
  progress.print(`${FILE}: ${TASK.trim()}`);
  await ask(scene, WATCH, receiver);
  const poll = await stage.api.pollAgent({ agent: 'main' }, { signal: stage.signal });
  const asked = await settledMessage(scene, SESSION, String(poll.messageId));
  record.inputs.set(asked.id, 'silent');
  record.turnEnds.set(String(asked.turnId), 'silent');
  progress.say('poll', asked.text.split('\n')[0] ?? '');
  const { items: polls } = await stage.read<ListAnswer<HeartbeatView>>('/v1/heartbeats');
  check(
    polls.length === 1 && polls[0]?.result === 'acknowledged' && polls[0].turnId === asked.turnId,
    'the model was asked once and acknowledged: HEARTBEAT_OK',
    polls,
  );
  const { request } = await stage.read<ModelRequest>(`/v1/turns/${asked.turnId}/requests/1`);
  check(
    JSON.stringify(request.system[1] ?? null).includes(TASK.trim()),
    `its request contains ${FILE}, below the cache boundary`,
    request.system,
  );
  const nextTurnId = await ask(scene, DONE, receiver);
  await checkTrace(scene, String(asked.turnId), nextTurnId);
  await checkDeliveries(scene, receiver);
}

/**
 * A message whose reply is delivered; resolves when it is delivered, with the turn that answered.
 */
async function ask(scene: Scene, script: ScriptedMessage, receiver: WebhookReceiver): Promise<string> {
  const { stage, progress, record } = scene;
  const watch = await EventWatch.open(stage.api, { session: SESSION, types: ['delivery.sent'] }, stage.signal);
  progress.say('user', script.text);
  const deliver = { url: receiver.url };
  const sent = { sessionKey: SESSION, text: messageTextOf(script), idempotencyKey: randomUUID(), more: { deliver } };
  const { message } = await sendMessage(scene, sent);
  record.inputs.set(message.id, 'answered');
  const { reply, turnId } = await settledMessage(scene, SESSION, message.id);
  progress.say('model', reply ?? '');
  await watch.next();
  watch.close();
  return String(turnId);
}

/** The rows of the poll are kept, and shown to no model. */
async function checkTrace(scene: Scene, pollTurnId: string, nextTurnId: string): Promise<void> {
  const { stage, check } = scene;
  const [active, all] = [await entriesOf(scene, SESSION), await entriesOf(scene, SESSION, 'all')];
  const pruned = all.filter(({ state }) => state === 'pruned');
  check(
    active.every(({ turnId }) => turnId !== pollTurnId) &&
      pruned.map(({ kind }) => kind).join() === 'prompt,answer' &&
      pruned.every(({ turnId }) => turnId === pollTurnId),
    'the poll and its answer are kept as pruned entries',
    all,
  );
  const { request } = await stage.read<ModelRequest>(`/v1/turns/${nextTurnId}/requests/1`);
  const sent = JSON.stringify(request.messages);
  check(
    sent.includes(WATCH.text) && sent.includes(DONE.text) && !sent.includes(POLL) && !sent.includes(ACKNOWLEDGEMENT),
    'the next request contains the messages before and after the poll, and nothing of the poll',
    request.messages,
  );
}

/** Replies are delivered in order: an alert of the poll would be between the two. */
async function checkDeliveries({ stage, check }: Scene, { received }: WebhookReceiver): Promise<void> {
  const { items } = await stage.read<ListAnswer<DeliveryView>>(`/v1/deliveries?session=${SESSION}`);
  const bodies = received.map(({ body }) => JSON.stringify(body));
  check(
    items.length === 2 && bodies.length === 2 && [WATCH, DONE].every(({ reply }, at) => bodies[at]?.includes(reply)),
    'the receiver of this session got the two replies, and nothing of the poll',
    { items, received },
  );
}
