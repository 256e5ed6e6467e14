// `nodes`: MCP servers that are paired devices, offered as one tool. An invocation is a call of the
// node's own tool: to the policies, which have chosen the tools, to approvals, to the ledger and to
// the node.
import { z } from 'zod';
import { findClosest } from '../../config/config-error.ts';
import { cutHead } from '../../core/text.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { errorOutcome, textOutcome, type Tool } from '../../tools/tool.ts';
import { markOf, untrusted, UNTRUSTED_CHARS_MAX } from '../../tools/untrusted-result.ts';
import { describeTool, type CallableTool } from './find-and-call.ts';
import type { ServerState } from './store/servers.ts';

const schema = z.strictObject({
  action: z.enum(['list', 'describe', 'invoke']),
  node: z.string().trim().max(100).optional().describe('The name of the node; for describe and invoke'),
  tool: z.string().trim().max(200).optional().describe('A tool of the node; for invoke, and to describe only one'),
  input: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The input of the tool, as describe shows it; for invoke'),
});

/** `tools` has at least one. */
export function createNodesTool(
  tools: readonly CallableTool[],
  readStates: (names: readonly string[]) => Promise<ServerState[]>,
): Tool {
  const nodes = Map.groupBy(tools, ({ server }) => server);
  const find = (input: unknown): CallableTool | undefined => {
    const { data } = schema.safeParse(input);
    if (data?.action !== 'invoke') return undefined;
    return nodes.get(data.node ?? '')?.find(({ name }) => name === data.tool);
  };
  const tool = defineTool({
    name: 'nodes',
    description:
      'Use the paired nodes (phones, computers and other devices). list names them, describe returns the tools of one with their input schemas, and invoke runs a tool on it.',
    summary: 'List, describe and invoke paired nodes',
    input: schema,
    isIdempotent: tools.every((each) => each.isIdempotent),
    isReadOnly: tools.every((each) => each.isReadOnly),
    timeoutMs: Math.max(...tools.map((each) => each.tool.timeoutMs ?? 0)),
    async run(asked, call) {
      if (asked.action === 'list') {
        const states = new Map((await readStates([...nodes.keys()])).map((state) => [state.name, state]));
        const lines = [...nodes].map(
          ([name, own]) => `${name}: ${describeState(states.get(name))}; ${own.map((each) => each.name).join(', ')}`,
        );
        return textOutcome(untrusted('List of nodes', cutHead(lines.join('\n'), UNTRUSTED_CHARS_MAX), markOf(call)));
      }
      const own = nodes.get(asked.node ?? '');
      if (own === undefined) return errorOutcome(notFound('node', asked.node, [...nodes.keys()]));
      const named = own.filter(({ name }) => name === asked.tool);
      const isWhole = asked.action === 'describe' && asked.tool === undefined;
      if (named.length === 0 && !isWhole)
        return errorOutcome(
          notFound(
            'tool',
            asked.tool,
            own.map(({ name }) => name),
          ),
        );
      if (asked.action === 'invoke' && named[0] !== undefined) return await named[0].tool.run(asked.input ?? {}, call);
      const shown = isWhole ? own : named;
      const charsMax = Math.floor(UNTRUSTED_CHARS_MAX / shown.length) - 2;
      const texts = shown.map(({ name, definition }) => cutHead(describeTool(name, definition), charsMax));
      return textOutcome(untrusted(`Tools of ${asked.node}`, texts.join('\n\n'), markOf(call)));
    },
  });
  return {
    ...tool,
    runs: (input) => find(input)?.offeredAs,
    mayRepeat: (input) => find(input)?.isIdempotent ?? true,
    onlyReads: (input) => find(input)?.isReadOnly ?? true,
  };
}

function describeState(state: ServerState | undefined): string {
  return state?.state === 'lost' ? `cannot be reached since ${state.changedAt.toISOString()}` : 'connected';
}

function notFound(field: 'node' | 'tool', value: string | undefined, known: readonly string[]): string {
  const names = cutHead(known.join(', '), 2_000);
  if (value === undefined) return `nodes: ${field}: expected one of ${names}`;
  const close = findClosest(value, known);
  const hint = close === undefined ? `There are: ${names}` : `Did you mean ${close}?`;
  return `nodes: ${field}: there is no ${field} ${JSON.stringify(cutHead(value, 100))}. ${hint}`;
}
