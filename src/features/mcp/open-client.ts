// Opens a connection to an MCP server, and translates what happens on it. This file and the
// transport are all that knows the protocol's library, which costs a worker 35 MB: they are loaded
// when a server is first used.
import {
  Client,
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import type { Config, McpServerSettings } from '../../config.ts';
import type { Database } from '../../database/database.ts';
import { holdfastVersion } from '../../cli/holdfast-version.ts';
import { given } from '../../core/json.ts';
import { cutHead, storableText } from '../../core/text.ts';
import { HttpTransport, STREAM_ENDED } from './http-transport.ts';
import { beginTask, cancelTask, readTask } from './task-requests.ts';
import type { ListedTool } from './rules.ts';
import { mergeTools } from './rules/read-definition.ts';
import { readListed, readSent } from './sent-answers.ts';
import { isOfSession } from './session-errors.ts';
import { createAuthProvider, LackedScopeError, type LoginProvider } from './oauth.ts';
import { placeServer } from './server-place.ts';
import type { CallReply, OpenClient, ServerCall } from './server-port.ts';
import { NotSentError, StdioTransport } from './stdio-transport.ts';
import type { ServerInfo } from './store/servers.ts';

/**
 * The longest that a server may take to answer before it is connected, and with the list of its
 * tools.
 */
const CONNECT_MS = 30_000;
const LIST_MS = 30_000;
/** A server of the earlier protocol may not answer the question for the newer one at all. */
const PROBE_MS = { stdio: 15_000, http: CONNECT_MS };
const PING_MS = 5_000;
/** The deadline of a call is that of its tool, which aborts it. */
const NO_TIMEOUT_MS = 2_147_483_647;
const TOOLS_MAX = 1_000;
const INFO_CHARS_MAX = 200;

export async function openClient(
  { config, database, name, settings }: Server,
  on: { changed: () => void; closed: () => void },
): Promise<OpenClient> {
  const opening = { config, database, name, settings, changed: on.changed };
  const opened = await connect(opening, 'auto').catch(async (error: unknown) => {
    // A server of the earlier protocol may end at the question for the newer one.
    if (settings.command === undefined || !isNegotiationFault(error)) throw error;
    return await connect(opening, 'legacy');
  });
  const { client, transport, sandbox } = opened;
  client.onclose = on.closed;
  const version = client.getServerVersion();
  return {
    info: {
      name: shown(version?.name),
      version: shown(version?.version),
      protocol: client.getNegotiatedProtocolVersion() ?? null,
      ...(sandbox === undefined ? {} : { sandbox }),
    },
    listTools: () => listTools(opened),
    call: (call) => callTool(opened, call),
    readTask: (id, signal) => readTask(client, id, signal),
    cancelTask: (id, signal) => cancelTask(client, id, signal),
    ping: () => ping(opened),
    async close() {
      client.onclose = () => undefined;
      if (transport instanceof HttpTransport) await transport.terminateSession().catch(() => undefined);
      await client.close();
      await transport.close();
    },
  };
}

/** What a server says of itself, as it is stored. */
function shown(text = ''): string | null {
  return text === '' ? null : cutHead(storableText(text), INFO_CHARS_MAX);
}

/** The newer protocol has no ping. */
async function ping({ client, transport }: Connected): Promise<boolean> {
  try {
    await client[client.getProtocolEra() === 'modern' ? 'discover' : 'ping']({ timeout: PING_MS });
    return true;
  } catch (error) {
    return kindOfFault(error, transport) === 'refused';
  }
}

interface Server {
  config: Config;
  /** The database of logins. */
  database: Database;
  name: string;
  settings: McpServerSettings;
}

interface Connected extends OpenedTransport {
  client: Client;
}

async function connect(
  { changed, ...server }: Server & { changed: () => void },
  mode: 'auto' | 'legacy',
): Promise<Connected> {
  const { settings } = server;
  const opened = await openTransport(server);
  const { transport, login } = opened;
  const timeoutMs = PROBE_MS[settings.command === undefined ? 'http' : 'stdio'];
  const client = new Client(
    { name: 'holdfast', version: holdfastVersion() },
    {
      versionNegotiation: { mode, probe: { timeoutMs } },
      listChanged: { tools: { autoRefresh: false, onChanged: changed } },
    },
  );
  try {
    await withScope(login, () => client.connect(transport, { timeout: CONNECT_MS }));
    return { ...opened, client };
  } catch (error) {
    await client.close().catch(() => undefined);
    await transport.close().catch(() => undefined);
    throw new Error(reasonOf(error, transport), { cause: error });
  }
}

function isNegotiationFault(error: unknown): boolean {
  const { cause } = error as Error;
  return cause instanceof SdkError && cause.code === SdkErrorCode.EraNegotiationFailed;
}

type ServerTransport = StdioTransport | HttpTransport;

interface OpenedTransport {
  transport: ServerTransport;
  sandbox?: ServerInfo['sandbox'];
  /** With OAuth. */
  login?: LoginProvider;
}

async function openTransport({ config, database, name, settings }: Server): Promise<OpenedTransport> {
  const { command, args, env, url, headers, auth } = settings;
  if (command !== undefined) {
    const place = await placeServer(config, name, settings);
    const { wrap, reason, isDecided } = place;
    const sandbox = { isOn: wrap !== null, reason, isDecided };
    return { transport: new StdioTransport({ command, args, env, place }), sandbox };
  }
  const authorization = auth?.token === undefined ? {} : { authorization: `Bearer ${auth.token}` };
  const place = { database, server: name, url: url as string, oauth: auth ?? {} };
  const login = auth?.type === 'oauth' ? createAuthProvider(place) : undefined;
  // The configuration has one of the two.
  const transport = new HttpTransport(new URL(url as string), {
    requestInit: { headers: { ...headers, ...authorization } },
    ...given({ authProvider: login }),
  });
  return { transport, ...given({ login }) };
}

/**
 * Sends a request, and once more with tokens that have been replaced because they lacked a scope.
 */
async function withScope<Answer>(login: LoginProvider | undefined, send: () => Promise<Answer>): Promise<Answer> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof InsufficientScopeError) || login === undefined) throw error;
    await login.replaceScope(error.requiredScope);
    return await send();
  }
}

async function listTools({ client, login }: Connected): Promise<ListedTool[]> {
  // The library writes a line to the output when it is asked all the same.
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const options = { timeout: LIST_MS, cacheMode: 'refresh' } as const;
  const { tools } = await withScope(login, () => client.listTools(undefined, options));
  return mergeTools(tools.map((tool) => readListed(tool))).slice(0, TOOLS_MAX);
}

async function callTool(
  { client, transport, login }: Connected,
  { tool, input, meta, signal, isTask }: ServerCall,
): Promise<CallReply> {
  try {
    const params = { name: tool, arguments: input, _meta: meta };
    const options = { timeout: NO_TIMEOUT_MS, signal };
    if (isTask) return await withScope(login, () => beginTask(client, params, options));
    return { kind: 'answered', answer: readSent(await withScope(login, () => client.callTool(params, options))) };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return { kind: kindOfFault(error, transport), reason: reasonOf(error, transport) };
  }
}

/** What a fault of a call says about it. */
function kindOfFault(error: unknown, transport: ServerTransport): 'refused' | 'not-sent' | 'lost' {
  if (error instanceof NotSentError) return 'not-sent';
  if (error instanceof ProtocolError && error.data === STREAM_ENDED) return 'lost';
  // The server has answered with an error.
  if (error instanceof ProtocolError) return isOfLostSession(error, transport) ? 'not-sent' : 'refused';
  // It asks for a token that may do more.
  if (error instanceof LackedScopeError || error instanceof InsufficientScopeError) return 'refused';
  if (error instanceof SdkHttpError && REFUSALS.has(error.status)) return 'refused';
  // A gateway may answer with any other status after the tool has run.
  if (error instanceof SdkHttpError) return isSessionGone(error, transport) ? 'not-sent' : 'lost';
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return 'not-sent';
    // An answer that is not understood is an answer.
    return ANSWERED.includes(error.code) ? 'refused' : 'lost';
  }
  return NEVER_SENT.has(codeOf(error)) ? 'not-sent' : 'lost';
}

const ANSWERED: readonly SdkErrorCode[] = [SdkErrorCode.InvalidResult, SdkErrorCode.UnsupportedResultType];

function isOfLostSession(error: ProtocolError, transport: ServerTransport): boolean {
  if (transport instanceof StdioTransport || transport.sessionId === undefined) return false;
  return isOfSession(error, transport.sessionId);
}

/** The statuses with which a request is refused before it comes to the tool, with what to do. */
const REFUSALS = new Map([
  [401, 'the server does not accept the credentials; check `auth` or `headers` in its settings'],
  [403, 'the server does not allow this; check `auth` or `headers` in its settings'],
  [413, 'the input is too large for the server; use less'],
  [429, 'the server limits how often it is called; wait before calling it again'],
]);

/**
 * The server no longer knows the session of the connection. Servers that say so with 400 name it.
 */
function isSessionGone({ status, message }: SdkHttpError, transport: ServerTransport): boolean {
  if (transport instanceof StdioTransport || transport.sessionId === undefined) return false;
  return status === 404 || (status === 400 && /session/i.test(message));
}

/** No connection was made. */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** The code of an error, or of what `fetch` names as its cause. */
function codeOf(error: unknown): string {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown };
  return typeof code === 'string' ? code : cause === undefined ? '' : codeOf(cause);
}

function reasonOf(error: unknown, transport: ServerTransport): string {
  const words = transport instanceof StdioTransport ? transport.lastWords.trim() : '';
  const messages = [...new Set(messagesOf(error))].join(': ');
  return words === '' ? messages : `${messages}; it wrote: ${words}`;
}

/** What an error says, and what its causes say: `fetch failed` is not enough to know what to do. */
function messagesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [String(error)];
  const { message, cause } = error;
  return [...statusOf(error), message, ...(cause === undefined ? [] : messagesOf(cause))].filter(Boolean);
}

/** Before the body of the answer, which may be a whole page. */
function statusOf(error: Error): string[] {
  if (!(error instanceof SdkHttpError)) return [];
  const advice = REFUSALS.get(error.status);
  return [`HTTP ${error.status}${advice === undefined ? '' : `, ${advice}`}`];
}
