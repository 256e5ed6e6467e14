// Notices about tool calls that wait for something outside: signed webhooks for those who can end
// the wait. The statement that stores a wait stores that a notice is due (`stored_notices`); a
// round of the feature puts it into the outbox, as a message of the turn that waits.
import { channelOfUrl } from '../../core/channel-address.ts';
import type { HoldCode } from '../../core/statuses.ts';
import type { DeliveryId } from '../../core/ids.ts';
import type { Database } from '../../database/database.ts';
import { literalQuery } from '../../database/literal-query.ts';
import { newId } from '../../ids.ts';
import type { Publish } from '../queue/after-commit.ts';
import { sendMessage } from './send-message.ts';

/** A call that waits, by its place in the ledger. */
export interface NoticedCall {
  turnId: string;
  step: number;
  ordinal: number;
}

export interface HeldNotice {
  url: string;
  sessionKey: string;
  payload: object;
  /** How long its delivery is attempted, in milliseconds. */
  expiresMs: number;
}

/** How many one round sends. */
const SENT_MAX = 500;

export const findHeldNotices = literalQuery({
  name: 'find-held-notices',
  purpose: 'Read the oldest notices about calls that wait for this.',
  pool: 'views',
  text: `select n.turn_id as "turnId", n.step, n.ordinal from holdfast.held_notices n
where n.code = $code order by n.created_at limit ${SENT_MAX}`,
  values: (code: HoldCode) => ({ code }),
  answer: (rows: NoticedCall[]) => rows,
});

/** SQL of whether there are any. */
export const hasHeldNoticesSql = (code: HoldCode): string =>
  `exists (select from holdfast.held_notices n where n.code = '${code}')`;

export const noteHeldNotice = literalQuery({
  name: 'note-held-notice',
  purpose: 'Delete a notice that is in the outbox, or that is not needed any more.',
  locking: 'The notice.',
  text: 'delete from holdfast.held_notices where turn_id = $turnId and step = $step and ordinal = $ordinal and code = $code',
  values: ({ turnId, step, ordinal }: NoticedCall, code: HoldCode) => ({ code, turnId, step, ordinal }),
});

/**
 * Puts the notices of a code into the outbox. `toNotices` says what is sent about a call, in an
 * order that stays; nothing, if it does not wait any more.
 */
export async function sendHeldNotices(
  { database, publish }: { database: Database; publish: Publish },
  code: HoldCode,
  toNotices: (call: NoticedCall) => Promise<HeldNotice[]>,
): Promise<void> {
  for (const call of await findHeldNotices(database, code)) {
    for (const [index, notice] of (await toNotices(call)).entries()) {
      const { turnId, step, ordinal } = call;
      const { url, sessionKey, payload, expiresMs } = notice;
      const causeKey = `${code}:${turnId}:${step}:${ordinal}${index === 0 ? '' : `:${index}`}`;
      const message = {
        id: newId<DeliveryId>(),
        sessionKey,
        turnId,
        causeKey,
        channel: channelOfUrl(url),
        target: { url },
      };
      publish(await sendMessage(database, { ...message, payload, expiresMs: Math.max(1, expiresMs) }));
    }
    await noteHeldNotice(database, call, code);
  }
}
