// What a person does on each platform to create a bot, and which secrets it then has. The page of
// the platform says more.
import type { BotAccount } from './accounts.ts';

/**
 * A secret of an account: the field of the configuration, what people call it, and what it looks
 * like.
 */
export interface Secret {
  field: 'token' | 'appToken' | 'signingSecret' | 'secretToken';
  label: string;
  form: RegExp;
}

/** The way to a bot, for a mode. */
type Guide = (mode: BotAccount['mode']) => {
  steps: string[];
  secrets: Secret[];
  next: (added: { channel: string; account: string; bot: string }) => string[];
};

const RESTART = 'Restart the service.';

const telegram: Guide = (mode) => ({
  steps: [
    'In Telegram, open a chat with @BotFather, send /newbot, and answer its questions.',
    'It shows the token of the bot: 123456789:AA...',
  ],
  secrets: [
    { field: 'token', label: 'token of the bot', form: /^\d+:[\w-]{20,}$/ },
    ...(mode === 'webhook'
      ? [
          {
            field: 'secretToken' as const,
            label: 'secret token that you choose for its requests',
            form: /^[\w-]{16,256}$/,
          },
        ]
      : []),
  ],
  next: ({ channel, account, bot }) => [
    RESTART,
    ...(mode === 'webhook'
      ? [
          `Set the webhook of the bot to https://<your host>/v1/channels/${channel}/${account}/webhook, with the secret token: see docs/channels.md#poll-or-webhook`,
        ]
      : []),
    `Then write to @${bot}: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
  ],
});

const signal: Guide = () => ({
  steps: [
    'Install signal-cli (https://github.com/AsamK/signal-cli), and register a number of its own with it, or link it to a phone: see docs/channels.md#signal',
    'Start its daemon: signal-cli -a <number> daemon --http 127.0.0.1:8080 --receive-mode=manual --no-receive-stdout',
  ],
  secrets: [{ field: 'token', label: 'number of the account, such as +4915112345678', form: /^\+\d{7,15}$/ }],
  next: ({ bot }) => [
    RESTART,
    `Then write to ${bot} in Signal: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
  ],
});

const slack: Guide = (mode) => {
  const token: Secret = { field: 'token', label: 'bot user OAuth token, xoxb-...', form: /^xox[a-z]-[\w-]{10,}$/ };
  const steps = [
    'At https://api.slack.com/apps, click "Create New App", "From a manifest", and paste the manifest in docs/channels.md#slack.',
    'Click "Install to Workspace". "OAuth & Permissions" then shows the bot user OAuth token: xoxb-...',
  ];
  if (mode === 'webhook')
    return {
      steps: [...steps, '"Basic Information" shows the signing secret.'],
      secrets: [token, { field: 'signingSecret', label: 'signing secret', form: /^[0-9a-f]{32}$/i }],
      next: ({ channel, account }) => [
        RESTART,
        `Under "Event Subscriptions" and "Interactivity", set the request URL to https://<your host>/v1/channels/${channel}/${account}/webhook`,
      ],
    };
  return {
    steps: [
      ...steps,
      'Under "Basic Information", "App-Level Tokens", generate a token with the scope connections:write: xapp-...',
    ],
    secrets: [token, { field: 'appToken', label: 'app-level token, xapp-...', form: /^xapp-[\w-]{10,}$/ }],
    next: ({ bot }) => [
      RESTART,
      `Then write to ${bot}: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
    ],
  };
};

const discord: Guide = () => ({
  steps: [
    'At https://discord.com/developers/applications, click "New Application".',
    'Under "Bot", enable "Message Content Intent", click "Reset Token", and copy the token.',
    'Under "Installation", copy the install link with the scope "bot" and the rights in docs/channels.md#discord, open it, and choose your server.',
  ],
  secrets: [{ field: 'token', label: 'token of the bot', form: /^[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}$/ }],
  next: ({ bot }) => [
    RESTART,
    `Then write to ${bot} in a direct chat: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
  ],
});

/** By the adapter, which is one of `CHANNEL_ADAPTERS`. */
export const GUIDES: Readonly<Record<string, Guide>> = { telegram, signal, slack, discord };
