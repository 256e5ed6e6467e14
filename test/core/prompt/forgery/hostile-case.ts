// Messages in which any text may be hostile, and what a prompt made of them holds by right: a mark
// for each thing that Holdfast itself puts there. A case is made of whole numbers, so that it is
// cheap to make and shrinks well.
import type { InboundMessage, Media } from '../../../../src/core/inbound.ts';
import type { UserPromptInput, SystemEvent } from '../../../../src/prompt/user-prompt.ts';
import { choices, hostilePiece } from './hostile-text.ts';
import { linesOf, type Mark } from './read-prompt.ts';

export interface HostileCase {
  input: UserPromptInput;
  /** The genuine marks of the prompt, in order. */
  marks: Mark[];
}

type Choose = (below: number) => number;

/** The position of a text, so that it can be replaced by a hostile one. */
interface Place {
  holder: object;
  key: string;
}

const MESSAGES_MAX = 3;
/**
 * Every text ends with it, so that none is blank and the shown text does not depend on the script.
 */
const PLAIN = 'w';

/**
 * Makes a case: `shape` selects the parts, `script` their texts. Three of five have little more
 * than a body.
 */
export function hostileCase(shape: number, script: readonly number[]): HostileCase {
  const chooseAny = choices(shape);
  const choose: Choose = shape % 5 < 3 ? (below) => below - 1 : chooseAny;
  const isSingle = choose(6) > 0;
  const messages = Array.from({ length: isSingle ? 1 : 2 + choose(MESSAGES_MAX - 1) }, () => plainMessage(choose));
  const events = Array.from({ length: chooseAny(3) }, () => plainEvent(chooseAny));
  const overflow = !isSingle && choose(3) === 0 ? { droppedCount: 2, summaryLines: [PLAIN, PLAIN] } : undefined;
  const everywhere = [
    ...messages.flatMap(placesOfMessage),
    ...events.flatMap((event) => places(event, 'text')),
    ...places(overflow?.summaryLines, '0', '1'),
  ];
  writeInto(everywhere, script);
  const input: UserPromptInput = {
    kind: 'message',
    messages,
    events,
    zone: 'utc',
    isNewSession: choose(2) === 1,
    wasAborted: choose(4) === 0,
    thinking: null,
    resetTriggers: ['/new', '/reset'],
    ownerIds: [],
    now: { epochMs: 0, timezone: 'UTC' },
    ...(overflow && { overflow }),
  };
  return { input, marks: marksOf(input, isSingle) };
}

function plainMessage(choose: Choose): InboundMessage {
  const has = (): boolean => choose(4) === 0;
  const isGroup = has();
  const media: Media[] = Array.from({ length: (choose(5) % 4) >> 1 }, () => ({ path: PLAIN }));
  if (choose(6) === 0) media.push({ path: PLAIN, type: 'audio/ogg', transcript: PLAIN });
  return {
    text: PLAIN,
    messageId: PLAIN,
    sender: { name: PLAIN },
    chatType: isGroup ? 'group' : 'direct',
    ...(isGroup && { group: { members: [PLAIN] } }),
    ...(has() && { replyTo: { body: PLAIN } }),
    ...(has() && { forwarded: { from: PLAIN } }),
    ...(has() && { history: [{ body: PLAIN }] }),
    ...(has() && { thread: { starterBody: PLAIN, ...(has() && { historyBody: PLAIN }) } }),
    ...(media.length > 0 && { media }),
    ...(has() && { untrustedContext: [PLAIN] }),
  };
}

function plainEvent(choose: Choose): SystemEvent {
  return { text: PLAIN, createdAt: 1_768_249_157_000, isTrusted: choose(2) === 1 };
}

function placesOfMessage(message: InboundMessage): Place[] {
  const { sender, group, replyTo, forwarded, history = [], thread, media = [], untrustedContext } = message;
  const body: Place[] = [{ holder: message, key: 'text' }];
  return [
    // The body is what an attacker can most easily write, so it is listed several times.
    ...body, ...body, ...body, ...body,
    ...places(message, 'messageId', 'conversationLabel'),
    ...places(sender, 'id', 'name', 'username', 'tag', 'e164'),
    ...places(group, 'subject', 'channel', 'space'),
    ...places(group?.members, '0', '1'),
    ...places(replyTo, 'id', 'senderLabel', 'body'),
    ...places(forwarded, 'from', 'type', 'username', 'title', 'signature', 'chatType'),
    ...history.flatMap((item) => places(item, 'sender', 'body')),
    ...places(thread, 'label', 'starterBody', ...(thread?.historyBody === undefined ? [] : ['historyBody'])),
    ...media.flatMap((item) => places(item, 'path', ...(item.transcript === undefined ? ['type', 'url'] : ['transcript']))),
    ...places(untrustedContext, '0', '1'),
  ]; // prettier-ignore
}

function places(holder: object | undefined, ...keys: string[]): Place[] {
  return holder === undefined ? [] : keys.map((key) => ({ holder, key }));
}

/**
 * Gives each run of pieces to one place. A number says its piece, and in its low bits whether it
 * begins a new run.
 */
function writeInto(all: readonly Place[], script: readonly number[]): void {
  let place: Place | undefined;
  for (const number of script) {
    if (place === undefined || number % 6 === 0) place = all[(number >>> 3) % all.length];
    if (place === undefined) return;
    const holder = place.holder as Record<string, string>;
    const before = holder[place.key] ?? PLAIN;
    holder[place.key] = before.slice(0, before.length - PLAIN.length) + hostilePiece(number) + PLAIN;
  }
}

function marksOf({ messages, events, isNewSession, wasAborted, overflow }: UserPromptInput, isSingle: boolean): Mark[] {
  const first = messages[0];
  const isFramed = !isSingle;
  return [
    ...(isSingle ? mediaMarks(first) : []),
    ...marksIf(isNewSession && first?.thread !== undefined, 'thread'),
    ...events.flatMap(systemMarks),
    ...marksIf(wasAborted, 'abort'),
    ...marksIf(isFramed, 'frame'),
    ...marksIf(overflow !== undefined, 'overflow'),
    ...messages.flatMap((message) => [
      ...marksIf(isFramed, 'item'),
      ...(isFramed ? mediaMarks(message) : []),
      ...blockMarks(message, isNewSession && message === first),
      ...marksIf(message.untrustedContext !== undefined, 'untrusted'),
    ]),
  ];
}

/** The marks of a message that joins a running turn: nothing of the session around it. */
export function steeredMarks(message: InboundMessage): Mark[] {
  return [
    ...mediaMarks(message),
    ...blockMarks(message, false),
    ...marksIf(message.untrustedContext !== undefined, 'untrusted'),
  ];
}

function marksIf(isThere: boolean, mark: Mark): Mark[] {
  return isThere ? [mark] : [];
}

/**
 * One line for each file, and one with their number when there are several; a transcribed file is
 * represented by its text.
 */
function mediaMarks(message: InboundMessage | undefined): Mark[] {
  const count = (message?.media ?? []).filter(({ transcript }) => transcript === undefined).length;
  return Array.from({ length: count > 1 ? count + 1 : count }, () => 'media' as const);
}

function systemMarks({ text, isTrusted }: SystemEvent): Mark[] {
  const lines = linesOf(text).filter((line) => line.text.trim() !== '');
  return isTrusted ? lines.map(() => 'system' as const) : [];
}

function blockMarks(message: InboundMessage, isNewSession: boolean): Mark[] {
  const isHistoryShown = message.history !== undefined && !(isNewSession && message.thread?.historyBody !== undefined);
  return [
    'Conversation info (untrusted metadata):',
    ...marksIf(message.chatType === 'group', 'Sender (untrusted metadata):'),
    ...marksIf(message.replyTo !== undefined, 'Replied message (untrusted, for context):'),
    ...marksIf(message.forwarded !== undefined, 'Forwarded message context (untrusted metadata):'),
    ...marksIf(isHistoryShown, 'Chat history since last reply (untrusted, for context):'),
  ];
}
