// How to create a bot on Discord.
import { RESTART, type Guide } from '../setup-guides.ts';

export const guide: Guide = () => ({
  steps: [
    'At https://discord.com/developers/applications, click "New Application".',
    'Under "Bot", enable "Message Content Intent", click "Reset Token", and copy the token.',
    'Under "Installation", copy the install link with the scope "bot" and the rights of docs/discord.md, open it, and choose your server.',
  ],
  secrets: [{ field: 'token', label: 'token of the bot', form: /^[\w-]{20,}\.[\w-]{5,}\.[\w-]{20,}$/ }],
  next: ({ bot }) => [
    RESTART,
    `Then write to ${bot} in a direct chat: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
  ],
});
