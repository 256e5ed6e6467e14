// Where a request wants something delivered, as the URL that is stored.
import { resolveChat, type ChatDelivery } from '../config/schema-channels.ts';
import type { Config } from '../config.ts';
import { formatChannelUrl } from '../core/channel-address.ts';
import { fieldProblem } from './problem.ts';

/**
 * The receiver of `deliver` of a request; null: nowhere. Throws the problem of a chat whose channel
 * or account is not configured.
 */
export function toReceiver(config: Config, deliver: { url: string } | ChatDelivery | null): { url: string } | null {
  if (deliver === null || 'url' in deliver) return deliver;
  const chat = resolveChat(config, deliver);
  if ('fault' in chat) throw fieldProblem(`deliver.${chat.fault.field}`, chat.fault.message);
  return { url: formatChannelUrl(chat.address) };
}
