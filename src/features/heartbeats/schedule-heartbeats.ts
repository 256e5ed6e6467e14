// The heartbeats' part of a scheduler: its rounds claim the polls that are due; beside them, it
// checks whether each needs a model call, and settles it. Cheap checks come first; the gate comes
// last, because it starts commands and asks servers. A poll that finds nothing costs no token.
import { HOST_TIMEZONE, systemClock, orAborted } from '../../clock.ts';
import { type AgentSettings, agentOf, isAgent, type Config } from '../../config.ts';
import { budgetBookOf } from '../budgets/rounds.ts';
import { BUDGET_REACHED } from '../budgets/rules/budget.ts';
import {
  chooseOccasion,
  dueTasks,
  firstPoll,
  isWithinHours,
  timesAfter,
  type HeartbeatFile,
  type TaskTimes,
} from '../../core/heartbeat.ts';
import type { MessageId } from '../../core/ids.ts';
import { given } from '../../core/json.ts';
import { canonicalSessionKey } from '../../core/session-key.ts';
import { newId } from '../../ids.ts';
import { Lease, LeaseKeeper } from '../../lease-keeper.ts';
import { buildPollInput } from './poll-input.ts';
import { readHeartbeatFile } from './read-heartbeat-file.ts';
import { claimPolls, renewPolls, syncPolledAgents, type ClaimedPoll } from './store/heartbeats.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import { settlePoll, type JudgedPoll } from './store/settle-poll.ts';
import { loadWorkspaceFiles } from '../../kernel/turn/open/load-workspace.ts';
import { checkGate } from './heartbeat-gate.ts';
import type { Logger } from '../../logger.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

export interface HeartbeatParts extends Pick<Service, 'config' | 'database' | 'inbox' | 'publish'> {
  logger: Logger;
  /** Names this scheduler as an owner of polls; never used twice. */
  owner: string;
  signal: AbortSignal;
  /** Called when a poll is settled: `made`, or why it was not. Absent: nothing counts. */
  onPolled?: (result: string) => void;
}

/** Why a poll is skipped. */
type SkipReason =
  | 'disabled'
  | 'busy'
  | 'quiet-hours'
  | typeof BUDGET_REACHED
  | 'empty-heartbeat-file'
  | 'nothing-due'
  | 'unchanged'
  | 'gate-failed'
  | 'unknown-agent';

const FILE_NAME = 'HEARTBEAT.md';
/** Polls that are claimed together. */
const POLLS_MAX = 16;
/** Polls that a scheduler checks at the same time. */
const CHECKS_MAX = 64;

/** Makes the rows of the polled agents match the configuration. */
export async function syncHeartbeats(
  { config, database, inbox }: Pick<HeartbeatParts, 'config' | 'database' | 'inbox'>,
  nowMs: number,
): Promise<void> {
  const agents = polledAgents(config);
  const rows = await Promise.all(
    agents.map(async ({ id, heartbeat: { every } }) => ({
      agentId: id,
      sessionId: await inbox.ensureSession(buildNewSession(canonicalSessionKey(`agent:${id}:main`))),
      everyMs: every,
      firstAtMs: firstPoll(id, every, nowMs),
    })),
  );
  await syncPolledAgents(database, rows);
}

/** What a scheduler does with its polls. */
export interface Polls {
  /**
   * Claims the polls that are due, and starts the check of each; not twice at the same time. False:
   * no more can be checked now.
   */
  start(): Promise<boolean>;
  /** Resolves when none is being checked. */
  ended(): Promise<void>;
}

/**
 * Each poll is checked and settled for itself: one whose check takes its whole time, or hangs,
 * delays nothing but the heartbeat of its agent.
 */
export function openPolls(parts: HeartbeatParts): Polls {
  const { config, database, owner, signal } = parts;
  const { leaseMs } = config.runtime;
  const checks = new Map<string, Promise<void>>();
  const renew = () => renewPolls(database, { owner, leaseMs });
  const leases = new LeaseKeeper({ leaseMs, clock: systemClock, of: 'polls', outages: database.outages, renew });

  async function check(poll: ClaimedPoll, lease: Lease): Promise<void> {
    try {
      await checkPoll(parts, poll, lease);
    } catch (error) {
      database.outages.report(error, 'Heartbeat could not be settled; it is checked again');
    }
    checks.delete(poll.id);
    leases.drop(poll.id);
  }

  return {
    async start() {
      while (!signal.aborted && checks.size < CHECKS_MAX) {
        const ids = Array.from({ length: Math.min(POLLS_MAX, CHECKS_MAX - checks.size) }, () => newId<string>());
        const askedAtMs = systemClock.monotonicMs();
        const polls = await claimPolls(database, { owner, leaseMs, ids, checking: [...checks.keys()] });
        if (polls.length === 0) return true;
        for (const poll of polls) {
          const lease = new Lease({ id: poll.id, leaseMs, clock: systemClock, askedAtMs });
          checks.set(poll.id, check(poll, leases.keep(lease)));
        }
      }
      return false;
    },
    async ended() {
      await Promise.all(checks.values());
    },
  };
}

/**
 * Checks a claimed poll, and makes it if it is needed. One that is not known when the scheduler
 * stops, or loses it, is left to the next scheduler.
 */
async function checkPoll(parts: HeartbeatParts, poll: ClaimedPoll, lease: Lease): Promise<void> {
  const { database, publish, owner, onPolled } = parts;
  const signal = AbortSignal.any([parts.signal, lease.signal]);
  const judge = () => judgePoll({ ...parts, signal }, poll, lease);
  const judged = await orAborted(signal, judge).catch((error: unknown) => {
    if (signal.aborted) return null;
    throw error;
  });
  if (judged === null) return;
  const { settled } = publish(await settlePoll(database, { id: poll.id, owner, ...judged }));
  if (settled !== null) onPolled?.(settled.status === 'fired' ? 'made' : (settled.reason ?? 'skipped'));
}

/** The result of a poll's checks; null when the signal aborts before it is known. */
async function judgePoll(parts: HeartbeatParts, poll: ClaimedPoll, lease: Lease): Promise<JudgedPoll | null> {
  const { config, signal, logger } = parts;
  const left = (reason: SkipReason): JudgedPoll => ({ reason });
  if (!isAgent(config, poll.agentId)) return left('unknown-agent');
  const agent = agentOf(config, poll.agentId);
  if (!config.heartbeat.enabled) return left('disabled');
  const occasion = poll.trigger === 'manual' ? 'manual' : chooseOccasion(poll.contextKeys);
  if (occasion === 'manual') return made(agent, poll, { occasion, file: null, tasks: [] });
  if (agent.heartbeat.every === 0) return left('disabled');
  if (poll.isBusy) return left('busy');
  if (isQuiet(agent, poll.nowMs)) return left('quiet-hours');
  const facts = { agentId: agent.id, sessionKey: `agent:${agent.id}:main`, keyName: null, batchId: null };
  if (budgetBookOf(parts).reached(facts) !== null) return left(BUDGET_REACHED);
  // A result has arrived that a person waits for.
  if (occasion !== 'interval') return made(agent, poll, { occasion, file: null, tasks: [] });
  const file = await readFile(agent, (error) =>
    logger.warn({ err: error, agentId: agent.id }, 'HEARTBEAT.md could not be read'),
  );
  if (file !== null && file.faults.length > 0) {
    logger.warn({ agentId: agent.id, faults: file.faults }, 'HEARTBEAT.md has entries that cannot be read as tasks');
  }
  if (file?.isEmpty === true) return left('empty-heartbeat-file');
  const tasks = dueTasks(file?.tasks ?? [], poll.tasks, poll.nowMs);
  if (file !== null && file.tasks.length > 0 && tasks.length === 0 && !file.hasMore) return left('nothing-due');
  const { when } = agent.heartbeat;
  let gateSha256: string | undefined;
  if (when !== undefined) {
    lease.assertHeld();
    const gate = await checkGate(when, { agent, config, pollId: poll.id, signal });
    if (signal.aborted) return null;
    if (gate.kind === 'failed') return { ...left('gate-failed'), detail: gate.reason };
    gateSha256 = gate.sha256;
    // The first check only stores the current state.
    if (poll.gateSha256 === null || poll.gateSha256 === gateSha256) return { ...left('unchanged'), gateSha256 };
  }
  const times: TaskTimes | null =
    file === null || file.tasks.length === 0 ? null : timesAfter(file, poll.tasks, tasks, poll.nowMs);
  return { ...made(agent, poll, { occasion, file, tasks }), ...given({ gateSha256 }), tasks: times };
}

function made(
  agent: AgentSettings,
  { lastUrl, nowMs }: ClaimedPoll,
  asked: Pick<Parameters<typeof buildPollInput>[1], 'occasion' | 'tasks' | 'file'>,
): JudgedPoll {
  const { body, route } = buildPollInput(agent, { ...asked, lastUrl, nowMs });
  return { poll: { messageId: newId<MessageId>(), body: JSON.stringify(body), route } };
}

function isQuiet({ heartbeat: { activeHours }, userTimezone }: AgentSettings, nowMs: number): boolean {
  if (activeHours === undefined) return false;
  const { timezone } = activeHours;
  const zone = timezone === 'user' ? userTimezone : timezone === 'local' ? HOST_TIMEZONE : timezone;
  return !isWithinHours(activeHours, zone, nowMs);
}

/**
 * HEARTBEAT.md of the agent; null when it does not exist. An unreadable file does not stop the
 * poll.
 */
async function readFile(agent: AgentSettings, onError: (error: unknown) => void): Promise<HeartbeatFile | null> {
  try {
    const [file] = await loadWorkspaceFiles(agent.workspaceDir, [FILE_NAME]);
    return file === undefined || file.content === null ? null : readHeartbeatFile(file.content);
  } catch (error) {
    onError(error);
    return null;
  }
}

function polledAgents(config: Config): AgentSettings[] {
  if (!config.heartbeat.enabled) return [];
  return config.agents.list.map(({ id }) => agentOf(config, id)).filter(({ heartbeat }) => heartbeat.every > 0);
}
