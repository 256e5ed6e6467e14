// What an agent's messages on a channel can have in addition to text. Prompts, the schema of the `message` tool and what it lets through
// are all decided from this, so none of them offers what another refuses.
import { CHANNEL_ADAPTERS, FILE_BYTES_MAX } from './channel-adapters.ts';
import type { Config } from './schema.ts';

export interface MessageFeatures {
  /** Files can be sent. */
  media: boolean;
  /** Messages can be reacted to. */
  reactions: boolean;
}

/** The platforms whose channels take reactions without saying so among their capabilities. */
const REACTING_CHANNELS: ReadonlySet<string> = new Set(['telegram', 'signal']);

type Parts = Pick<Config, 'channels' | 'reactions'>;

/** What the configuration says that a channel supports, else what its adapter does. */
export function capabilitiesOf({ channels }: Pick<Config, 'channels'>, channel: string): readonly string[] {
  const { capabilities, adapter = '' } = channels.platforms[channel] ?? {};
  return capabilities ?? CHANNEL_ADAPTERS[adapter]?.capabilities ?? [];
}

/** The largest file that a message on a channel can have. */
export function fileBytesMaxOf({ channels }: Pick<Config, 'channels'>, channel: string): number {
  const { adapter = '' } = channels.platforms[channel] ?? {};
  return CHANNEL_ADAPTERS[adapter]?.fileBytesMax ?? FILE_BYTES_MAX;
}

/** How freely an agent reacts on a channel; `off`: it cannot. */
export function chooseReactionMode(config: Parts, channel: string): Config['reactions']['mode'] {
  const canReact = REACTING_CHANNELS.has(channel) || capabilitiesOf(config, channel).includes('reactions');
  return config.channels.platforms[channel]?.reactions ?? (canReact ? config.reactions.mode : 'off');
}

export function chooseMessageFeatures(config: Parts, channel: string): MessageFeatures {
  return {
    media: capabilitiesOf(config, channel).includes('media'),
    reactions: chooseReactionMode(config, channel) !== 'off',
  };
}
