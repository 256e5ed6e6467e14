// Crons: turns and events by the clock. A due cron puts its message into an inbox and notes the
// fire; a scheduler settles the fire when the message has ended. Crons come from the configuration,
// the API, the command line, and from agents by a tool.
import type { Feature } from '../../kernel/features.ts';

export const crons: Feature = {
  name: 'crons',
  inRoles: [{ roles: ['scheduler'], load: async () => (await import('./schedule.ts')).openCrons }],
  routes: [() => import('./routes.ts')],
  commands: [[() => import('./commands.ts'), { cron: ['Schedule', 'crons: turns and events by the clock'] }]],
  async tools() {
    const { createCronTool } = await import('./cron-tool.ts');
    return (service) => [createCronTool(service)];
  },
};
