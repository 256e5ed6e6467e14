// The canvas: an HTML page that an agent shows beside its session in the dashboard, in a frame that
// runs no scripts and loads nothing.
import type { Feature } from '../../kernel/features.ts';

export const canvas: Feature = {
  name: 'canvas',
  routes: [() => import('./routes.ts')],
  async tools() {
    const { createCanvasTool } = await import('./canvas-tool.ts');
    return ({ config, database }) => (config.tools.canvas.enabled ? [createCanvasTool(database)] : []);
  },
};
