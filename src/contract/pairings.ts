// Pairings on the wire: people who ask to write to an agent in a direct chat of a channel.
import { z } from 'zod';
import { iso, text, uuid } from './fields.ts';

export const PAIRING_STATUSES = ['open', 'approved', 'denied', 'expired'] as const;

export const pairingStatus = z.enum(PAIRING_STATUSES);

export const pairing = z.strictObject({
  id: uuid.describe('The id of the request'),
  status: pairingStatus.describe('`open`: it can be decided; `approved`: the person may write'),
  channel: text.describe('The name of the channel in the configuration'),
  accountId: text.describe('The account of the channel that the person has written to'),
  senderId: text.describe("The platform's id of the person, which is what a decision is about"),
  senderName: text.nullable().describe('What the person calls itself, which proves nothing; null: nothing'),
  chatId: text.describe("The platform's id of the chat"),
  code: text.describe('What the person was sent: a person who shows you this code has written from `senderId`'),
  requestedAt: iso.describe('When the person wrote'),
  expiresAt: iso.describe('From when the code is not valid any more'),
  decidedBy: text.nullable().describe('Who decided; null: no one did'),
  decidedAt: iso.nullable().describe('When it was decided; null: it is not'),
});
export type PairingView = z.output<typeof pairing>;
