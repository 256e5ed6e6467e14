// What a person does on each platform to create a bot, and which secrets it then has. docs/telegram.md and docs/slack.md say more.
import type { BotAccount } from './accounts.ts';

/** A secret of an account: the field of the configuration, what people call it, and what it looks like. */
export interface Secret {
  field: 'token' | 'appToken' | 'signingSecret' | 'secretToken';
  label: string;
  form: RegExp;
}

interface Guide {
  steps: string[];
  secrets: Secret[];
  next: (added: { channel: string; account: string; bot: string }) => string[];
}

const RESTART = 'Restart the service.';

export function guideOf(adapter: string, mode: BotAccount['mode']): Guide {
  return adapter === 'slack' ? slack(mode) : telegram(mode);
}

function telegram(mode: BotAccount['mode']): Guide {
  return {
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
            `Set the webhook of the bot to https://<your host>/v1/channels/${channel}/${account}/webhook, with the secret token: see docs/telegram.md`,
          ]
        : []),
      `Then write to @${bot}: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
    ],
  };
}

function slack(mode: BotAccount['mode']): Guide {
  const token: Secret = { field: 'token', label: 'bot user OAuth token, xoxb-...', form: /^xox[a-z]-[\w-]{10,}$/ };
  const steps = [
    'At https://api.slack.com/apps, click "Create New App", "From a manifest", and paste the manifest of docs/slack.md.',
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
}
