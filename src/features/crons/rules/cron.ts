// A cron: its settings, its session, and what a tick of it puts there. The text of a tick for the
// model is decided here.
import { formatChannelUrl, type ChannelAddress } from '../../../core/channel-address.ts';
import { pollText } from '../../../core/heartbeat.ts';
import type { SessionKey } from '../../../core/ids.ts';
import type { OwnInput } from '../../../core/inbound.ts';
import { cronMark } from '../../../core/words.ts';
import { withOptions, type InputOptions } from '../../../core/input-options.ts';
import { given } from '../../../core/json.ts';
import { canonicalSessionKey } from '../../../core/session-key.ts';
import { cutHead } from '../../../core/text.ts';
import type { EnvelopeZone } from '../../../prompt/envelope-time.ts';
import { neutralise } from '../../../prompt/untrusted-text.ts';
import type { CronInput, CronPayload, CronTarget, MisfirePolicy, Schedule } from '../config.ts';

/**
 * `config`: the configuration file names it. `api`: a call made it. `agent`: an agent's tool did.
 */
export type CronOrigin = 'config' | 'api' | 'agent';

/**
 * Where the answer goes. `none`: nowhere. `last`: where the last message of the session wanted its
 * answer. `webhook`: to this URL, or to the configured one.
 */
export type CronDelivery =
  | Exclude<NonNullable<CronInput['delivery']>, { mode: 'channel' }>
  | ({ mode: 'channel' } & ChannelAddress);

/** The settings of a cron that its creator chooses. */
export interface CronDefinition {
  name: string;
  agentId: string;
  schedule: Schedule;
  /**
   * `main`: the agent's main session. `isolated`: a separate one, with a new transcript each time.
   * `session:<key>`: that one.
   */
  target: CronTarget;
  /**
   * `systemEvent`: a line in the next prompt of the session; `wake` says whether a poll makes sure
   * that there is one. `agentTurn`: a turn of its own, for which alone its settings hold.
   */
  payload: CronPayload;
  /**
   * For system events. `now`: the agent is polled immediately. `next-heartbeat`: the line waits for
   * the next turn.
   */
  wake: 'now' | 'next-heartbeat';
  /** Null: as the configuration says. */
  misfire: MisfirePolicy | null;
  /** Null: where the configuration says. */
  delivery: CronDelivery | null;
  /** For a one-time cron: delete it after it has succeeded. */
  deleteAfterRun: boolean;
  /** The options of its inputs. */
  options: InputOptions | null;
}

const NAME_CHARS_MAX = 200;

/** The key of the session that a cron runs in. Throws `InvalidSessionKeyError`. */
export function toSessionKey({ id, agentId, target }: { id: string; agentId: string; target: CronTarget }): SessionKey {
  switch (target) {
    case 'main':
      return canonicalSessionKey(`agent:${agentId}:main`);
    case 'isolated':
      return canonicalSessionKey(`agent:${agentId}:cron:${id}`);
    default: {
      const key = target.slice('session:'.length);
      return canonicalSessionKey(/^agent:/i.test(key) ? key : `agent:${agentId}:${key}`);
    }
  }
}

/**
 * The prompt of a tick. The message is untrusted text: imitations of Holdfast's own markup are
 * neutralised.
 */
export function tickText({ id, name, message }: { id: string; name: string; message: string }): string {
  return cronMark({ id, name: oneLine(name) }) + neutralise(message);
}

/** The notice that a cron was switched off. */
export function noticeText({ name, reason }: { name: string; reason: string }): string {
  return `Cron job "${oneLine(name)}" was disabled: ${oneLine(reason)}`;
}

/** The context key of a cron's system events. */
export function formatContextKey(cronId: string): string {
  return `cron:${cronId}`;
}

function oneLine(text: string): string {
  return cutHead(text.replaceAll(/[\s\p{Cc}[\]]+/gu, ' ').trim(), NAME_CHARS_MAX);
}

/**
 * What a tick puts into its session: a turn of its own, or a line for the next prompt with a poll
 * that makes sure that there is one.
 */
export interface TickInput {
  /** The kind of the inbox row; null: only a line is left. */
  kind: 'cron' | 'heartbeat' | null;
  body: OwnInput;
  route: string;
  event: { id: string; text: string; contextKey: string; isTrusted: boolean } | null;
}

export interface TickFacts {
  nowMs: number;
  /** The zone of the times in the agent's prompts. */
  zone: EnvelopeZone;
  /** For a system event. */
  eventId: string;
  /** The delivery address of the session's last message, see `lastUrlSql`; null: none. */
  lastUrl: string | null;
}

/** The input of a tick, built the same way whether the clock or a person fires it. */
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
      text: reminderText(facts, deliver !== null),
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

function reminderText({ nowMs, zone }: TickFacts, isDelivered: boolean): string {
  return pollText({ occasion: 'cron', prompt: '', tasks: [], hasMore: false, faults: [], isDelivered, nowMs, zone });
}
