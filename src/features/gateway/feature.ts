// `gateway`: the tool with which an owner's agent reads the state and the configuration of the
// service, and changes the configuration file when a person has approved the change.
import type { Feature } from '../../kernel/features.ts';

export const gateway: Feature = {
  name: 'gateway',
  async tools() {
    const { createGatewayTool } = await import('./gateway-tool.ts');
    return (service) => (service.config.tools.gateway.enabled ? [createGatewayTool(service)] : []);
  },
};
