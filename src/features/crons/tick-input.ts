// What a tick of a cron puts into its session: a turn of its own, or a line for the next prompt with a poll that makes sure that there is
// one. Built the same way whether the clock or a person fires it.
import { agentOrFirst, type Config } from '../../config.ts';
import { formatChannelUrl } from '../../core/channel-address.ts';
import { given } from '../../core/json.ts';
import { pollText } from '../../core/heartbeat.ts';
import { withOptions } from '../../core/input-options.ts';
import type { OwnInput } from '../../core/inbound.ts';
import { formatContextKey, tickText, type CronDefinition, type CronOrigin } from './rules/cron.ts';
import { pickPromptZone } from '../../config/agent-settings.ts';

export interface TickInput {
  /** The kind of the inbox row; null: only a line is left. */
  kind: 'cron' | 'heartbeat' | null;
  body: OwnInput;
  route: string;
  event: { id: string; text: string; contextKey: string; isTrusted: boolean } | null;
}

export interface TickFacts {
  config: Config;
  nowMs: number;
  /** For a system event. */
  eventId: string;
  /** The delivery address of the session's last message, see `lastUrlSql`; null: none. */
  lastUrl: string | null;
}

/** The input of a tick. */
export function toTickInput(cron: CronDefinition & { id: string; origin: CronOrigin }, facts: TickFacts): TickInput {
  const { payload } = cron;
  const deliver = chooseDeliver(cron, facts.lastUrl);
  const route = JSON.stringify(['cron', cron.id, deliver?.url ?? null]);
  const isOfAgent = cron.origin === 'agent' || undefined;
  const shared = { cronId: cron.id, ...given({ isOfAgent, deliver }) };
  const options = cron.options ?? {};
  if (payload.kind === 'agentTurn') {
    const { kind: _kind, message, responseFormat, ...settings } = payload;
    const isFresh = cron.target === 'isolated';
    const own = withOptions({ ...options, ...given({ responseFormat }) });
    const text = tickText({ ...cron, message });
    return {
      kind: 'cron',
      body: { text, ...settings, ...shared, ...own, ...given({ isFresh: isFresh || undefined }) },
      route,
      event: null,
    };
  }
  return {
    kind: cron.wake === 'now' ? 'heartbeat' : null,
    body: {
      text: reminderText(cron, facts, deliver !== null),
      eventId: facts.eventId,
      ...shared,
      ...withOptions(options),
    },
    route,
    event: {
      id: facts.eventId,
      text: payload.text.trim(),
      contextKey: formatContextKey(cron.id),
      // Text that an agent wrote may have come from anywhere.
      isTrusted: cron.origin !== 'agent',
    },
  };
}

function chooseDeliver({ delivery }: CronDefinition, lastUrl: string | null): OwnInput['deliver'] {
  switch (delivery?.mode) {
    case 'none':
      return null;
    case 'last':
      return lastUrl === null ? undefined : { url: lastUrl };
    case 'webhook':
      return delivery.url === undefined ? undefined : { url: delivery.url };
    case 'channel':
      return { url: formatChannelUrl(delivery) };
    case undefined:
      return undefined;
  }
}

function reminderText(cron: CronDefinition, { config, nowMs }: TickFacts, isDelivered: boolean): string {
  const agent = agentOrFirst(config, cron.agentId);
  const zone = pickPromptZone(agent);
  return pollText({ occasion: 'cron', prompt: '', tasks: [], hasMore: false, faults: [], isDelivered, nowMs, zone });
}
