// The chat platforms that Holdfast connects to itself, and what holds for each without asking it. `channels.<name>.adapter` is one of these, or a package.

interface AdapterFacts {
  /** How messages can come in; the first is the default. */
  modes: readonly ('webhook' | 'poll' | 'socket')[];
  /** What its messages can have in addition to text: see `channels.<name>.capabilities`. */
  capabilities: readonly string[];
  /** The largest file that it takes from a bot. */
  fileBytesMax: number;
}

/** The largest file that is sent at all: on most platforms it is in memory meanwhile. */
export const FILE_BYTES_MAX = 100_000_000;

export const CHANNEL_ADAPTERS: Readonly<Record<string, AdapterFacts>> = {
  telegram: {
    modes: ['poll', 'webhook'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: 50_000_000,
  },
  signal: { modes: ['socket'], capabilities: ['media', 'reactions'], fileBytesMax: FILE_BYTES_MAX },
  // It takes 1 GB.
  slack: {
    modes: ['socket', 'webhook'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: FILE_BYTES_MAX,
  },
  // It takes more in servers that are boosted.
  discord: {
    modes: ['socket'],
    capabilities: ['inlineButtons', 'media', 'reactions'],
    fileBytesMax: 10 * 1024 * 1024,
  },
};
