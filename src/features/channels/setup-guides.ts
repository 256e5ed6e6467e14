// What a person does on each platform to create a bot, and which secrets it then has. The page of the platform says more.
import type { BotAccount } from './accounts.ts';

/** A secret of an account: the field of the configuration, what people call it, and what it looks like. */
export interface Secret {
  field: 'token' | 'appToken' | 'signingSecret' | 'secretToken';
  label: string;
  form: RegExp;
}

/** The way to a bot, for a mode. */
export type Guide = (mode: BotAccount['mode']) => {
  steps: string[];
  secrets: Secret[];
  next: (added: { channel: string; account: string; bot: string }) => string[];
};

export const RESTART = 'Restart the service.';

const GUIDES: Readonly<Record<string, () => Promise<{ guide: Guide }>>> = {
  telegram: () => import('./platforms/telegram-guide.ts'),
  signal: () => import('./platforms/signal-guide.ts'),
  slack: () => import('./platforms/slack-guide.ts'),
  discord: () => import('./platforms/discord-guide.ts'),
};

/** The adapter is one of `CHANNEL_ADAPTERS`. */
export async function loadGuide(adapter: string): Promise<Guide> {
  return (await GUIDES[adapter]!()).guide;
}
