// The input that a heartbeat adds to the session of its agent.
import type { AgentSettings } from '../../config.ts';
import { parseChannelUrl } from '../../core/channel-address.ts';
import { pollText, type HeartbeatFile, type HeartbeatTask, type PollOccasion } from '../../core/heartbeat.ts';
import type { OwnInput } from '../../core/inbound.ts';
import { pickPromptZone } from '../../config/agent-settings.ts';

export interface PollFacts {
  occasion: PollOccasion;
  /** HEARTBEAT.md; null: there is none, or this poll does not depend on it. */
  file: HeartbeatFile | null;
  /** Its tasks that are due. */
  tasks: readonly HeartbeatTask[];
  /** The delivery address of the session's last message; null: none. */
  lastUrl: string | null;
  nowMs: number;
}

/**
 * The input of a poll. An alert is not delivered, or goes to the address of the last message or of
 * the configuration.
 */
export function buildPollInput(agent: AgentSettings, facts: PollFacts): { body: OwnInput; route: string } {
  const { target, prompt } = agent.heartbeat;
  const zone = pickPromptZone(agent);
  const { occasion, tasks, nowMs } = facts;
  const { hasMore, faults } = facts.file ?? { hasMore: true, faults: [] };
  const text = pollText({ occasion, tasks, hasMore, faults, prompt, isDelivered: target !== 'none', nowMs, zone });
  return {
    body: { text, ...chooseDelivery(target, facts.lastUrl) },
    route: JSON.stringify(['heartbeat', agent.id, target]),
  };
}

function chooseDelivery(target: string, lastUrl: string | null): Pick<OwnInput, 'deliver' | 'channel'> {
  switch (target) {
    case 'none':
      return { deliver: null };
    case 'last':
      return lastUrl === null ? {} : { deliver: { url: lastUrl } };
    case 'webhook':
      return {};
    default:
      return parseChannelUrl(target) === null ? { channel: target } : { deliver: { url: target } };
  }
}
