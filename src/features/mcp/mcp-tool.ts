// A tool of an MCP server as a tool of agents. A call that was sent and has no answer is like one
// of a worker that has crashed: it is sent again with the same idempotency key if it may run twice,
// else its outcome is unknown (G11).
import { pause } from '../../clock.ts';
import type { McpServerSettings } from '../../config.ts';
import { isObject } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import { neutralise } from '../../prompt/untrusted-text.ts';
import { errorOutcome, ToolTimeoutError, type Tool, type ToolCall, type ToolOutcome } from '../../tools/tool.ts';
import { markOf } from '../../tools/untrusted-result.ts';
import { connectionKey, type Connections } from './connections.ts';
import type { CallReply } from './server-port.ts';
import { toOutcome } from './result-content.ts';
import type { OfferedTool } from './rules.ts';
import { begunOutcome } from './tasks.ts';

/** The field of `_meta` with the key of a call: the same for every run of the same call. */
const KEY_FIELD = 'holdfast/idempotencyKey';

const DESCRIPTION_CHARS_MAX = 8_000;
/** How often a call is sent at most that may run twice, and the pauses between. */
const SENT_MAX = 4;
const PAUSE_MS = 250;
const REASON_CHARS_MAX = 1_000;

export function createMcpTool(tool: OfferedTool, settings: McpServerSettings, connections: Connections): Tool {
  const { offeredAs, server, definition, isIdempotent, isReadOnly } = tool;
  const timeoutMs = settings.timeoutSeconds * 1000;
  const keyOf = ({ sessionKey }: ToolCall): string => connectionKey(server, settings, sessionKey);
  return {
    spec: {
      name: offeredAs,
      description: neutralise(cutHead(definition.description, DESCRIPTION_CHARS_MAX)),
      input_schema: definition.inputSchema,
    },
    // What a server writes is not for the system prompt.
    summary: `A tool of the MCP server ${server}`,
    isIdempotent,
    isReadOnly,
    timeoutMs,
    async run(input, call) {
      // The server checks the rest against its own schema.
      if (!isObject(input)) return errorOutcome(`${offeredAs}: the input must be an object`);
      const { url } = input;
      // Its server refuses file:, but not view-source:file:.
      if (settings.perSession === true && typeof url === 'string' && !isWebAddress(url))
        return errorOutcome(`${offeredAs}: url: expected an address that begins with http:// or https://`);
      try {
        return await runCall(tool, { input, call, connections, key: keyOf(call) });
      } catch (error) {
        if (!(call.signal.aborted && call.signal.reason instanceof ToolTimeoutError)) throw error;
        // A server that hangs would hold up the next call, too.
        void connections.checkAfterCall(keyOf(call));
        const said = `${server} has not answered within ${settings.timeoutSeconds} s`;
        return isIdempotent ? errorOutcome(`${offeredAs}: ${said}. Call it again later.`) : unknownOutcome(said);
      }
    },
  };
}

interface Run {
  input: Record<string, unknown>;
  call: ToolCall;
  connections: Connections;
  /** Names the connection. */
  key: string;
}

async function runCall(tool: OfferedTool, run: Run): Promise<ToolOutcome> {
  const { call } = run;
  const { server, offeredAs, isIdempotent } = tool;
  for (let sent = 1; ; sent += 1) {
    const end = await sendOnce(tool, run);
    if (end.kind === 'answered') {
      const { outputSchema } = tool.definition as { outputSchema?: Record<string, unknown> };
      const outcome = await toOutcome({ server, answer: end.answer, mark: markOf(call), outputSchema });
      return end.isNew && run.key !== server ? withNote(outcome) : outcome;
    }
    if (end.kind === 'begun') return begunOutcome(server, end.task);
    const reason = neutralise(cutHead(end.reason, REASON_CHARS_MAX));
    if (end.kind === 'refused') return errorOutcome(`${offeredAs}: ${server} answers with an error: ${reason}`);
    const isChecked = run.connections.checkAfterCall(run.key);
    if (end.kind === 'unreachable' || (sent >= SENT_MAX && end.kind === 'not-sent'))
      return errorOutcome(`${offeredAs}: the MCP server ${server} cannot be reached, so nothing was done: ${reason}`);
    if (end.kind === 'lost' && !isIdempotent) return unknownOutcome(`the connection to ${server} was lost: ${reason}`);
    if (sent >= SENT_MAX)
      return errorOutcome(`${offeredAs}: ${server} has not answered ${sent} times: ${reason}. Call it again later.`);
    await Promise.all([isChecked, pause(PAUSE_MS * sent, call.signal)]);
    call.signal.throwIfAborted();
  }
}

async function sendOnce(
  tool: OfferedTool,
  { input, call, connections, key }: Run,
): Promise<(CallReply & { isNew: boolean }) | { kind: 'unreachable'; reason: string }> {
  let isConnected = false;
  try {
    return await connections.use(key, {
      signal: call.signal,
      work: async (client, isNew) => {
        isConnected = true;
        call.lease.assertHeld();
        const traced = call.traceparent === undefined ? {} : { traceparent: call.traceparent };
        const meta = { [KEY_FIELD]: call.idempotencyKey, ...traced };
        const isTask = tool.definition.needsTask;
        return { ...(await client.call({ tool: tool.name, input, meta, signal: call.signal, isTask })), isNew };
      },
    });
  } catch (error) {
    if (isConnected || call.signal.aborted) throw error;
    return { kind: 'unreachable', reason: error instanceof Error ? error.message : String(error) };
  }
}

function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

const NEW_PROCESS =
  '[The browser of this session has just started, without pages and cookies. Those of before, if there were some, are lost.]';

function withNote({ content, ...outcome }: ToolOutcome): ToolOutcome {
  const noted =
    typeof content === 'string'
      ? `${NEW_PROCESS}\n${content}`
      : [{ type: 'text' as const, text: NEW_PROCESS }, ...content];
  return { ...outcome, content: noted };
}

function unknownOutcome(why: string): ToolOutcome {
  const content =
    `outcome unknown: the call was sent, and then ${why}. It may or may not have taken effect, and was not sent again. ` +
    'Check before repeating it.';
  return { content, isError: true, isUnknown: true };
}
