// The conversation of every crash test: a message whose turn makes two sequential and two parallel
// tool calls, and two more messages that arrive while the turn runs. `judge.ts` checks what must
// hold afterwards, whichever process crashed.
import type { RoundTrip } from '../../servers/round-trips.ts';
import type { AcceptedMessage } from './api-client.ts';
import type { CrashRig } from './crash-rig.ts';
import { seedLongHistory } from './seed-long-history.ts';
import { waitUntil } from './wait-until.ts';

export interface Conversation {
  session: string;
  /** The texts of the three messages, unique in the test; in order. */
  markers: [string, string, string];
  /** The keys of the four effects; the second and the fourth tool are declared idempotent. */
  effectKeys: [string, string, string, string];
  /**
   * The memory note that the model writes when the history of the session is compacted; null: the
   * session has no history.
   */
  memoryNote: string | null;
  messages: AcceptedMessage[];
}

const settledWithinMs = 240_000;
let conversations = 0;

/**
 * Begins a conversation without messages. `isLong`: its session has a history that the first turn
 * must compact.
 */
export function newConversation({ isLong = false }: { isLong?: boolean } = {}): Conversation {
  conversations += 1;
  const name = `c${conversations}`;
  return {
    session: `crash-${name}`,
    markers: [`${name}-first`, `${name}-second`, `${name}-third`],
    effectKeys: [`${name}-a`, `${name}-b`, `${name}-c`, `${name}-d`],
    memoryNote: isLong ? `${name}-note` : null,
    messages: [],
  };
}

/**
 * The text of the first message. `lastAnswerMs`: how long the model takes for the last answer, so
 * that periodic work falls into the turn.
 */
function firstText({ markers, effectKeys: [a, b, c, d] }: Conversation, lastAnswerMs = 0): string {
  const call = (tool: string, key: string): string => `[[tool: ${tool} {"key": "${key}"}]]`;
  return [
    markers[0],
    call('http_effect', a),
    call('http_effect_idempotent', b),
    `${call('http_effect', c)} & ${call('http_effect_idempotent', d)}`,
    lastAnswerMs > 0 ? `[[delay: ${lastAnswerMs}]]` : '',
    '[[reply: Done.]]',
  ].join(' ');
}

/**
 * Sends the first message. Sends the other two when its turn is open or when `begun` resolves,
 * whichever is first.
 */
export async function converse(
  rig: CrashRig,
  talk: Conversation,
  begun: Promise<unknown>,
  lastAnswerMs = 0,
): Promise<void> {
  const isOpenTurn = (trip: RoundTrip): boolean => trip.tag === 'open-turn';
  if (talk.memoryNote !== null) await seedLongHistory(rig, talk.session, talk.memoryNote);
  const opened = Promise.race([begun, ...rig.workers.map((worker) => worker.nextTrip(isOpenTurn))]);
  talk.messages.push(await rig.client.send(talk.session, firstText(talk, lastAnswerMs)));
  await opened;
  for (const marker of talk.markers.slice(1)) {
    talk.messages.push(await rig.client.send(talk.session, `${marker} [[reply: Yes.]]`));
  }
}

/**
 * Waits until every message is settled and refreshes them. Rejects with their states when that
 * takes too long.
 */
export async function untilSettled(rig: CrashRig, talk: Conversation, withinMs = settledWithinMs): Promise<void> {
  const readAll = async (): Promise<boolean> => {
    talk.messages = await Promise.all(talk.messages.map(({ id }) => rig.client.message(id)));
    return talk.messages.every(({ status }) => status !== 'waiting' && status !== 'claimed');
  };
  await waitUntil('all messages are settled', withinMs, readAll).catch((error: unknown) => {
    const states = talk.messages.map(({ seq, status }) => `${seq} ${status}`).join(', ');
    throw new Error(`${talk.session}: ${states}`, { cause: error });
  });
}
