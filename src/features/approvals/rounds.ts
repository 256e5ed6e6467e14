// The round of approvals: puts new requests into the outbox for the webhook and for chats, and notes which have ended without a decision.
import { sendHeldNotices } from '../../kernel/inbox/held-notices.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { askText, chatToAsk } from './ask-in-chat.ts';
import { findRequest, settleLeft } from './store/approvals.ts';
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
  const { config, database, views } = service;
  await settleLeft(database);
  await sendHeldNotices(service, 'approval', async (call) => {
    const request = await findRequest(database, call);
    const approval = request === null ? null : await viewApproval(views, request.id);
    if (approval === null || approval.status !== 'open') return [];
    const { sessionKey, turnId, shown, expiresAt, requestedAt } = approval;
    const common = { type: 'approval.requested', sessionKey, turnId, messageIds: [] };
    const { webhook } = config.tools.approvals;
    const { message } = request!;
    const chat = chatToAsk(config, message);
    const targets = [
      ...(webhook === undefined ? [] : [{ url: webhook, payload: { ...common, text: shown, approval } }]),
      ...(chat === null ? [] : [{ url: chat, payload: { ...common, ...askText(config, message!, approval) } }]),
    ];
    const expiresMs = Date.parse(expiresAt) - Date.parse(requestedAt);
    return targets.map((target) => ({ ...target, sessionKey, expiresMs }));
  });
}
