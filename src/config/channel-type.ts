// The settings of the places that messages come from and replies go to.

/** Where replies are sent when a message names no `deliver`. */
export interface WebhookSettings {
  /** Absent: replies without a `deliver` of their own stay in the transcript. */
  url?: string;
  /** Standard Webhooks secrets (`whsec_...`): replies are signed with each; absent: one is generated in the data directory. */
  secret?: string | string[];
  /** Hosts (`hooks.lan`, `10.0.0.7:8080`) that messages and crons may name although their addresses are not public. */
  allowPrivate: string[];
  timeoutMs: number;
  maxAttempts: number;
  /** A reply older than this is not sent. */
  expiresAfter: number;
}

/** A chat platform that messages come from, by the name that they give as their `channel`. */
export interface PlatformSettings {
  /** Absent: true. */
  enabled?: boolean;
  /** Its name in prompts; absent: its key. */
  label?: string;
  /** The agent's own number there. */
  phone?: string;
  /** Its capabilities, for the runtime line: `inlineButtons`. */
  capabilities?: string[];
  /** What its chats should know of the `message` tool there: a line each. */
  messageHints?: string[];
  /** Absent: `reactions.mode` where agents can react (Telegram, Signal), otherwise off. */
  reactions?: 'off' | 'minimal' | 'extensive';
  /** Which messages of a group reach the agent; absent: those that mention it. */
  groupActivation?: 'mention' | 'always';
  /** By account id; `details` such as `dm:allowlist`. */
  accounts?: Record<string, { name?: string; details?: string[] }>;
  /** Turns of history in its groups, its direct chats, and with single people; absent: those of `session`. */
  historyLimit?: number;
  dmHistoryLimit?: number;
  dms?: Record<string, { historyLimit?: number }>;
}
