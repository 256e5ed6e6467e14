// What things are called for people, each in one line (decision 136): a session by a person, a chat
// or a cron, a turn by what it answers, a result by its first line, a worker by its machine. Lists,
// transcripts, the search, the command line and the dashboard show these words and make none of
// their own.
import { cutHead } from './text.ts';
import { given, isObject } from './json.ts';
import type { SessionKind } from './session-key.ts';
import { readEnds, type Announcement, type RunStatus, type ShownEnd, type WaitOver } from './subagents.ts';

/** The most characters of words in a list. */
export const WORDS_CHARS_MAX = 120;
/** So much of a text is read for one line of it. */
const READ_CHARS = 4_000;

const ESCAPE = String.fromCodePoint(27);
/** Sequences that colour the text of a terminal. */
const ANSI = new RegExp(`${ESCAPE}\\[[0-9;?]*[ -/]*[@-~]`, 'g');

/** A text in one line; null: it has no words. */
export function lineOf(text: string | null | undefined, charsMax = WORDS_CHARS_MAX): string | null {
  const line = cutHead(text ?? '', READ_CHARS)
    .replaceAll(ANSI, '')
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim();
  return line === '' ? null : cutHead(line, charsMax);
}

/** The first line of a text that has words; null: it has none. */
function firstLineOf(text: string): string | null {
  return lineOf(/\S[^\n]*/.exec(cutHead(text, READ_CHARS).replaceAll(ANSI, ''))?.[0]);
}

// Tool calls.

/** Arguments that say what a call does, the most telling first. */
const TELLING = 'command cmd file_path path pattern query url task message text name action sessionId'.split(' ');

/** What a call does, by its most telling argument; null: it has no arguments. */
export function callWords(input: unknown): string | null {
  if (typeof input === 'string') return lineOf(input);
  if (!isObject(input)) return null;
  const values = Object.values(input);
  const telling = TELLING.map((name) => input[name]).find((value) => typeof value === 'string' && value.trim() !== '');
  const only = values.length === 1 && typeof values[0] === 'string' ? values[0] : undefined;
  return values.length === 0 ? null : lineOf((telling as string | undefined) ?? only ?? JSON.stringify(input));
}

/** The line before or after text of others in a result: of Holdfast, and of other services. */
const MARKS = /^\[[^\n]{1,200} [\da-f]{12}(?:: written by others\.[^\n]{0,200})?\]$|^<\/?untrusted[^>\n]{0,200}>$/gm;
/** Fields in which a result in JSON says most, the most telling first. */
const SAYING = ['error', 'text', 'message', 'result', 'output', 'content', 'reply', 'summary', 'stdout', 'status'];
/** A result within a result, within a result. */
const DEPTH_MAX = 3;

/** A result by its first line, without what was put around it; null: it has no words. */
export function resultWords(text: string): string | null {
  const inner = text.replaceAll(MARKS, '').trim();
  return firstLineOf(/^[[{]/.test(inner) ? (saidIn(parseJson(inner)) ?? inner) : inner);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function saidIn(value: unknown, depth = 0): string | null {
  if (typeof value === 'string') return value.trim() === '' ? null : value;
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return null;
  const fields = Array.isArray(value)
    ? value.slice(0, 1)
    : SAYING.map((name) => (value as Record<string, unknown>)[name]);
  for (const field of fields) {
    const said = saidIn(field, depth + 1);
    if (said !== null) return said;
  }
  return null;
}

// Inputs and turns.

/** An input as far as its words matter; `text` may be its beginning. */
export interface WordedInput {
  kind: string;
  text: string | null;
  announcement: Announcement | null;
}

const CRON_MARK = /^\[cron:\S{1,100} ([^\]\n]{1,300})\] /;

/** What the text of a tick begins with; the name has no brackets. */
export function cronMark({ id, name }: { id: string; name: string }): string {
  return `[cron:${id} ${name}] `;
}

/** The name of the cron whose tick a text is; null: it is none. */
export function cronNameOf(text: string): string | null {
  return CRON_MARK.exec(text)?.[1] ?? null;
}

/** What stands for an input without words. */
const KIND_WORDS: Readonly<Record<string, string>> = {
  message: 'Message',
  announcement: 'Announcement',
  announce: 'Announcement',
  cron: 'Cron',
  heartbeat: 'Heartbeat',
  followup: 'Follow-up',
  batch: 'Batch item',
  compaction: 'Compaction',
};

/** An input, or the turn that answers it first, for people. */
export function titleOfInput({ kind, text, announcement }: WordedInput): string {
  const own = KIND_WORDS[kind] ?? kind;
  if (announcement !== null) return endWords(announcement);
  if (kind === 'heartbeat' || kind === 'compaction') return own;
  return cronNameOf(text ?? '') ?? lineOf(text) ?? own;
}

/** The beginning of what an input says; null: it has no words. */
export function wordsOfInput({ text, announcement }: WordedInput): string | null {
  return announcement === null ? lineOf(text?.replace(CRON_MARK, '')) : endWords(announcement);
}

const ENDS = { ok: 'completed', timedOut: 'timed out', killed: 'was killed', failed: 'failed' } as const;

/** What an announcement says, by what ended: `Subagent “research” completed: Two sources agree.` */
export function endWords(announcement: ShownEnd | WaitOver): string {
  if (announcement.kind === 'wait-over') return `Nothing arrived for ${announcement.seconds} s`;
  const { label, status, result, error } = announcement;
  const said = status === 'failed' ? lineOf(error) : resultWords(result ?? '');
  return lineOf(`${subagentName(label)} ${ENDS[status]}${said === null ? '' : `: ${said}`}`) ?? '';
}

/** A run of a subagent: its label or its task, and what became of it. */
export function titleOfRun({ label, task, status, error, result }: ShownRun): string {
  const name = label ?? task;
  if (status === 'running') return subagentName(name);
  return endWords({
    kind: 'subagent',
    label: name,
    status,
    ...given({ error: error ?? undefined, result: result ?? undefined }),
  });
}

interface ShownRun {
  label: string | null;
  task: string;
  status: RunStatus | 'running';
  error: string | null;
  result: string | null;
}

const NAME_CHARS_MAX = 60;

const subagentName = (label: string): string => `Subagent “${lineOf(label, NAME_CHARS_MAX) ?? 'task'}”`;

// Sessions and workers.

/** What a session can be called by; each null: there is none. */
export interface SessionNames {
  key: string;
  kind: SessionKind;
  label: string | null;
  channel: string | null;
  /** Who sent its newest message. */
  person: string | null;
  /** The name of the group or the conversation of its newest message. */
  chat: string | null;
  /** Its first input. */
  input: WordedInput | null;
}

/** Sessions that have their names in their first input; people write in those of the other kinds. */
export const NAMED_AT_FIRST: readonly SessionKind[] = ['cron', 'subagent', 'batch', 'try'];

/** A session for people, by its label, its cron, its task, its chat or who writes in it. */
export function titleOfSession({ key, kind, label, channel, person, chat, input }: SessionNames): string {
  const [, agentId = '', ...rest] = key.split(':');
  const own = rest.join(':');
  const where = channel === null || channel === 'api' ? '' : ` · ${channel}`;
  const named = lineOf(label);
  if (named !== null) return named;
  if (kind === 'heartbeat') return `Heartbeat of ${agentId}`;
  if (NAMED_AT_FIRST.includes(kind)) return input === null ? own : titleOfInput(input);
  const who = lineOf(kind === 'group' ? chat : (person ?? chat));
  if (who !== null) return `${who}${where}`;
  if (kind === 'main') return agentId === 'main' ? 'Main session' : `Main session of ${agentId}`;
  return own.startsWith(`${channel}:`) ? `${own.slice(`${channel}:`.length)}${where}` : `${own}${where}`;
}

/** A process for people: its host and its number, without the id that follows. */
export function titleOfWorker(name: string): string {
  return name.replace(/:[\da-f-]{36}$/, '');
}

// Entries of a transcript.

export const AUTHOR_KINDS = [
  'person',
  'session',
  'subagent',
  'cron',
  'heartbeat',
  'agent',
  'tools',
  'holdfast',
] as const;

interface Author {
  kind: (typeof AUTHOR_KINDS)[number];
  /** For people. */
  name: string;
}

/** An entry as far as its words matter. */
export interface WordedEntry {
  kind: string;
  /** Its first text. */
  text: string;
  /** The parts of a prompt; null: not known. */
  parts: readonly { name: string; start: number; end: number }[] | null;
  /** What the sender wrote, without what was put around it; null: not known. */
  clean: string | null;
  /** The session that sent it; null: none, or not known. */
  fromSession: string | null;
}

const HOLDFAST: Author = { kind: 'holdfast', name: 'Holdfast' };

/** Whose words an entry has, and these in one line. */
export function describeEntry(entry: WordedEntry): { author: Author; words: string | null } {
  const { kind, text } = entry;
  if (kind === 'answer') return { author: { kind: 'agent', name: 'Agent' }, words: lineOf(text) };
  if (kind === 'results') return { author: { kind: 'tools', name: 'Tools' }, words: null };
  // A note of Holdfast to the model, such as one that asks for a whole answer.
  if (kind === 'summary' || text.startsWith('[holdfast] ')) return { author: HOLDFAST, words: lineOf(text) };
  return describeInput(entry);
}

function describeInput({ kind, text, parts, clean, fromSession }: WordedEntry): ReturnType<typeof describeEntry> {
  const has = (name: string): boolean => parts?.some((part) => part.name === name) ?? false;
  const [end, ...more] = kind === 'steer' || has('announcement') ? readEnds(text) : [];
  if (end !== undefined) {
    const words = `${endWords(end)}${more.length === 0 ? '' : `, and ${more.length} more`}`;
    return { author: { kind: 'subagent', name: subagentName(end.label) }, words };
  }
  const { said, senders } = kind === 'steer' ? withoutContext(text) : readContext(text, parts);
  const words = lineOf(clean ?? said);
  const cron = has('cron') ? cronNameOf(clean ?? said) : null;
  if (has('cron'))
    return { author: { kind: 'cron', name: cron === null ? 'Cron' : `Cron “${cron}”` }, words: cron ?? words };
  if (has('heartbeat')) return { author: { kind: 'heartbeat', name: 'Heartbeat' }, words };
  if (has('announcement') || has('compaction')) return { author: HOLDFAST, words };
  if (fromSession !== null || has('subagent-context'))
    return { author: { kind: 'session', name: 'Another session' }, words };
  return { author: { kind: 'person', name: nameSenders(senders) ?? 'Person' }, words };
}

/** Names of people that are shown together. */
const SENDERS_MAX = 3;

function nameSenders(senders: readonly string[]): string | null {
  const names = [...new Set(senders)];
  return names.length > SENDERS_MAX ? null : lineOf(names.join(', '), NAME_CHARS_MAX);
}

const INFO = 'Conversation info ';
const FENCE = '```json\n';

/** The parts of a prompt that are said, and who its metadata names. */
function readContext(text: string, parts: WordedEntry['parts']): { said: string; senders: string[] } {
  const texts = (parts ?? []).map(({ name, start, end }) => ({ name, text: text.slice(start, end) }));
  const said = texts.find(({ name }) => ['body', 'cron', 'heartbeat', 'compaction'].includes(name))?.text;
  const infos = texts.filter((part) => part.name === 'context' && part.text.startsWith(INFO));
  return { said: said ?? text, senders: infos.flatMap((info) => senderIn(info.text)) };
}

/** The first line of a block of metadata, which no other text can have (G29). */
const LABEL = /^[A-Z][\w ]{1,60} \(untrusted[\w, ]{1,40}\):\n```json\n/;

/** The same for a message that joined a turn, which begins with the blocks of its metadata. */
function withoutContext(text: string): { said: string; senders: string[] } {
  let said = text;
  const senders: string[] = [];
  while (LABEL.test(said)) {
    const end = said.indexOf('\n```', said.indexOf(FENCE) + FENCE.length);
    if (end === -1) break;
    if (said.startsWith(INFO)) senders.push(...senderIn(said.slice(0, end)));
    said = said.slice(end + '\n```'.length).trimStart();
  }
  return { said, senders };
}

function senderIn(info: string): string[] {
  const json = info.slice(info.indexOf(FENCE) + FENCE.length).replace(/\n?```\s*$/, '');
  const fields = parseJson(json);
  const sender = isObject(fields) ? fields['sender'] : undefined;
  return typeof sender === 'string' ? [sender] : [];
}

// Money.

/** Less than four decimals show. */
const USD_MIN = 0.0001;

/** Money as people read it, always with four decimals; `-`: it is not known. */
export function moneyText(usd: number | null): string {
  if (usd === null) return '-';
  return usd > 0 && usd < USD_MIN ? '<$0.0001' : `$${usd.toFixed(4)}`;
}

interface Cost {
  costUsd: number | null;
  /** Whether the scripted model answered: the money was not spent. */
  simulated: boolean;
}

/**
 * The text of a cost among those that it is shown with. Money that was not spent is marked, unless
 * none of them was spent: then `simulatedNote` says so once.
 */
export function costText({ costUsd, simulated }: Cost, among: readonly Pick<Cost, 'simulated'>[] = []): string {
  const isMarked = simulated && costUsd !== 0 && (among.length === 0 || among.some((other) => !other.simulated));
  return `${moneyText(costUsd)}${isMarked ? ' simulated' : ''}`;
}

/** What is said once of costs that are shown together; null: nothing, all of them were paid or are marked. */
export function simulatedNote(costs: readonly Pick<Cost, 'simulated'>[]): string | null {
  const isAll = costs.length > 0 && costs.every(({ simulated }) => simulated);
  return isAll ? 'All of it is simulated: the scripted model answered, and no money was spent.' : null;
}
