// How to create a bot on Slack.
import { RESTART, type Guide, type Secret } from '../setup-guides.ts';

export const guide: Guide = (mode) => {
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
};
