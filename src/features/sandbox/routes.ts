// The sandbox of commands.
import { z } from 'zod';
import { defineRead, type Route } from '../../api/route.ts';
import { sandboxView } from '../../contract/sandbox.ts';
import { readSandboxes } from './views.ts';

const getSandbox = defineRead({
  operationId: 'getSandbox',
  belongs: 'service',
  path: '/v1/sandbox',
  summary: 'What the commands of agents run in, by the processes that run them',
  shows: { description: 'The configuration, and the state of each process', schema: sandboxView },
  async read(_request, { context }) {
    const { tools, sandbox } = context.config;
    const { runtime, network, limits } = sandbox;
    const view: z.output<typeof sandboxView> = {
      mode: tools.exec.enabled ? tools.exec.sandbox : 'off',
      runtime,
      network: network === 'none' ? [] : [...network],
      limits,
      items: await readSandboxes(context.reads),
    };
    return view;
  },
});

export const routes: Route[] = [getSandbox];
