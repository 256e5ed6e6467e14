// The round of approvals: puts new requests into the outbox for the webhook, and notes which have ended without a decision.
import { sendHeldNotices } from '../../kernel/inbox/held-notices.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
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
    const { webhook: url } = config.tools.approvals;
    const id = url === undefined ? null : await findRequest(database, call);
    const approval = id === null ? null : await viewApproval(views, id);
    if (url === undefined || approval === null || approval.status !== 'open') return null;
    const { sessionKey, turnId, shown: text, expiresAt, requestedAt } = approval;
    const payload = { type: 'approval.requested', sessionKey, turnId, messageIds: [], text, approval };
    return { url, sessionKey, payload, expiresMs: Date.parse(expiresAt) - Date.parse(requestedAt) };
  });
}
