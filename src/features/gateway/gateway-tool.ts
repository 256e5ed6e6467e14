// The `gateway` tool. What it does is loaded when it is first used. A change always waits for an
// approval (G36).
import { z } from 'zod';
import type { Service } from '../../kernel/use-cases/service.ts';
import { defineTool } from '../../tools/define-tool.ts';
import type { Tool } from '../../tools/tool.ts';

const input = z.strictObject({
  action: z.enum(['status', 'config.get', 'config.schema', 'config.apply']),
  path: z
    .string()
    .trim()
    .max(300)
    .optional()
    .describe('For config.get and config.schema: the part that is asked for, such as agents.defaults'),
  patch: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('For config.apply: a JSON merge patch of the configuration file; null removes a key'),
  baseHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'the sha256 that config.get returns')
    .optional()
    .describe('For config.apply: the sha256 of the file that the patch is for, as config.get returns it'),
});

export type GatewayInput = z.output<typeof input>;

const isChange = (asked: unknown): boolean => input.safeParse(asked).data?.action === 'config.apply';

export function createGatewayTool(service: Service): Tool {
  const tool = defineTool({
    name: 'gateway',
    description:
      'Read the state (status) and the configuration (config.get, config.schema) of this Holdfast service, and change its configuration file (config.apply). ' +
      'Secrets are shown as fingerprints. A change is checked first, and waits until a person has approved it.',
    summary: 'Show the state and the configuration of Holdfast; change the configuration with an approval',
    input,
    // The hash of the file lets a change through once.
    isIdempotent: true,
    isReadOnly: false,
    run: async (asked) => (await import('./actions.ts')).runAction(service, asked),
  });
  return { ...tool, onlyReads: (asked) => !isChange(asked), needsApproval: isChange };
}
