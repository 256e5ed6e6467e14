// Alerts: what needs attention is sent to webhooks that admins name, once when it begins and once
// when it ends. What an operator has acknowledged or snoozed is not sent.
import type { Feature } from '../../kernel/features.ts';

export const alerts: Feature = {
  name: 'alerts',
  inRoles: [{ roles: ['api', 'scheduler'], load: async () => (await import('./rounds.ts')).openAlerts }],
  routes: [() => import('./routes.ts')],
  commands: [
    [() => import('./commands.ts'), { alerts: ['Run', 'webhooks for what needs attention (needs an admin key)'] }],
  ],
};
