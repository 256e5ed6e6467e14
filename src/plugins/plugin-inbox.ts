// Inputs of plugins for sessions: the port that a worker provides, and the checks of a plugin's
// values.
import { createHash } from 'node:crypto';
import { PluginError } from './plugin-error.ts';

/** A line for the next prompt of a session. */
export interface PluginSystemEvent {
  /** `main` is short for `agent:main:main`; a session that does not exist is made. */
  sessionKey: string;
  text: string;
  /**
   * Names the event, unique without a time limit within the plugin: a second call with it queues
   * nothing.
   */
  key: string;
}

/** A message that a session answers. */
export interface PluginMessage {
  sessionKey: string;
  text: string;
  /**
   * Names the message, unique without a time limit within the plugin: a second call with it sends
   * nothing.
   */
  key: string;
  /** Where the answer is delivered; absent: where the configuration says; null: nowhere. */
  deliver?: { url: string } | null;
}

/** `isNew` false: it was queued before under its key, or equals the event before it. */
export interface PluginQueueResult {
  id: string;
  isNew: boolean;
}

/**
 * Puts inputs into sessions for plugins. Resolves after the commit; rejects when nothing is known
 * to be written.
 */
export interface PluginInbox {
  queueSystemEvent(plugin: string, event: PluginSystemEvent): Promise<PluginQueueResult>;
  sendMessage(plugin: string, message: PluginMessage): Promise<PluginQueueResult>;
}

const TEXT_CHARS_MAX = 100_000;
const KEY_CHARS_MAX = 200;

/** Checks the values of a plugin; throws a `PluginError` that names the field. */
export function checkInput(path: string, what: string, input: PluginSystemEvent | PluginMessage): void {
  const fields = (input ?? {}) as unknown as Record<string, unknown>;
  const bounds = { sessionKey: KEY_CHARS_MAX, text: TEXT_CHARS_MAX, key: KEY_CHARS_MAX };
  for (const [field, charsMax] of Object.entries(bounds)) {
    const value = fields[field];
    if (typeof value !== 'string' || value.trim() === '' || value.length > charsMax || value.includes('\u0000')) {
      throw new PluginError(path, `${what}: ${field} is not a text of 1 to ${charsMax} characters`);
    }
  }
}

/** The inbox of a process that runs no turns, such as one that only checks a configuration. */
export const CLOSED_INBOX: PluginInbox = {
  queueSystemEvent: () => Promise.reject(new Error('Only a worker queues system events, and none runs here.')),
  sendMessage: () => Promise.reject(new Error('Only a worker sends messages, and none runs here.')),
};

/** What a key was first used for; equal inputs have equal hashes. */
export function hashInput(input: object): string {
  return createHash('sha256').update(JSON.stringify(input)).digest('hex');
}
