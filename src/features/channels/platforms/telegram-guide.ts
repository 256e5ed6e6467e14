// How to create a bot on Telegram.
import { RESTART, type Guide } from '../setup-guides.ts';

export const guide: Guide = (mode) => ({
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
});
