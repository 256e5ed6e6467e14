// When an agent is polled, in words.
import type { api } from '../api.ts';
import { durationText } from './time.ts';

type Polls = Awaited<ReturnType<typeof api.listAgents>>['items'][number]['heartbeat'];

const GATES = { command: 'the output of its command', url: 'its web page', file: 'its file' } as const;

/** The interval: `every 30 min`. */
export function intervalText({ everyMs }: Polls): string {
  return everyMs === 0 ? 'is not polled' : `every ${durationText(everyMs)}`;
}

/**
 * In which hours, what must have changed for the agent to be called, and where its alerts are sent.
 */
export function pollText(polls: Polls): string {
  return polls.everyMs === 0 ? alertsText(polls) : `${limitsText(polls)}; ${alertsText(polls)}`;
}

function limitsText({ activeHours, gate }: Polls): string {
  const hours =
    activeHours === null ? 'at any hour' : `${activeHours.start} to ${activeHours.end} (${activeHours.timezone})`;
  return gate === null ? hours : `${hours}, if ${GATES[gate]} has changed`;
}

function alertsText({ target }: Polls): string {
  if (target === 'none') return 'alerts are not sent';
  return target === 'last' ? 'alerts are sent where the last reply was sent' : `alerts are sent to ${target}`;
}
