// Approvals in turns: holds the calls that a rule names, and lets one run when a person has
// approved exactly it.
import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve } from 'node:path';
import { hasWordsOfOthers, type InboundMessage } from '../../core/inbound.ts';
import type { Config } from '../../config.ts';
import { APPROVAL_MS } from '../../config/schema-tools.ts';
import { formatDuration } from '../../core/time.ts';
import type { Tool } from '../../tools/tool.ts';
import { newId } from '../../ids.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import type { Known, NewHold, PlannedCall, Resumption } from '../../kernel/turn/hold-kind.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { chatToAsk } from './ask-in-chat.ts';
import { canonicalInput, findRule, isOfOthers, type CertainSandbox } from './rules.ts';
import {
  findGiven,
  readShownInput,
  settleApprovals,
  storeApprovals,
  type NewApproval,
  type SettledApproval,
} from './store/approvals.ts';

/** What holds a call whose tool says so, where no rule does. */
const FORCED = { rule: { ask: 'always', timeout: APPROVAL_MS }, reasons: ['tool'] } as const;

/** How long a call waits whose row of the approval was read while it was being decided. */
const AGAIN_MS = 100;

export function approvalsInTurns({ config, database }: TurnParts): TurnFeature {
  return {
    calls: {
      code: 'approval',
      async hold(turn, calls) {
        const { rules, webhook } = config.tools.approvals;
        const { kind, body } = turn.journal.at.inputs.at(-1) ?? {};
        const isAsked = kind === 'message' && chatToAsk(config, body as InboundMessage) !== null;
        const isNoticed = webhook !== undefined || isAsked;
        const found = new Map<number, NewHold | Known>();
        const mustAsk = ({ call, tool }: PlannedCall): boolean => tool?.needsApproval?.(call.input) === true;
        if (rules.length === 0 && !calls.some(mustAsk)) return found;
        const isUntrusted = readsOthers(turn, config.owner.ids);
        for (const planned of calls) {
          const { call, ordinal, tool } = planned;
          if (tool === undefined) continue;
          const name = nameOf(tool, call.input);
          const { workspaceDir } = turn.agent;
          const judged = {
            tool: name,
            agentId: turn.agent.id,
            sandbox: certainSandbox(config),
            leavesWorkspace: leavesFolder(call.input, workspaceDir),
            isUntrusted,
          };
          const isForced = mustAsk(planned);
          const verdict = findRule(rules, judged) ?? (isForced ? FORCED : null);
          if (verdict === null) continue;
          const whatSha256 = hashCall(turn, name, call.input);
          const shown = await tool.show?.(call.input, { workspaceDir, signal: turn.held.signal });
          // What an input only names can be another thing the next time.
          const mayBeGiven = verdict.rule.ask === 'once' && !isForced && shown === undefined;
          if (mayBeGiven && (await findGiven(database, turn.session.id, whatSha256))) continue;
          const id = newId<string>();
          const { reasons, rule } = verdict;
          const input = shown ?? call.input;
          const facts: NewApproval = { id, tool: name, input, folder: workspaceDir, whatSha256, reasons };
          const data = { approvalId: id, callId: call.id, tool: name, expiresInMs: rule.timeout };
          const events = [{ type: 'approval.requested' as const, data }];
          const wait = { forMs: rule.timeout, facts, events, ref: id, isNoticed };
          found.set(ordinal, { kind: 'held', code: 'approval', ...wait });
        }
        return found;
      },
      async resume(turn, calls) {
        const rows = await settleApprovals(database, turn.id, turn.journal.at.progress.steps);
        return new Map(
          calls.map((one): [number, Resumption] => {
            const row = rows.find(({ ordinal }) => ordinal === one.ordinal);
            return [one.ordinal, decide(turn, one, row, one.leftMs ?? 0)];
          }),
        );
      },
      keep: storeApprovals,
      readShown: (turn, place) => readShownInput(database, { turnId: turn.id, ...place }),
      explain(_turn, calls) {
        const approvals = calls.map(({ call, ref }) => ({ id: ref, tool: call.name }));
        const text = `The turn waits for an approval of ${approvals.map(({ tool }) => tool).join(', ')}.`;
        return { text, by: approvals[0]?.id ?? null, facts: { approvals } };
      },
    },
  };
}

/** What becomes of a call. It runs only if it is what was shown, to the last character. */
function decide(
  turn: OpenedTurn,
  { call, tool }: PlannedCall,
  row: SettledApproval | undefined,
  leftMs: number,
): Resumption {
  if (row === undefined) return notRun('there is no request for it');
  switch (row.status) {
    case 'open':
      return { kind: 'held', forMs: Math.max(leftMs, AGAIN_MS), ref: row.id };
    case 'approved':
      if (tool === undefined) return notRun('its tool is not there any more');
      return row.callId === call.id && row.whatSha256 === hashCall(turn, nameOf(tool, call.input), call.input)
        ? { kind: 'run' }
        : notRun('what was approved is not what would run now');
    case 'denied':
      return notRun(`${row.decidedBy ?? 'a person'} denied it${row.note === null ? '' : `: ${row.note}`}`);
    case 'expired':
      return notRun(`nothing was decided within ${formatDuration(row.waitedMs)}, which denies it`);
    case 'cancelled':
      return notRun('its request was cancelled');
    default:
      return row.status satisfies never;
  }
}

function notRun(why: string): Known {
  const content = `Not run: this call needed an approval, and ${why}.`;
  return { kind: 'known', outcome: { content, isError: true }, status: 'skipped' };
}

/**
 * The name of the tool that runs: one that another tool runs is held back as if it were called
 * itself.
 */
function nameOf(tool: Tool, input: unknown): string {
  return tool.runs?.(input) ?? tool.spec.name;
}

/**
 * A sandbox that is used where it works says nothing about the call: it may not work when the call
 * runs.
 */
function certainSandbox({ tools, sandbox }: Config): CertainSandbox {
  const isInside = sandbox.runtime === 'external' || tools.exec.sandbox === 'required';
  const isOurs = isInside && sandbox.runtime !== 'external';
  return { isInside, isConfined: isOurs, isOffline: isOurs && sandbox.network === 'none' };
}

/** Identifies a call: the same call of the same session in the same folder has the same hash. */
function hashCall({ session, agent }: OpenedTurn, tool: string, input: unknown): string {
  const what = [session.id, tool, canonicalInput(input), agent.workspaceDir];
  return createHash('sha256').update(JSON.stringify(what)).digest('hex');
}

/**
 * True when a path of the input is not inside the folder. Links are not followed: the tools
 * themselves refuse to leave it by one.
 */
function leavesFolder(input: unknown, folder: string): boolean {
  const { path, file_path: filePath, pattern, image, url } = (input ?? {}) as Record<string, unknown>;
  return [path, filePath, pattern, image, url].some((value) => {
    if (typeof value !== 'string') return false;
    if (value.startsWith('~')) return true;
    const way = relative(folder, resolve(folder, value));
    return way.startsWith('..') || isAbsolute(way);
  });
}

/**
 * True when the turn may have read words of others. Entries of earlier versions do not say whose
 * words they have, the turn's own inputs do.
 */
function readsOthers({ journal, transcript }: OpenedTurn, ownerIds: readonly string[]): boolean {
  return journal.at.inputs.some((input) => hasWordsOfOthers(input, ownerIds)) || transcript.entries.some(isOfOthers);
}
