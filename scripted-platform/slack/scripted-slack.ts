// A scripted Slack: a server with the wires of the Web API, the Events API and Socket Mode, whose
// users are played by a test or over HTTP (docs/scripted-platform.md). It keeps nothing on disk.
import type { z } from 'zod';
import { WebSocketServer } from 'ws';
// prettier-ignore
import { recordOf, serveApi, type Answer, type ApiCall, type ApiRequest, type ApiServer, type Control, type ServerOptions } from '../api-server.ts';
import type { Refusal } from '../faults.ts';
import { disorderSchema, type Disorder, type PushRules } from '../pushes.ts';
import { EventSender } from './event-sender.ts';
import { METHODS } from './methods.ts';
import { edit, press, react, remove, say, seeing, setChannel, type saySchema, type Stage } from './people.ts';
import { textOf } from './read-values.ts';
import { Refused } from './refused.ts';
import { Sockets, type DisconnectReason } from './sockets.ts';
import { Workspace, type App, type Channel, type Json, type Message } from './workspace.ts';

export interface ScriptedSlackOptions extends ServerOptions {
  /** Its apps; what is left out is that of `SLACK_APP`. Absent: one. */
  apps?: Partial<App>[];
  /** How long an app may take to accept an event; absent: 3 s. */
  pushTimeoutMs?: number;
  /** The waits before the three further attempts; absent: at once, a minute, five minutes. */
  pushRetryMs?: readonly [number, number, number];
}

export interface ScriptedSlack extends ApiServer {
  /** The base address of the Web API, `.../api/`. */
  readonly apiUrl: string;
  readonly apps: readonly App[];
  say: (saying: z.input<typeof saySchema> | string) => Message;
  edit: (input: Parameters<typeof edit>[1]) => Message;
  remove: (input: Parameters<typeof remove>[1]) => void;
  react: (input: Parameters<typeof react>[1]) => void;
  press: (input: Parameters<typeof press>[1]) => void;
  /** Makes a channel known, or changes it. */
  setChannel: (input: Parameters<typeof setChannel>[1]) => Json;
  /** The messages of a channel as they are now, oldest first. */
  messages: (channel: string) => Message[];
  /**
   * Has events and presses posted to these addresses, after Slack's check of the first. Rejects
   * when it fails. `app`: its id; absent: the first.
   */
  subscribe: (url: string, interactivityUrl?: string, app?: string) => Promise<void>;
  /** How many sockets an app holds. */
  socketCount: (app?: string) => number;
  /** Asks an app to replace its sockets; without a reason, cuts them. */
  dropSockets: (reason?: DisconnectReason, app?: string) => void;
  /** Has the next events duplicated or reordered. */
  disturb: (disorder: Disorder, app?: string) => void;
}

export const SLACK_APP: App = {
  id: 'A000000001',
  team: 'T000000001',
  botToken: 'xoxb-scripted',
  appToken: 'xapp-scripted',
  signingSecret: 'scripted-signing-secret',
  botUser: 'U0BOT',
  botId: 'B0BOT',
};

const PUSH_TIMEOUT_MS = 3000;
const PUSH_RETRY_MS = [100, 60_000, 300_000] as const;
const LOGIN_PAGE = '<!DOCTYPE html><html><body>Sign in to Slack</body></html>';

/**
 * Starts a scripted Slack; fulfils when it listens, rejects with the socket's error when it cannot.
 */
export async function startScriptedSlack(options: ScriptedSlackOptions = {}): Promise<ScriptedSlack> {
  const { pushTimeoutMs = PUSH_TIMEOUT_MS, pushRetryMs = PUSH_RETRY_MS, apps = [{}] } = options;
  const rules: PushRules = {
    timeoutMs: pushTimeoutMs,
    isStrict: false,
    waitBefore: (attempt) => pushRetryMs[attempt - 2] ?? null,
  };
  const record = recordOf(options);
  const workspace = new Workspace(apps.map((app) => ({ ...SLACK_APP, ...app })));
  const webSockets = new WebSocketServer({ noServer: true });
  const senders = new Map<App, EventSender>();
  for (const app of workspace.apps) {
    const sockets = new Sockets(app.id, webSockets, record.pushes);
    senders.set(app, new EventSender({ app, workspace, sockets, rules, record: record.pushes }));
  }
  let origin = '';
  const stage: Stage = { workspace, senders, origin: () => origin };
  // Each app has a sender.
  const senderOf = (app?: string): EventSender => senders.get(workspace.app(app)) as EventSender;
  const server = await serveApi(options, record, {
    callOf: (request) => callOf(stage, request),
    refuse,
    control: controlOf(stage, senderOf),
    upgrade: (request, socket, head) => {
      const ticket = new URL(request.url ?? '/', 'http://scripted').searchParams.get('ticket') ?? '';
      if (![...senders.values()].some(({ sockets }) => sockets.accept(ticket, request, socket, head))) socket.destroy();
    },
  });
  origin = server.url;
  return {
    ...server,
    apiUrl: `${server.url}/api/`,
    apps: workspace.apps,
    say: (saying) => say(stage, typeof saying === 'string' ? { text: saying } : saying),
    edit: (input) => edit(stage, input),
    remove: (input) => remove(stage, input),
    react: (input) => react(stage, input),
    press: (input) => press(stage, input),
    setChannel: (input) => setChannel(stage, input),
    messages: (channel) => [...(workspace.channels.get(channel)?.messages.values() ?? [])],
    subscribe: (url, interactivityUrl = url, app) => senderOf(app).subscribe(url, interactivityUrl),
    socketCount: (app) => senderOf(app).sockets.count,
    dropSockets: (reason, app) => dropSockets(senderOf(app), reason),
    disturb: (disorder, app) => senderOf(app).disturb(disorder),
    close: async () => {
      for (const sender of senders.values()) sender.close();
      webSockets.close();
      await server.close();
    },
  };
}

/** Bodies are parsed by what they are given to. */
function controlOf(stage: Stage, senderOf: (app?: string) => EventSender): Record<string, Control> {
  const { workspace } = stage;
  return {
    'POST say': (body) => say(stage, body),
    'POST edit': (body) => edit(stage, body),
    'POST remove': (body) => remove(stage, body),
    'POST react': (body) => react(stage, body),
    'POST press': (body) => press(stage, body),
    'POST channels': (body) => setChannel(stage, body),
    'GET messages': ({ channel }) => ({
      messages: [...(workspace.channels.get(textOf(channel))?.messages.values() ?? [])],
    }),
    'GET apps': () => ({ apps: workspace.apps }),
    'POST subscribe': ({ app, url, interactivityUrl }) =>
      senderOf(app).subscribe(textOf(url), textOf(interactivityUrl ?? url)),
    'POST sockets/drop': ({ app, reason }) => dropSockets(senderOf(app), reason),
    'POST pushes': ({ app, ...disorder }) => senderOf(app).disturb(disorderSchema.parse(disorder)),
  };
}

function dropSockets({ sockets }: EventSender, reason: DisconnectReason | undefined): void {
  if (reason === undefined) sockets.cut();
  else sockets.disconnect(reason);
}

function callOf({ workspace, senders }: Stage, request: ApiRequest): ApiCall {
  const { path, parameters, origin } = request;
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? textOf(parameters.token);
  const [, folder = '', rest = ''] = /^\/(api|upload|files-pri)\/([^/]+)/.exec(path) ?? [];
  const chat = textOf(parameters.channel ?? parameters.channel_id) || null;
  const app = workspace.apps.find(({ botToken, appToken }) => token === botToken || token === appToken);
  const method = folder === 'api' ? rest : folder;
  const run = (): Answer => {
    if (folder === 'upload') return upload(workspace, rest, request);
    if (folder === 'files-pri') return download(workspace, rest, app);
    if (folder !== 'api') return { status: 404, body: { ok: false, error: 'not_found' } };
    if (token === '') return failure('not_authed');
    const sender = app === undefined ? undefined : senders.get(app);
    if (app === undefined || sender === undefined) return failure('invalid_auth');
    const isAppToken = token === app.appToken;
    if (isAppToken !== (method === 'apps.connections.open')) return failure('not_allowed_token_type');
    if (isAppToken) {
      const url = `${origin.replace('http', 'ws')}/link/?ticket=${sender.sockets.newTicket()}&app_id=${app.id}`;
      return { status: 200, body: { ok: true, url } };
    }
    const carryOut = METHODS[method];
    if (carryOut === undefined) return failure('unknown_method', { req_method: method });
    const call = { workspace, app, parameters, origin, seeing: (channel: Channel) => seeing(senders, channel, app) };
    try {
      return {
        status: 200,
        body: { ok: true, ...structuredClone(carryOut(call)) },
      };
    } catch (error) {
      if (error instanceof Refused) return failure(error.message, error.fields);
      throw error;
    }
  };
  return { method, bot: app?.id ?? '', chat, run };
}

/** The bytes come as they are, or as the file of a form. */
function upload(workspace: Workspace, id: string, { files, rawBody, headers }: ApiRequest): Answer {
  const file = workspace.files.get(id);
  if (file === undefined) return { status: 404, body: { ok: false, error: 'file_not_found' } };
  const [first] = files;
  file.bytes = first?.bytes ?? rawBody;
  file.type = first?.type ?? headers['content-type'] ?? file.type;
  return { status: 200, body: Buffer.from(`OK - ${file.bytes.length}`), headers: { 'content-type': 'text/plain' } };
}

/** Without a token, Slack answers with the page to sign in, and 200. */
function download(workspace: Workspace, id: string, app: App | undefined): Answer {
  const file = workspace.files.get(id);
  if (app === undefined)
    return { status: 200, body: Buffer.from(LOGIN_PAGE), headers: { 'content-type': 'text/html' } };
  if (file?.bytes == null) return { status: 404, body: { ok: false, error: 'file_not_found' } };
  return { status: 200, body: file.bytes, headers: { 'content-type': file.type } };
}

function refuse({ status, description, retryAfter }: Refusal): Answer {
  if (retryAfter !== undefined)
    return { ...failure(description ?? 'ratelimited'), status, headers: { 'retry-after': String(retryAfter) } };
  return { ...failure(description ?? (status === 200 ? 'fatal_error' : 'internal_error')), status };
}

function failure(error: string, fields: Json = {}): Answer & { body: Json } {
  return { status: 200, body: { ok: false, error, ...fields } };
}
