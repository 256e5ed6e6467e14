// The latest events of a stream, up to a limit, and at first those of the last hour. It survives a
// pause: the stream resumes after the last id, so no event is missing.
import { api } from '../api.ts';
import { beginningOf } from '../format/long-text.ts';
import { serverNowMs } from '../format/time.ts';
import type { ClientEvent, EventChoice } from '../../../src/client/create-client.ts';

/** An event as the log shows it. */
export interface LoggedEvent {
  /** Its id; a `reset`, which has none, gets a number. */
  key: string;
  type: string;
  at: string;
  sessionKey: string | null;
  turnId: string | null;
  /** Its other fields as JSON, cut. */
  text: string;
}

/** The most events that are kept; the oldest are dropped. */
const EVENTS_MAX = 2_000;
/** The most that is kept of one. */
const TEXT_CHARS_MAX = 400;
/**
 * An id begins with the number of its transaction. A new log begins so many transactions back, and
 * leaves out what is older than an hour: the service has no events by time.
 */
const TRANSACTIONS_BACK = 8_192n;
const ID_BITS = 16n;
const PAST_MS = 3_600_000;

/** How often the screen is updated, however many events arrive. */
const SHOWN_MS = 200;

export interface EventLog {
  /** Oldest first. */
  readonly events: readonly LoggedEvent[];
  /**
   * The id after which it continues: that of the last event, or of the beginning; null: it has not
   * begun.
   */
  readonly lastId: string | null;
  /** How many were dropped because there were too many. */
  readonly dropped: number;
  readonly state: 'connecting' | 'open' | 'broken' | 'failed';
  /** What ended the stream, with the state `failed`. */
  readonly error: unknown;
  /**
   * Receives events until the signal says otherwise. Called again, it continues after the last one.
   */
  follow: (signal: AbortSignal) => void;
  clear: () => void;
  /** Calls back after changes, at most five times a second; returns the way to end that. */
  onChange: (listener: () => void) => () => void;
}

/** Where a new log begins, and the id up to which its events are not live. */
interface Past {
  begin: string;
  until: bigint;
}

/** Whether an event is from before the last hour; and that some of those were deleted is no news. */
function isTooOld({ id, type, at }: ClientEvent, past: Past | null, lastId: string | null): boolean {
  if (past === null) return false;
  if (type === 'reset') return lastId === past.begin;
  return BigInt(id ?? 0) <= past.until && Date.parse(at) < serverNowMs() - PAST_MS;
}

/** A log; each `follow` is one stream, and another one continues where it ended. */
export function createEventLog(choice: { types: string[]; session: string | undefined }): EventLog {
  const { changed, onChange } = createNotice();
  const log = {
    events: [] as LoggedEvent[],
    lastId: null as string | null,
    dropped: 0,
    state: 'connecting' as EventLog['state'],
    error: null as unknown,
    clear() {
      log.events = [];
      log.dropped = 0;
      changed();
    },
    onChange,
    follow: (signal: AbortSignal) => void follow(signal),
  };
  let resets = 0;

  let past: Past | null = null;

  function add(event: ClientEvent): void {
    if (isTooOld(event, past, log.lastId)) return;
    if (event.id !== null) log.lastId = event.id;
    log.events.push(loggedOf(event, `reset-${(resets += 1)}`));
    const extra = log.events.length - EVENTS_MAX;
    if (extra > 0) {
      log.events.splice(0, extra);
      log.dropped += extra;
    }
    changed();
  }

  async function follow(signal: AbortSignal): Promise<void> {
    /** After its signal, a stream changes nothing: another one may have begun. */
    const note = (part: { state?: EventLog['state']; error?: unknown; lastId?: string }): void => {
      if (signal.aborted) return;
      Object.assign(log, part);
      changed();
    };
    note({ state: 'connecting', error: null });
    try {
      if (log.lastId === null) {
        const until = await readHorizon(choice, signal);
        if (until === null) return;
        past = { begin: String(beginningOfPast(until)), until };
        note({ lastId: past.begin });
      }
      const stream = api.events({
        // These types were entered by a user: the service refuses unknown ones.
        types: choice.types.length === 0 ? undefined : (choice.types as unknown as EventChoice['types']),
        session: choice.session,
        after: log.lastId ?? undefined,
        signal,
        onOpen: () => note({ state: 'open' }),
        // So that a pause before the first event leaves no gap.
        onId: (lastId) => note({ lastId }),
        onBreak: () => note({ state: 'broken' }),
      });
      for await (const event of stream) {
        if (signal.aborted) return;
        add(event);
      }
    } catch (error) {
      note({ state: 'failed', error });
    }
  }

  return log;
}

const beginningOfPast = (horizon: bigint): bigint => {
  const begin = horizon - (TRANSACTIONS_BACK << ID_BITS);
  return begin < 0n ? 0n : begin;
};

/** The id up to which everything has happened, which a stream says first; null: it was stopped. */
async function readHorizon(choice: { session: string | undefined }, signal: AbortSignal): Promise<bigint | null> {
  const found = new AbortController();
  let horizon: bigint | null = null;
  const note = (id: string): void => {
    horizon ??= BigInt(id);
    found.abort();
  };
  const stream = api.events({
    ...choice,
    types: undefined,
    signal: AbortSignal.any([signal, found.signal]),
    onId: note,
  });
  for await (const { id } of stream) if (id !== null) note(id);
  return horizon;
}

/** Calls listeners some time after a change, and once for all changes until then. */
function createNotice(): { changed: () => void; onChange: EventLog['onChange'] } {
  const listeners = new Set<() => void>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    changed() {
      timer ??= setTimeout(() => {
        timer = undefined;
        for (const listener of listeners) listener();
      }, SHOWN_MS);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function loggedOf(event: ClientEvent, resetKey: string): LoggedEvent {
  if (event.type === 'reset')
    return { key: resetKey, type: event.type, at: event.at, sessionKey: null, turnId: null, text: '' };
  const { id, type, at, sessionKey, turnId, ...more } = event;
  return { key: id, type, at, sessionKey, turnId, text: beginningOf(JSON.stringify(more), TEXT_CHARS_MAX) };
}
