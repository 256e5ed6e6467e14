// The history that a client sends against the stored one: where the two part, and whether the one
// continues the other. Only what was said counts, because clients drop and merge the rest.
import type { ClientEntry, Conversation } from './conversation.ts';

interface SaidEntry {
  role: 'user' | 'assistant';
  kind: string;
  texts: readonly string[];
}

/** The stored texts of a session, oldest first. */
export interface StoredHistory {
  entries: (SaidEntry & { id: string })[];
  /** False when a summary replaces the beginning, or when only the newest entries were read. */
  isWhole: boolean;
}

/** Something that was said: answers of several steps are one, and white space does not count. */
interface Said {
  role: 'user' | 'assistant';
  text: string;
  /** The place of the entry that it begins with. */
  startsAt: number;
}

function saidIn(entries: readonly SaidEntry[]): Said[] {
  const said: Said[] = [];
  for (const [startsAt, { role, kind, texts }] of entries.entries()) {
    const text = kind === 'results' ? '' : texts.join(' ').replaceAll(/\s+/g, ' ').trim();
    const last = said.at(-1);
    if (text === '') continue;
    if (last?.role === role) last.text += ` ${text}`;
    else said.push({ role, text, startsAt });
  }
  return said;
}

function toSaidEntry({ role, kind, content }: ClientEntry): SaidEntry {
  return { role, kind, texts: content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) };
}

/** The first words of a conversation. */
export function firstWords({ history, fresh }: Pick<Conversation, 'history' | 'fresh'>): string {
  const asked = fresh.kind === 'message' ? [{ role: 'user' as const, kind: 'prompt', texts: [fresh.text] }] : [];
  return saidIn([...history.map(toSaidEntry), ...asked])[0]?.text ?? '';
}

/**
 * True when the client has sent all that is stored, and nothing else: as far as it is kept, where
 * the beginning was compacted.
 */
export function isContinued(stored: StoredHistory, sent: readonly ClientEntry[]): boolean {
  const [said, sentSaid] = [saidIn(stored.entries), saidIn(sent.map(toSaidEntry))];
  const isAllSent = stored.isWhole ? said.length === sentSaid.length : said.length < sentSaid.length;
  return isAllSent && said.length > 0 && partHistory(stored, sent) === null;
}

/** Where two histories part. */
export interface PartedHistory {
  /** The last stored entry of what both begin with; null: they begin differently. */
  lastEntryId: string | null;
  /** The messages of the client's history after that. */
  rest: ClientEntry[];
}

/**
 * Compares what was said. Null: they agree. A client may leave out the beginning, and so may the
 * stored history when it was compacted.
 */
export function partHistory(
  { entries: stored, isWhole }: StoredHistory,
  sent: readonly ClientEntry[],
): PartedHistory | null {
  const [said, sentSaid] = [saidIn(stored), saidIn(sent.map(toSaidEntry))];
  const length = isWhole ? sentSaid.length : Math.min(said.length, sentSaid.length);
  const [end, sentEnd] = [said.slice(Math.max(0, said.length - length)), sentSaid.slice(sentSaid.length - length)];
  if (end.length === length && commonLength(end, sentEnd) === length) return null;
  const common = commonLength(said, sentSaid);
  if (common === 0) return { lastEntryId: null, rest: [...sent] };
  const last = (said[common]?.startsAt ?? stored.length) - 1;
  return { lastEntryId: stored[last]?.id ?? null, rest: sent.slice(sentSaid[common]?.startsAt ?? sent.length) };
}

/** How many of the first things that were said are the same in both. */
function commonLength(stored: readonly Said[], sent: readonly Said[]): number {
  const at = sent.findIndex(({ role, text }, index) => role !== stored[index]?.role || text !== stored[index].text);
  return at === -1 ? sent.length : at;
}
