// The round of external tools: puts calls that wait into the outbox for the webhook.
import { hasHeldNoticesSql, sendHeldNotices } from '../../kernel/inbox/held-notices.ts';
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { every } from '../../kernel/queue/start-rounds.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { toolCallId } from '../../core/tool-policy.ts';
import { viewExternalCall } from './views.ts';

const ROUND_MS = 1_000;

/** Without an address there is nothing to send, and no round. */
export function openExternalToolRounds({ service }: Process): ProcessPart {
  if (service.config.tools.externalWebhook === undefined) return {};
  const failure = 'Calls of external tools could not be sent; the next round retries';
  const work = { sql: hasHeldNoticesSql('external_tool') };
  return { rounds: [{ work, round: () => runExternalToolRound(service), pauseMs: every(ROUND_MS), failure }] };
}

export async function runExternalToolRound(service: Service): Promise<void> {
  const { config, views } = service;
  await sendHeldNotices(service, 'external_tool', async (place) => {
    const { externalWebhook: url } = config.tools;
    const call = await viewExternalCall(views, toolCallId(place));
    if (url === undefined || call === null || call.status !== 'waiting') return [];
    const { sessionKey, turnId, tool, expiresAt, requestedAt } = call;
    const text = `${tool} is called`;
    const payload = { type: 'tool.requested', sessionKey, turnId, messageIds: [], text, toolCall: call };
    return [{ url, sessionKey, payload, expiresMs: Date.parse(expiresAt) - Date.parse(requestedAt) }];
  });
}
