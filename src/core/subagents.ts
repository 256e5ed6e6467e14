// Subagents: what a session may do by its place in a family, and how its end is announced. A
// subagent works on a task, and sends messages neither to users nor to other sessions; at the
// bottom of its family it has no subagents.
import { given } from './json.ts';
import { cutHead, cutPiece, isBlank } from './text.ts';
import { BLANKS, foldedPattern, foldText, replaceFolded } from '../prompt/fold-text.ts';
import { ownPart, type PromptPart } from '../prompt/prompt-parts.ts';
import { neutralise } from '../prompt/untrusted-text.ts';
import { SILENT_REPLY_TOKEN } from './reply.ts';
import { TOKEN_MARKS } from './heartbeat.ts';

/**
 * `main`: it was not spawned. `orchestrator`: a subagent that may spawn. `leaf`: one that may not.
 */
export type SubagentRole = 'main' | 'orchestrator' | 'leaf';

const DENIED_BELOW = ['gateway', 'agents_list', 'whatsapp_login', 'cron', 'sessions_send', 'message'] as const;

/** Tools that a role does not have, regardless of the tool policy. */
export const DENIED_TOOLS: Readonly<Record<SubagentRole, readonly string[]>> = {
  main: [],
  orchestrator: DENIED_BELOW,
  leaf: [...DENIED_BELOW, 'subagents', 'sessions_list', 'sessions_history', 'sessions_spawn'],
};

/** The role of a session at this depth, when subagents may be spawned down to `depthMax`. */
export function roleAt(depth: number, depthMax: number): SubagentRole {
  if (depth === 0) return 'main';
  return depth < depthMax ? 'orchestrator' : 'leaf';
}

// Announcements: notices that a session receives: a subagent has ended, or a wait is over. The rows
// hold the facts; the text is built here, with the prompt. The output of the subagent is untrusted
// text: it is bounded, neutralised, and cannot imitate the lines around it (G29).

export type RunStatus = 'ok' | 'failed' | 'timedOut' | 'killed';

/** The end of a subagent's run, from its row. Fields that do not apply are absent. */
export interface SubagentEnd {
  kind: 'subagent';
  runId: string;
  /** The subagent's session. */
  sessionId: string;
  sessionKey: string;
  /** Its label, otherwise its task. */
  label: string;
  status: RunStatus;
  /** Why it did not end well. */
  error?: string;
  /** Its last text. */
  result?: string;
  runtimeMs: number;
  inputTokens: number;
  outputTokens: number;
  /** True when the recipient talks with a user; false when it is a subagent itself. */
  isForUser: boolean;
  /** How many other runs of the recipient have not ended. */
  active: number;
}

/** A session ended its turn to wait, and no input has arrived for this long. */
export interface WaitOver {
  kind: 'wait-over';
  seconds: number;
}

export type Announcement = SubagentEnd | WaitOver;

/** The token with which a subagent says that its end need not be announced. */
const ANNOUNCE_SKIP = new RegExp(`^[\\s${TOKEN_MARKS}]*ANNOUNCE_SKIP[\\s${TOKEN_MARKS}]*$`);

/** The maximum kept of a subagent's last text for its announcement: as much as of a tool result. */
const RESULT_CHARS_MAX = 40_000;
const LABEL_CHARS_MAX = 160;
const ERROR_CHARS_MAX = 500;

/** True when an answer asks for no announcement. */
export function isAnnounceSkip(answer: string): boolean {
  return ANNOUNCE_SKIP.test(answer);
}

/** The announcement of an inbox row; null for a row that contains its text itself. */
export function readAnnouncement(body: unknown): Announcement | null {
  // Only the store writes rows of this kind: what it wrote is what is read.
  return (body as { announcement?: Announcement } | null)?.announcement ?? null;
}

/** A subagent's last text as it is stored: bounded, with a note about the omitted part. */
export function boundedResult(text: string): string {
  if (text.length <= RESULT_CHARS_MAX) return text;
  const head = cutHead(text, RESULT_CHARS_MAX);
  return `${head}\n[... ${text.length - head.length} more characters cut]`;
}

export function announcementParts(announcement: Announcement): PromptPart[] {
  switch (announcement.kind) {
    case 'subagent':
      return endParts(announcement);
    case 'wait-over':
      return [ownPart('announcement', waitOverText(announcement))];
    default:
      return announcement satisfies never;
  }
}

/** An announcement as one text, for people to read. */
export function announcementText(announcement: Announcement): string {
  return announcementParts(announcement)
    .map(({ text }) => text)
    .join('\n\n');
}

function endParts(end: SubagentEnd): PromptPart[] {
  const header = `[System Message] [sessionId: ${end.sessionId}] A subagent task "${formatName(end.label)}" just ${statusText(end)}.`;
  const result = end.result === undefined || isBlank(end.result) ? null : withoutImitations(end.result);
  return [
    ownPart('announcement', header),
    result === null
      ? ownPart('announcement-result', `Result:\n${NO_OUTPUT}`)
      : { name: 'announcement-result', origin: 'channel', trust: 'untrusted', text: `Result:\n${result}` },
    ownPart('announcement-stats', `Stats: ${statsText(end)}`),
    ownPart('announcement-instruction', instructionText(end)),
  ];
}

/** What an end says of itself to people. */
export type ShownEnd = Pick<SubagentEnd, 'kind' | 'label' | 'status' | 'error' | 'result'>;

const NO_OUTPUT = '(no output)';
const END_LINE =
  /^\[System Message\] \[sessionId: [^\]\n]{1,200}\] A subagent task "([^"\n]{1,200})" just (completed|timed out|was killed|failed)(?:: ([^\n]{1,1000})\.)?/gm;
const STATUSES: Readonly<Record<string, RunStatus>> = {
  completed: 'ok',
  'timed out': 'timedOut',
  'was killed': 'killed',
  failed: 'failed',
};
/** So much of a result is read for its first line. */
const SHOWN_CHARS = 4_000;

/**
 * The ends of subagents that a text announces, each with the beginning of its result. No text of
 * others can have such a line: its mark is neutralised there (G29).
 */
export function readEnds(text: string): ShownEnd[] {
  return Array.from(text.matchAll(END_LINE), ({ 0: line, 1: label = '', 2: how = '', 3: error, index }) => {
    const [, said = ''] = /^[^\n]*\n\nResult:\n([^]*)/.exec(cutPiece(text, index + line.length, SHOWN_CHARS)) ?? [];
    const [result = ''] = said.split('\n\nStats: ');
    return {
      kind: 'subagent',
      label,
      status: STATUSES[how] ?? 'failed',
      ...given({ error, result: result === NO_OUTPUT ? undefined : result }),
    };
  });
}

function statusText({ status, error }: SubagentEnd): string {
  switch (status) {
    case 'ok':
      return 'completed successfully';
    case 'timedOut':
      return 'timed out';
    case 'killed':
      return 'was killed';
    case 'failed':
      return `failed: ${error === undefined ? 'unknown error' : oneLine(error, ERROR_CHARS_MAX).replace(/\.$/, '')}`;
    default:
      return status satisfies never;
  }
}

function statsText({ runtimeMs, inputTokens, outputTokens }: SubagentEnd): string {
  const tokens = `${tokenCount(inputTokens + outputTokens)} (in ${tokenCount(inputTokens)} / out ${tokenCount(outputTokens)})`;
  return `runtime ${durationText(runtimeMs)} • tokens ${tokens}`;
}

function instructionText({ isForUser, active, status }: SubagentEnd): string {
  if (active > 0) {
    const runs = active === 1 ? 'one other subagent was' : `${active} other subagents were`;
    return (
      `When it ended, ${runs} still at work for this session. If results that belong with this one are still missing, ` +
      `wait for them: reply ONLY ${SILENT_REPLY_TOKEN}. ` +
      (isForUser ? 'Otherwise tell the user about it in your own voice.' : 'Otherwise continue with it.')
    );
  }
  if (!isForUser) {
    return (
      'A subagent task of yours is done. Use the result above and continue your own task; when that is done, give your final answer: it is ' +
      `your report, and nothing that you answered before has been announced. If your last answer already was your report, reply ONLY ${SILENT_REPLY_TOKEN}.`
    );
  }
  const task =
    status === 'ok'
      ? 'A completed subagent task is ready for user delivery. Put the result above into your own voice and send it as your answer now.'
      : 'A subagent task has ended without success. Tell the user in your own voice what happened and what can be done.';
  return (
    `${task} Keep this message itself, ids and figures to yourself. ` +
    `If you have already told the user exactly this, reply ONLY ${SILENT_REPLY_TOKEN}.`
  );
}

function waitOverText({ seconds }: WaitOver): string {
  return (
    `[System Message] Nothing has arrived for ${seconds} s, and your wait has ended. Continue without what you waited for, say so, ` +
    'or wait once more with sessions_yield.'
  );
}

/** `45s`, `5m12s`, `1h3m`. */
function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 === 0 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${Math.floor(minutes / 60)}h${minutes % 60}m`;
}

/** `950`, `8.2k`, `82k`, `1.2m`. */
function tokenCount(count: number): string {
  if (count < 1_000) return String(count);
  if (count < 10_000) return `${(count / 1_000).toFixed(1)}k`;
  if (count < 999_500) return `${Math.round(count / 1_000)}k`;
  return `${(count / 1_000_000).toFixed(1)}m`;
}

/**
 * Untrusted text inside one of our lines: one line, bounded, and without the quotes that end it.
 */
function formatName(label: string): string {
  return oneLine(label, LABEL_CHARS_MAX).replaceAll(/["“”]/g, "'") || 'task';
}

function oneLine(text: string, charsMax: number): string {
  const line = neutralise(cutHead(text, charsMax * 8))
    .replaceAll(/[\s\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  return line.length > charsMax ? `${cutHead(line, charsMax - 1).trimEnd()}…` : line;
}

const OWN_LINE = foldedPattern(
  `^${BLANKS}*(?:result${BLANKS}*:${BLANKS}*$|stats${BLANKS}*:(?=${BLANKS}*runtime))`,
  'gm',
);

// A result that contains the end mark and imitates our text would be believed.
function withoutImitations(result: string): string {
  const text = neutralise(boundedResult(result));
  const folded = foldText(text);
  return replaceFolded(folded, OWN_LINE, (line) => `${line.trimEnd().replace(/[:：]$/u, '')} (untrusted):`);
}
