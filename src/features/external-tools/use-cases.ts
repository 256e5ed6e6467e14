// Accepts the result of a call of an external tool.
import type { ExternalCallView } from '../../contract/external-tools.ts';
import { parseToolCallId } from '../../core/tool-policy.ts';
import { cutMiddle } from '../../core/content-size.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { markOf, untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';
import { storeExternalResult } from './store/results.ts';
import { viewExternalCall } from './views.ts';

/** `closed`: the call does not wait any more. */
export type ResultAcceptance = { kind: 'stored' } | { kind: 'unknown' } | { kind: 'closed'; call: ExternalCallView };

export async function acceptResult(
  { database, views, publish }: Service,
  { id, content, isError }: { id: string; content: string; isError: boolean },
  idempotency: KeyedRequest | null,
): Promise<ResultAcceptance> {
  const place = parseToolCallId(id);
  const call = await viewExternalCall(views, id);
  if (place === null || call === null) return { kind: 'unknown' };
  const mark = markOf({ idempotencyKey: `${call.turnId}:${call.callId}` });
  const text = cutMiddle(content.toWellFormed(), UNTRUSTED_CHARS_MAX).trim();
  const shown = untrusted(`Result of ${call.tool}`, text === '' ? '(empty)' : text, mark);
  const result = { content: shown, isError };
  const { isStored } = publish(await storeExternalResult(database, place, result, idempotency));
  if (isStored) return { kind: 'stored' };
  return { kind: 'closed', call: (await viewExternalCall(views, id)) ?? call };
}
