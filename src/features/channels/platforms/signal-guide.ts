// How to give Holdfast a number of Signal.
import { RESTART, type Guide } from '../setup-guides.ts';

export const guide: Guide = () => ({
  steps: [
    'Install signal-cli (https://github.com/AsamK/signal-cli), and register a number of its own with it, or link it to a phone: see docs/signal.md',
    'Start its daemon: signal-cli -a <number> daemon --http 127.0.0.1:8080 --receive-mode=manual --no-receive-stdout',
  ],
  secrets: [{ field: 'token', label: 'number of the account, such as +4915112345678', form: /^\+\d{7,15}$/ }],
  next: ({ bot }) => [
    RESTART,
    `Then write to ${bot} in Signal: it answers with a code. Allow yourself with: holdfast pairing approve <code>`,
  ],
});
