// A cron: its action, its schedule and its session. The text of a tick for the model is decided here.
import type { ChannelAddress } from '../../../core/channel-address.ts';
import type { SessionKey } from '../../../core/ids.ts';
import { cutHead } from '../../../core/text.ts';
import type { InputOptions } from '../../../core/input-options.ts';
import type { ResponseFormat } from '../../../core/response-format.ts';
import { neutralise } from '../../../prompt/untrusted-text.ts';
import type { MessageVia } from '../../../core/inbound.ts';
import type { ThinkingLevel } from '../../../core/models.ts';
import { canonicalSessionKey } from '../../../core/session-key.ts';
import type { MisfirePolicy } from './fires.ts';
import type { Schedule } from './timetable.ts';

/** `config`: the configuration file names it. `api`: a call made it. `agent`: an agent's tool did. */
export type CronOrigin = 'config' | 'api' | 'agent';

/** `main`: the agent's main session. `isolated`: a separate one, with a new transcript each time. `session:<key>`: that one. */
export type CronTarget = 'main' | 'isolated' | `session:${string}`;

/**
 * `systemEvent`: a line in the next prompt of the session; `wake` says whether a poll makes sure that there is one. `agentTurn`: a turn
 * of its own.
 */
export type CronPayload =
  | { kind: 'systemEvent'; text: string }
  | {
      kind: 'agentTurn';
      message: string;
      /** For this turn alone, each; absent: as the session has it. */
      model?: string;
      thinking?: ThinkingLevel;
      /** How its model is asked; absent: live. */
      via?: MessageVia;
      timeoutSeconds?: number;
      /** Absent: any text. */
      responseFormat?: ResponseFormat;
    };

/**
 * Where the answer goes. `none`: nowhere. `last`: where the last message of the session wanted its answer. `webhook`: to this URL, or to
 * the configured one.
 */
export type CronDelivery =
  | { mode: 'none' }
  | { mode: 'last' }
  | { mode: 'webhook'; url?: string }
  | ({ mode: 'channel' } & ChannelAddress);

/** The settings of a cron that its creator chooses. */
export interface CronDefinition {
  name: string;
  agentId: string;
  schedule: Schedule;
  target: CronTarget;
  payload: CronPayload;
  /** For system events. `now`: the agent is polled immediately. `next-heartbeat`: the line waits for the next turn. */
  wake: 'now' | 'next-heartbeat';
  /** Null: as the configuration says. */
  misfire: MisfirePolicy | null;
  /** Null: where the configuration says. */
  delivery: CronDelivery | null;
  /** For a one-time cron: delete it after it has succeeded. */
  deleteAfterRun: boolean;
  /** Of its inputs; null: none. */
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

/** The prompt of a tick. The message is untrusted text: imitations of Holdfast's own markup are neutralised. */
export function tickText({ id, name, message }: { id: string; name: string; message: string }): string {
  return `[cron:${id} ${oneLine(name)}] ${neutralise(message)}`;
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
