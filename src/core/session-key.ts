// The names that sessions are found by. A canonical key is lower case and begins with
// `agent:<id>:`; what follows says by its shape what kind of conversation it is. Canonicalising
// twice changes nothing, so an issued key is always accepted unchanged.
import { cutHead } from './text.ts';
import type { SessionKey } from './ids.ts';

export const SESSION_KINDS = [
  'main',
  'direct',
  'group',
  'subagent',
  'cron',
  'batch',
  'try',
  'heartbeat',
  'other',
] as const;

/**
 * What a session is for, read from the shape of its key. Decides prompt mode, lane and history
 * limit.
 */
export type SessionKind = (typeof SESSION_KINDS)[number];

/** A class of turns with its own concurrency. */
export type Lane = 'main' | 'subagent' | 'cron' | 'batch';
export const LANES: readonly Lane[] = ['main', 'subagent', 'cron', 'batch'];

const KEY_CHARS_MAX = 200;
const DEFAULT_PREFIX = 'agent:main:';
// Checked before lower-casing: some characters outside ASCII become ASCII letters in lower case
// (U+212A, the Kelvin sign).
const ALLOWED = /^[A-Za-z0-9:_.@+-]+$/;
const AGENT_KEY = /^agent:[^:]+:./;
const DIRECT_SEGMENTS: ReadonlySet<string> = new Set(['direct', 'dm']);
const GROUP_SEGMENTS: ReadonlySet<string> = new Set(['group', 'channel']);

/** An invalid session key. The message names the value and the allowed form. */
export class InvalidSessionKeyError extends Error {
  readonly code = 'invalid_session_key';

  constructor(raw: string) {
    const shown = raw.length > 80 ? `${cutHead(raw, 80)}… (${raw.length} characters)` : raw;
    super(
      `session key ${JSON.stringify(shown)} is not valid: 1 to ${KEY_CHARS_MAX} characters of a-z 0-9 : _ . @ + -, ` +
        'and after "agent:" an agent id, a colon and a name',
    );
    this.name = 'InvalidSessionKeyError';
  }
}

/**
 * The canonical form of a key from a request: lower case, and `agent:main:` in front where no agent
 * is named. The length limit is that of the key without that implied prefix. Throws
 * `InvalidSessionKeyError`.
 */
export function canonicalSessionKey(raw: string): SessionKey {
  if (!ALLOWED.test(raw)) throw new InvalidSessionKeyError(raw);
  const lower = raw.toLowerCase();
  const bareChars = lower.startsWith(DEFAULT_PREFIX) ? lower.length - DEFAULT_PREFIX.length : lower.length;
  if (bareChars > KEY_CHARS_MAX) throw new InvalidSessionKeyError(raw);
  if (!lower.startsWith('agent:')) return (DEFAULT_PREFIX + lower) as SessionKey;
  if (!AGENT_KEY.test(lower)) throw new InvalidSessionKeyError(raw);
  return lower as SessionKey;
}

export function agentIdOf(key: SessionKey): string {
  return key.slice('agent:'.length, key.indexOf(':', 'agent:'.length));
}

/**
 * What a session is for. The shapes, after `agent:<id>:`: `main`; `subagent:<id>`; `cron:<id>`;
 * `batch:<id>`; `try:<id>`; `heartbeat`, or a base key that ends in `:heartbeat`;
 * `[<channel>:[<account>:]]direct|dm:<peer>`; `[<channel>:[<account>:]]group|channel:<peer>`. What
 * a peer calls itself never decides: only the first three segments are read.
 */
export function sessionKindOf(key: SessionKey): SessionKind {
  const segments = key.split(':').slice(2);
  const [first] = segments;
  if (first === 'subagent' || first === 'cron' || first === 'batch' || first === 'try') return first;
  const typeAt = segments
    .slice(0, 3)
    .findIndex((segment) => DIRECT_SEGMENTS.has(segment) || GROUP_SEGMENTS.has(segment));
  const hasPeer = typeAt >= 0 && segments.length > typeAt + 1;
  const baseSegments = hasPeer ? typeAt + 2 : 0;
  if (segments.length > baseSegments && segments.at(-1) === 'heartbeat') return 'heartbeat';
  if (hasPeer) return DIRECT_SEGMENTS.has(segments[typeAt] ?? '') ? 'direct' : 'group';
  return first === 'main' && segments.length === 1 ? 'main' : 'other';
}

/**
 * The lane that a session's turns run in. Batch items choose the `batch` lane by the kind of their
 * message instead.
 */
export function laneOf(kind: SessionKind): Lane {
  return kind === 'subagent' || kind === 'cron' || kind === 'batch' ? kind : 'main';
}

/**
 * Sessions whose turns show what would be: nothing leaves them, and what runs in them changes
 * nothing.
 */
export const KINDS_WITHOUT_EFFECTS: readonly SessionKind[] = ['try'];

/** False: nothing may leave the session, and what runs in it must change nothing. */
export function hasEffects({ kind }: { kind: string }): boolean {
  return !(KINDS_WITHOUT_EFFECTS as readonly string[]).includes(kind);
}

/** Sessions that a list leaves out unless it is asked for them. */
export const UNLISTED_KINDS: readonly SessionKind[] = ['batch', ...KINDS_WITHOUT_EFFECTS];

/**
 * The field of turns, by the kind of their session, that names the turn that they are about: the
 * one in their tag of the kind's name.
 */
export const SUBJECT_FIELDS: Partial<Record<SessionKind, string>> = { try: 'tryOf' };

/**
 * The key of a session that is being erased begins with this, so that its own key is free for a new
 * session.
 */
export const ERASING = 'erasing:';
