// The prompt of a heartbeat, and what its answer means: whether it found nothing to do, and whether
// the rest is news.
import { formatMessageTime, type EnvelopeZone } from '../prompt/envelope-time.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, findZone } from './time.ts';
import { computeSpread } from './ids.ts';

// The token by which a model says that a heartbeat poll found nothing to do. It counts at the edges
// of an answer only; in the middle it is ordinary text. The remaining text decides whether the
// answer is delivered.

export const HEARTBEAT_TOKEN = 'HEARTBEAT_OK';

/**
 * The marks that models write around a token, for a class of a pattern: markup, quotes, brackets
 * and the end of a sentence.
 */
export const TOKEN_MARKS = '*`~_.!…。"\'“”„«»‘’()[\\]';

const PASSES_MAX = 8;
const AT_START = new RegExp(`^${HEARTBEAT_TOKEN}(?!\\w)`);
const AT_END = new RegExp(`(?<!\\s)\\s*(?<!\\w)${HEARTBEAT_TOKEN}(\\W{0,4})$`);

/**
 * What can be left beside a token in markup. `< >` cannot: it is left of `<HEARTBEAT_OK<b>>`, of
 * which a stream has shown the beginning before the inner tag ends.
 */
const ONLY_MARKS = new RegExp(`^[\\s${TOKEN_MARKS}]*$`);

/**
 * The meaning of an answer to a poll: nothing to report (`isAck`), or the text that is left without
 * the token.
 */
export interface HeartbeatReply {
  isAck: boolean;
  text: string;
}

/**
 * Reads an answer to a poll. It acknowledges when it is empty, or has the token and at most
 * `ackCharsMax` characters in addition to it.
 */
export function readHeartbeatAnswer(answer: string, ackCharsMax: number): HeartbeatReply {
  const given = answer.trim();
  if (given === '') return { isAck: true, text: '' };
  for (const candidate of [given, withoutMarkup(given)]) {
    const text = withoutToken(candidate);
    if (text !== candidate) return { isAck: text.length <= ackCharsMax, text };
  }
  return { isAck: false, text: given };
}

/**
 * A reply to anything but a poll, without the token at its edges; empty when nothing else was said.
 * Nothing else of it is changed, so that what was shown of it while it came stays as it is.
 */
export function withoutHeartbeatToken(reply: string): string {
  const given = reply.trim();
  if (!given.includes(HEARTBEAT_TOKEN)) return given;
  const rest = withoutEdges(given);
  if (rest !== given) return ONLY_MARKS.test(withoutMarkup(rest)) ? '' : rest;
  const bare = withoutMarkup(given);
  return bare !== given && ONLY_MARKS.test(withoutEdges(bare)) ? '' : given;
}

/** The start of a reply's own text, after its leading tokens. */
export function withoutLeadingHeartbeats(text: string): string {
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) rest = rest.replace(AT_START, '').trimStart();
  return rest;
}

function withoutToken(text: string): string {
  const rest = withoutEdges(text);
  if (rest === text) return text;
  // Only the marks of a token in bold are left.
  return (/[\p{L}\p{N}]/u.test(rest) ? rest : withoutMarkup(rest)).replaceAll(/\s+/g, ' ');
}

/**
 * Without the token at its start, and at its end before up to four marks, as often as it occurs
 * there.
 */
function withoutEdges(text: string): string {
  let rest = text;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const shorter = rest.replace(AT_START, '').replace(AT_END, '$1').trim();
    if (shorter === rest) break;
    rest = shorter;
  }
  return rest;
}

function withoutMarkup(text: string): string {
  return text
    .replaceAll(/<[^<>]{0,200}>/g, ' ')
    .replaceAll(/&nbsp;/gi, ' ')
    .trim()
    .replace(/^[*`~_]+/, '')
    .replace(/(?<![*`~_])[*`~_]+$/, '')
    .trim();
}

// The prompt of a heartbeat, and what counts as news in its answer. The prompt is the configured
// one; when an event has arrived that a person waits for, the poll says that instead.

/**
 * `cron`: a reminder is among the system events. `exec`: so is the end of a command that ran in the
 * background.
 */
export type PollOccasion = 'interval' | 'manual' | 'cron' | 'exec';

export interface PollInput {
  occasion: PollOccasion;
  /** The configured prompt. */
  prompt: string;
  /** The tasks of HEARTBEAT.md that are due; empty: it has none. */
  tasks: readonly HeartbeatTask[];
  /** True when the file asks for more than its tasks. */
  hasMore: boolean;
  /** What cannot be read as a task of the file. */
  faults: readonly string[];
  /** False: the agent's answer is not delivered. */
  isDelivered: boolean;
  nowMs: number;
  zone: EnvelopeZone;
}

/** An alert that was sent: the hash of its text, and when. */
export interface SentAlert {
  sha256: string;
  atMs: number;
}

const CRON_CONTEXT = 'cron:';
const EXEC_CONTEXT = 'exec:';

/** The text of a poll, with the time in its last line. */
export function pollText(input: PollInput): string {
  const time = formatMessageTime(input.nowMs, input.zone) ?? 'unknown';
  return `${writeBody(input)}\nCurrent time: ${time}`;
}

/** The causes of a poll, from the context keys of the waiting system events. */
export function chooseOccasion(contextKeys: readonly (string | null)[]): PollOccasion {
  if (contextKeys.some((key) => key?.startsWith(CRON_CONTEXT))) return 'cron';
  return contextKeys.some((key) => key?.startsWith(EXEC_CONTEXT)) ? 'exec' : 'interval';
}

/** So many different alerts are remembered; more within `dedupeHours` may be sent twice. */
const ALERTS_MAX = 100;

/**
 * The alerts to remember when one is sent, oldest first; null: it repeats one that was sent less
 * than `dedupeHours` ago.
 */
export function alertsAfter(sent: readonly SentAlert[], alert: SentAlert, dedupeHours: number): SentAlert[] | null {
  const recent = sent.filter(({ atMs }) => alert.atMs - atMs < dedupeHours * HOUR_MS);
  if (recent.some(({ sha256 }) => sha256 === alert.sha256)) return null;
  return [...recent, alert].slice(-ALERTS_MAX);
}

function writeBody({ occasion, prompt, tasks, hasMore, faults, isDelivered }: PollInput): string {
  switch (occasion) {
    case 'cron':
      return (
        'A reminder that was scheduled is due. It is the system line above. ' +
        (isDelivered
          ? 'Tell the user about it now, in your own words and in a helpful way.'
          : 'Your answer is not delivered: do what it asks for yourself.')
      );
    case 'exec':
      return (
        'A command that ran in the background has ended. Its result is in the system line above. ' +
        (isDelivered
          ? 'Tell the user the result; if it failed, say so and what can be done.'
          : 'Your answer is not delivered: continue with what you needed it for.')
      );
    case 'interval':
    case 'manual':
      return (tasks.length === 0 ? prompt.trim() : taskBody(prompt, tasks, hasMore)) + faultBody(faults);
    default:
      return occasion satisfies never;
  }
}

const FAULTS_SHOWN_MAX = 10;

function faultBody(faults: readonly string[]): string {
  if (faults.length === 0) return '';
  const more = faults.length - FAULTS_SHOWN_MAX;
  return [
    '',
    '',
    'These lines of HEARTBEAT.md cannot be read as tasks. Correct them if you can; otherwise tell the user:',
    '',
    ...faults.slice(0, FAULTS_SHOWN_MAX).map((fault) => `- ${fault}`),
    ...(more > 0 ? [`- and ${more} more`] : []),
  ].join('\n');
}

function taskBody(prompt: string, tasks: readonly HeartbeatTask[], hasMore: boolean): string {
  return [
    'These recurring tasks of HEARTBEAT.md are due, and only these:',
    '',
    ...tasks.map((task) => `- ${task.name}: ${task.prompt}`),
    '',
    ...(hasMore ? [`In addition: ${prompt.trim()}`, ''] : []),
    `When they are done and nothing needs attention, reply ${HEARTBEAT_TOKEN}.`,
  ].join('\n');
}

/** `HH:MM` each; `24:00` may end a day. */
export interface ActiveHours {
  start: string;
  end: string;
}

/**
 * The first poll of an agent after an instant. Its phase follows from its name: every process
 * computes the same result.
 */
export function firstPoll(agentId: string, everyMs: number, nowMs: number): number {
  const phaseMs = Math.floor(computeSpread(`heartbeat:${agentId}`) * everyMs);
  return phaseMs + (Math.floor((nowMs - phaseMs) / everyMs) + 1) * everyMs;
}

/**
 * True when the clocks of a zone (IANA name) are within the hours. Hours that end before they begin
 * go over midnight; hours that begin and end at the same time are the whole day.
 */
export function isWithinHours(hours: ActiveHours, zone: string, nowMs: number): boolean {
  const startMs = parseMs(hours.start);
  const endMs = parseMs(hours.end);
  const wallMs = nowMs + findZone(zone).offsetAt(nowMs);
  const timeMs = ((wallMs % DAY_MS) + DAY_MS) % DAY_MS;
  if (startMs < endMs) return timeMs >= startMs && timeMs < endMs;
  return startMs === endMs || timeMs >= startMs || timeMs < endMs;
}

function parseMs(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * HOUR_MS + minutes * MINUTE_MS;
}

export interface HeartbeatTask {
  name: string;
  intervalMs: number;
  prompt: string;
}

/** When each task was last part of a poll, epoch milliseconds by its name. */
export type TaskTimes = Readonly<Record<string, number>>;

export interface HeartbeatFile {
  /** True when nothing in it asks for anything. */
  isEmpty: boolean;
  tasks: readonly HeartbeatTask[];
  /** True when it contains text in addition to its tasks. */
  hasMore: boolean;
  /** What cannot be read as a task, each with its line and with what to do. */
  faults: readonly string[];
}

/** The tasks whose interval has passed; one that was never part of a poll is due. */
export function dueTasks(tasks: readonly HeartbeatTask[], times: TaskTimes, nowMs: number): HeartbeatTask[] {
  return tasks.filter(({ name, intervalMs }) => {
    const last = Object.hasOwn(times, name) ? times[name] : undefined;
    return last === undefined || nowMs - last >= intervalMs;
  });
}

/**
 * The times after a poll with these tasks; those of tasks that the file no longer has are removed.
 */
export function timesAfter(
  file: HeartbeatFile,
  times: TaskTimes,
  polled: readonly HeartbeatTask[],
  nowMs: number,
): Record<string, number> {
  const kept = file.tasks.flatMap(({ name }): [string, number][] => {
    if (polled.some((task) => task.name === name)) return [[name, nowMs]];
    const last = Object.hasOwn(times, name) ? times[name] : undefined;
    return last === undefined ? [] : [[name, last]];
  });
  return Object.fromEntries(kept);
}
