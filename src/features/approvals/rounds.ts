// The round of approvals: puts new requests into the outbox for the webhook, and notes which have ended without a decision.
import type { DeliveryId } from '../../core/ids.ts';
import { newId } from '../../ids.ts';
import { sendMessage } from '../../kernel/inbox/send-message.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { findUnsent, noteSent, settleLeft } from './store/approvals.ts';
import { viewApproval } from './views.ts';

const ROUND_MS = 2_000;
/** Without rules: requests of earlier ones can be left. */
const IDLE_ROUND_MS = 60_000;

export function openApprovalRounds({ service }: Process): ProcessPart {
  const failure = 'Requests for approvals could not be sent or settled; the next round retries';
  const { approvals, gateway } = service.config.tools;
  const mayAsk = approvals.rules.length > 0 || gateway.enabled;
  const pauseMs = every(mayAsk ? ROUND_MS : IDLE_ROUND_MS);
  return { rounds: [{ round: () => runApprovalRound(service), pauseMs, failure }] };
}

export async function runApprovalRound(service: Service): Promise<void> {
  const { config, database, views, publish } = service;
  await settleLeft(database);
  const { webhook: url } = config.tools.approvals;
  if (url === undefined) return;
  for (const { id, sessionKey, turnId } of await findUnsent(database)) {
    const approval = await viewApproval(views, id);
    if (approval !== null && approval.status === 'open') {
      const payload = {
        type: 'approval.requested',
        sessionKey,
        turnId,
        messageIds: [],
        text: approval.shown,
        approval,
      };
      const request = { id: newId<DeliveryId>(), sessionKey, turnId, causeKey: `approval:${id}`, channel: 'webhook' };
      const expiresMs = Math.max(1, Date.parse(approval.expiresAt) - Date.parse(approval.requestedAt));
      publish(await sendMessage(database, { ...request, target: { url }, payload, expiresMs }));
    }
    await noteSent(database, id);
  }
}
