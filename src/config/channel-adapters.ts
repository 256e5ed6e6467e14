// The chat platforms that Holdfast connects to itself, and what holds for each without asking it. `channels.<name>.adapter` is one of these, or a package.

interface AdapterFacts {
  /** How messages can come in; the first is the default. */
  modes: readonly ('webhook' | 'poll' | 'socket')[];
  /** What its messages can have in addition to text: see `channels.<name>.capabilities`. */
  capabilities: readonly string[];
}

export const CHANNEL_ADAPTERS: Readonly<Record<string, AdapterFacts>> = {
  telegram: { modes: ['poll', 'webhook'], capabilities: ['inlineButtons', 'media', 'reactions'] },
  signal: { modes: ['socket'], capabilities: ['media', 'reactions'] },
  slack: { modes: ['socket', 'webhook'], capabilities: ['inlineButtons', 'media', 'reactions'] },
  discord: { modes: ['socket'], capabilities: ['inlineButtons', 'media', 'reactions'] },
};
