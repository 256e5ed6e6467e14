// The round of approvals: puts new requests into the outbox for the webhook and for chats, and
// notes which have ended without a decision.
import { hasHeldNoticesSql, sendHeldNotices } from '../../kernel/inbox/held-notices.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { askText, chatToAsk } from './ask-in-chat.ts';
import { findRequest, settleLeft } from './store/approvals.ts';
import { approvals } from './views.ts';

const ROUND_MS = 2_000;

export function openApprovalRounds({ service }: Process): ProcessPart {
  const failure = 'Requests for approvals could not be sent or settled; the next round retries';
  const work = {
    sql: `exists (select from holdfast.approvals a where a.status = 'open') or ${hasHeldNoticesSql('approval')}`,
  };
  return { rounds: [{ work, round: () => runApprovalRound(service), pauseMs: every(ROUND_MS), failure }] };
}

export async function runApprovalRound(service: Service): Promise<void> {
  const { config, database, views } = service;
  await settleLeft(database);
  await sendHeldNotices(service, 'approval', async (call) => {
    const request = await findRequest(database, call);
    const approval = request === null ? null : await approvals.find(views, request.id);
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
