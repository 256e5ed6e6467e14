// Reads the messages of a server before the protocol's library does, which takes no message that
// differs from the protocol in a single field and would lose an answer with it. What it gets is a
// message that it takes; what the server has sent goes along in `_meta`, and is read in
// `sent-answers.ts`. A response to a request of ours is its answer, whatever it looks like.
import {
  isJSONRPCRequest,
  parseJSONRPCMessage,
  ProtocolErrorCode,
  type JSONRPCMessage,
} from '@modelcontextprotocol/client';
import { isObject } from '../../core/json.ts';
import { changeFields, tidySchema, type JsonSchema } from '../../core/json-schema.ts';
import { cutHead } from '../../core/text.ts';
import { readDefinition } from './rules/read-definition.ts';

/** The field of `_meta` with what the server has sent. */
export const SENT_FIELD = 'holdfast/sent';

/** The requests without an answer that are remembered. */
const ASKED_MAX = 1_000;
/** The library gives up a list that has more. */
const PAGES_MAX = 60;
const REASON_CHARS_MAX = 1_000;

/** A request without an answer. */
interface Asked {
  id: string | number;
  method: string;
}

export class MessageReader {
  readonly #asked = new Map<string, Asked>();
  /** The cursors of the list of tools that is read now. */
  readonly #cursors = new Set<string>();

  /** Call it with each message that is sent. */
  note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    const { method, params = {} } = message;
    if (method === 'notifications/cancelled') this.#asked.delete(String(params['requestId']));
    if (!isJSONRPCRequest(message)) return;
    this.#asked.set(String(message.id), { id: message.id, method });
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > ASKED_MAX && oldest !== undefined) this.#asked.delete(oldest);
    if (method !== 'tools/list') return;
    if (typeof params['cursor'] === 'string') this.#cursors.add(params['cursor']);
    else this.#cursors.clear();
  }

  /**
   * The messages of a text, in the form of the protocol; what is none is left out. `request`: the
   * one that the text was sent in answer to, where that is known. Throws `SyntaxError` for a text
   * that is not JSON.
   */
  read(text: string, request?: Pick<Asked, 'id'>): JSONRPCMessage[] {
    const value: unknown = JSON.parse(text);
    const messages = Array.isArray(value)
      ? value.map((each: unknown) => [each, () => JSON.stringify(each)] as const)
      : [[value, () => text] as const];
    return messages.flatMap(([message, toText]) => {
      try {
        return isObject(message) ? this.#read(message, toText, request) : [];
      } catch {
        // It is not in the form of the protocol, and answers nothing.
        return [];
      }
    });
  }

  #read(
    message: Record<string, unknown>,
    toText: () => string,
    request: Pick<Asked, 'id'> | undefined,
  ): JSONRPCMessage[] {
    if (typeof message['method'] === 'string')
      return [parseJSONRPCMessage({ ...withoutNulls(message), jsonrpc: '2.0' })];
    const asked = this.#findAsked(message, request);
    if (asked === undefined) return [];
    this.#asked.delete(String(asked.id));
    const { id, method } = asked;
    const { result = null, error = null } = message;
    if (result === null && isError(error)) return [{ jsonrpc: '2.0', id, error: toError(error, method) }];
    try {
      const read = this.#readResult(result, method, toText);
      return [parseJSONRPCMessage({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...read } })];
    } catch {
      return [
        { jsonrpc: '2.0', id, error: { code: ProtocolErrorCode.InternalError, message: 'the answer cannot be read' } },
      ];
    }
  }

  /**
   * An answer without an id is one to the request that it was sent in answer to, and so is an error
   * with an id of its own.
   */
  #findAsked(
    { id = null, result, error = null }: Record<string, unknown>,
    request: Pick<Asked, 'id'> | undefined,
  ): Asked | undefined {
    const asked = this.#asked.get(String(id));
    if (asked !== undefined) return asked;
    if (!isError(error) && (id !== null || result === undefined)) return undefined;
    if (request !== undefined) return this.#asked.get(String(request.id));
    // A subscription has no answer as long as the connection lasts.
    const [only, ...others] = [...this.#asked.values()].filter(({ method }) => method !== 'subscriptions/listen');
    return id === null && isError(error) && others.length === 0 ? only : undefined;
  }

  #readResult(result: unknown, method: string, toText: () => string): object {
    switch (method) {
      case 'tools/call':
      case 'tasks/result':
        return needsState(result) ? result : { content: [], _meta: { [SENT_FIELD]: toText() } };
      case 'tools/list':
        return this.#readPage(result);
      case 'ping':
        return {};
      case 'initialize':
      case 'server/discover':
        return isObject(result) ? readServer(withoutNulls(result)) : {};
      default:
        return isObject(result) ? withoutNulls(result) : {};
    }
  }

  #readPage(result: unknown): object {
    const { tools = null, nextCursor } = isObject(result) ? result : { tools: result };
    // The library says what is wrong with it.
    if (tools !== null && !Array.isArray(tools)) return { tools };
    const read = ((tools ?? []) as unknown[]).map((tool, at) => readDefinition(tool, at + 1));
    const isNext =
      typeof nextCursor === 'string' &&
      nextCursor !== '' &&
      !this.#cursors.has(nextCursor) &&
      this.#cursors.size < PAGES_MAX;
    return {
      ttlMs: 0,
      cacheScope: 'private',
      ...(isNext ? { nextCursor } : {}),
      tools: read.map((tool) => ({
        name: tool.name,
        inputSchema: headerSchema(tool.definition.inputSchema),
        _meta: { [SENT_FIELD]: tool },
      })),
    };
  }
}

/** Servers of JSON-RPC 1 write one that says nothing beside each result. */
function isError(error: unknown): boolean {
  return Boolean(error);
}

function toError(error: unknown, method: string): { code: number; message: string; data?: unknown } {
  const { code, message, data } = isObject(error) ? error : { message: error };
  const words =
    typeof message === 'string' && message.trim() !== '' ? message : cutHead(JSON.stringify(error), REASON_CHARS_MAX);
  return {
    code: Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError,
    message: words,
    // It says which versions of the protocol the server has.
    ...(method === 'server/discover' && data !== undefined ? { data } : {}),
  };
}

/** The server needs nothing but its own state to continue the call; the library sends that back. */
function needsState(result: unknown): result is object {
  const { resultType, requestState, inputRequests = {} } = isObject(result) ? result : {};
  const asksNothing = isObject(inputRequests) && Object.keys(inputRequests).length === 0;
  return resultType === 'input_required' && typeof requestState === 'string' && asksNothing;
}

/** What is read of a server that introduces itself. */
function readServer({ serverInfo, capabilities, instructions: _unused, ...rest }: Record<string, unknown>): object {
  const { name, version } = isObject(serverInfo) ? serverInfo : {};
  const { tools } = isObject(capabilities) ? capabilities : {};
  const hasTools = tools !== undefined && tools !== null && tools !== false;
  const isReporting = isObject(tools) && tools['listChanged'] === true;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    ...rest,
    serverInfo: { name: text(name), version: text(version) },
    capabilities: hasTools ? { tools: isReporting ? { listChanged: true } : {} } : {},
  };
}

/** What the library reads of a schema: which fields of a call it sends as headers, too. */
function headerSchema(schema: JsonSchema): JsonSchema {
  if (!JSON.stringify(schema).includes('"x-mcp-header"')) return { type: 'object' };
  const { properties = {}, ...rest } = tidySchema(schema);
  return { ...rest, properties: changeFields(properties as JsonSchema, (each) => (isObject(each) ? each : {})) };
}

/** Null is the same as absent, and so are words in `_meta`. */
function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== null && (name !== '_meta' || isObject(value))),
  );
}
