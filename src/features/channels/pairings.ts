// People who ask to write to an agent: what they are sent, and decisions about them. It costs no
// model call, and an account has at most three requests that are open, so that strangers can fill
// neither the list nor the outbox.
import { randomBytes } from 'node:crypto';
import type { PairingView } from '../../contract/pairings.ts';
import { formatChannelUrl } from '../../core/channel-address.ts';
import type { Config } from '../../config.ts';
import type { DeliveryId, SessionKey } from '../../core/ids.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { cutHead, storableText } from '../../core/text.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import { SessionErasedError } from '../../kernel/sessions/sessions.ts';
import { writeToSession } from '../../kernel/use-cases/accept-message.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import type { ReceivedMessage } from './platform.ts';
import {
  decidePairing,
  deletePairing,
  insertPairing,
  OPEN_MAX,
  readPairingRoom,
  type PairingDecision,
} from './store/pairings.ts';
import { readPairing, toPairingView } from './views/pairings.ts';

const CODE_CHARS = 8;
/** 32 characters, none of which looks like another: no I, O, 0 and 1. */
const CODE_ALPHABET = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE = new RegExp(`^[${CODE_ALPHABET}]{${CODE_CHARS}}$`);
const NAME_CHARS_MAX = 200;

/** 40 random bits. */
function newCode(): string {
  return Array.from(randomBytes(CODE_CHARS), (byte) => CODE_ALPHABET[byte % CODE_ALPHABET.length]).join('');
}

/** True for a text that has the form of a code, in upper case. */
export function isPairingCode(text: string): boolean {
  return CODE.test(text);
}

/**
 * Stores the request of a person who may not write yet, and the notice with the code. Does nothing
 * for a person who has a request already, and while three of the account are open. Resolves when it
 * is committed.
 */
export async function askForPairing(
  service: Service,
  account: { channel: string; account: string },
  { sender, place: { chatId, threadId } }: Pick<ReceivedMessage, 'sender' | 'place'>,
): Promise<void> {
  const { config, database, publish } = service;
  const person = { ...account, senderId: sender.id };
  const key = sessionOfPerson(config, person);
  // Each attempt that stores nothing has met another request; there is room for three.
  for (let attempt = 1; attempt <= OPEN_MAX; attempt += 1) {
    const { hasAsked, hasRoom } = await readPairingRoom(database, person);
    if (hasAsked || !hasRoom) return;
    const code = newCode();
    const stored = await writeToSession(service, { key, channel: account.channel }, async (sessionId) => {
      const chat = { chatId, threadId: threadId ?? null };
      const name = {
        senderName: sender.name === undefined ? null : cutHead(storableText(sender.name), NAME_CHARS_MAX),
      };
      const notice = noticeTo({ ...account, ...chat, sessionKey: key }, requestText(code));
      const made = publish(
        await insertPairing(database, { id: newId(), ...person, ...name, ...chat, sessionId, code, ...notice }),
      );
      if (made.isErased) throw new SessionErasedError(sessionId);
      return made;
    });
    if (stored.isStored) return;
  }
}

/**
 * The session whose outbox has what a person is sent who may not write yet: that of a direct chat.
 */
function sessionOfPerson({ agents }: Config, { channel, senderId }: { channel: string; senderId: string }): SessionKey {
  return canonicalSessionKey(`agent:${agents.list[0]?.id ?? 'main'}:${channel}:direct:${senderId}`);
}

const requestText = (code: string): string =>
  [
    `I answer only people whom my owner has allowed to write to me. Your code is ${code}`,
    `Show it to my owner, who can allow you within an hour: with "/pair ${code}" in a chat with me, or with "holdfast pairing approve ${code}".`,
    'Your message was not kept. Send it again when you are allowed.',
  ].join('\n\n');

const APPROVED_TEXT = 'You may write to me now. What you wrote before was not kept, so please send it again.';

function noticeTo(
  chat: { channel: string; account: string; chatId: string; threadId: string | null; sessionKey: string },
  text: string,
) {
  const { channel, account: accountId, chatId, threadId, sessionKey } = chat;
  const address = { channel, accountId, chatId, ...(threadId === null ? {} : { threadId }) };
  const payload = { type: 'command', sessionKey, turnId: null, messageIds: [], text, chatType: 'direct', ...address };
  return { deliveryId: newId<DeliveryId>(), url: formatChannelUrl(address), payload };
}

/** `decided`: now. `closed`: it was decided before, or has expired. */
export type PairingResult =
  | { kind: 'decided'; pairing: PairingView }
  | { kind: 'unknown' }
  | { kind: 'closed'; pairing: PairingView };

/**
 * Decides about a request, which its id or its code names. A person who is allowed is sent a
 * notice.
 */
export async function decideAboutPairing(
  { database, views, publish }: Service,
  named: { id: string } | { code: string },
  { status, by }: Omit<PairingDecision, 'id'>,
  idempotency: KeyedRequest | null = null,
): Promise<PairingResult> {
  const found = await readPairing(views, named);
  if (found === null) return { kind: 'unknown' };
  const { id, channel, accountId: account, chatId, threadId, sessionKey } = found;
  const notice =
    status === 'denied' || sessionKey === null
      ? null
      : { channel, ...noticeTo({ channel, account, chatId, threadId, sessionKey }, APPROVED_TEXT) };
  const { isFirst } = publish(await decidePairing(database, { id, status, by }, { notice, idempotency }));
  const pairing = (await readPairing(views, { id })) ?? found;
  return { kind: isFirst ? 'decided' : 'closed', pairing: toPairingView(pairing) };
}

/**
 * Deletes a request: its person may not write any more, and can ask again. False: there is none.
 */
export function removePairing({ database }: Service, id: string): Promise<boolean> {
  return deletePairing(database, id);
}
