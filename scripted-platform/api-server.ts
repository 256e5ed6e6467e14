// The HTTP server of a scripted platform: calls of bots, each recorded and answered by a method or
// by a fault, and below `/control/` the calls of the person or the test that plays the platform's
// users.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type RecordedCall, Recorded, type RecordedPush, type UploadedFile } from './call-log.ts';
import { Faults, faultSchema, type Refusal } from './faults.ts';
import { readBody, readParameters, type ReadCall } from './read-parameters.ts';

export interface ServerOptions {
  /** 0 or absent: any free port. */
  port?: number;
  /** Where it listens; absent: loopback only. */
  host?: string;
  /** How many of the latest calls and pushes are remembered, each; absent: 10,000. */
  recordedMax?: number;
  /** Called with each call before it is carried out, which waits for it. Must not throw. */
  onCall?: (call: RecordedCall) => void | Promise<void>;
}

/**
 * What a method answers with: the HTTP status, and a body that is sent as JSON, or as it is if it
 * consists of bytes.
 */
export interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

export interface ApiRequest extends ReadCall {
  path: string;
  httpMethod: string;
  headers: http.IncomingHttpHeaders;
  /** What the server's own address is to the caller. */
  origin: string;
  rawBody: Buffer;
  /** Aborted when the caller hangs up. */
  signal: AbortSignal;
}

/** A call that a platform recognised. `run` carries it out. */
export interface ApiCall {
  method: string;
  bot: string;
  chat: string | null;
  run: () => Answer | Promise<Answer>;
}

// What control routes receive is parsed by what they give it to.
// oxlint-disable-next-line typescript/no-explicit-any
export type Control = (body: any) => unknown;

/**
 * A platform: which call a request is, how it is refused, and what its control routes do (`POST
 * say`).
 */
export interface PlatformRoutes {
  callOf: (request: ApiRequest) => ApiCall;
  refuse: (refusal: Refusal) => Answer;
  control: Record<string, Control>;
  upgrade?: (request: http.IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** What a server remembers, and the faults that it has. */
export interface ServerRecord {
  /** The latest calls of bots. */
  readonly calls: Recorded<RecordedCall>;
  /** The latest attempts to push. */
  readonly pushes: Recorded<RecordedPush>;
  readonly faults: Faults;
}

export interface ApiServer extends ServerRecord {
  /** The base address of the API. */
  readonly url: string;
  readonly port: number;
  /** Stops immediately: open calls are cut. */
  close: () => Promise<void>;
}

const RECORDED_MAX = 10_000;

export function recordOf({ recordedMax = RECORDED_MAX }: ServerOptions): ServerRecord {
  return { calls: new Recorded(recordedMax), pushes: new Recorded(recordedMax), faults: new Faults() };
}

/** Fulfils when it listens, rejects with the socket's error when it cannot. */
export async function serveApi(
  options: ServerOptions,
  record: ServerRecord,
  platform: PlatformRoutes,
): Promise<ApiServer> {
  const { port = 0, host = '127.0.0.1', onCall = () => {} } = options;
  const control = { ...commonControl(record), ...platform.control };
  const listener = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    response.on('error', () => {});
    void handle({ record, platform, control, onCall }, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, { status: 400, body: { ok: false, error: messageOf(error) } });
    });
  });
  if (platform.upgrade !== undefined) listener.on('upgrade', platform.upgrade);
  await new Promise<void>((resolve, reject) => {
    listener.once('error', reject);
    listener.listen(port, host, resolve);
  });
  // A listening TCP server has an address of this form.
  const address = listener.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    ...record,
    url: `http://${name}:${address.port}`,
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        listener.closeAllConnections();
      }),
  };
}

interface Serving {
  record: ServerRecord;
  platform: PlatformRoutes;
  control: Record<string, Control>;
  onCall: NonNullable<ServerOptions['onCall']>;
}

async function handle(serving: Serving, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const { pathname: path, searchParams } = new URL(request.url ?? '/', 'http://scripted');
  const { headers, method = '' } = request;
  const rawBody = await readBody(request);
  const isControl = path.startsWith('/control/');
  const type = headers['content-type'] ?? '';
  const read = await readParameters(isControl ? 'application/json' : type, searchParams, rawBody);
  if (isControl) {
    const run = serving.control[`${method} ${path.slice('/control/'.length)}`];
    if (run === undefined)
      return send(response, { status: 404, body: { ok: false, error: unknownRoute(serving.control) } });
    return send(response, { status: 200, body: (await run(read.parameters)) ?? { ok: true } });
  }
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const origin = `http://${headers.host ?? 'scripted'}`;
  // prettier-ignore
  await answerCall(serving, serving.platform.callOf({ ...read, path, httpMethod: method, headers, origin, rawBody, signal: gone.signal }), { ...read, signal: gone.signal, response });
}

async function answerCall(
  { record, platform, onCall }: Serving,
  { method, bot, chat, run }: ApiCall,
  { parameters, files, signal, response }: ReadCall & { signal: AbortSignal; response: http.ServerResponse },
): Promise<void> {
  const receivedAt = new Date().toISOString();
  const nothing = { fault: null, isDone: false, status: null, answer: null };
  const call = record.calls.add({ receivedAt, method, bot, chat, parameters, files, ...nothing });
  await onCall(call);
  const fault = record.faults.meet(call, Date.now());
  call.fault = fault?.kind ?? null;
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'close') return void response.destroy();
  if (fault?.kind === 'delay') await delay(fault.delayMs, undefined, { signal }).catch(() => undefined);
  const answer = fault?.kind === 'refuse' ? platform.refuse(fault.refusal) : await run();
  call.isDone = fault?.kind !== 'refuse' && answer.status < 400;
  call.answer = answer.body;
  if (fault?.kind === 'accept-then-hang') return;
  if (fault?.kind === 'accept-then-close') return void response.destroy();
  call.status = answer.status;
  send(response, answer);
}

/** The control routes of every platform. */
function commonControl({ calls, pushes, faults }: ServerRecord): Record<string, Control> {
  const filter = z.object({ method: z.string().exactOptional(), chat: z.string().exactOptional() });
  return {
    'GET calls': (query) => {
      const { method, chat } = filter.parse(query);
      const shown = calls.entries.filter(
        (call) => (method === undefined || call.method === method) && (chat === undefined || call.chat === chat),
      );
      return { count: calls.count, calls: shown.map((call) => ({ ...call, files: call.files.map(withoutBytes) })) };
    },
    'DELETE calls': () => calls.clear(),
    'GET pushes': () => ({ count: pushes.count, pushes: pushes.entries }),
    'DELETE pushes': () => pushes.clear(),
    'GET faults': () => ({ faults: faults.armed }),
    'POST faults': (body) => faults.arm(faultSchema.parse(body)),
    'DELETE faults': () => faults.clear(),
  };
}

function withoutBytes({ bytes, ...file }: UploadedFile): unknown {
  return { ...file, bytes: bytes.length };
}

function unknownRoute(control: Record<string, Control>): string {
  const routes = Object.keys(control).map((route) => route.replace(' ', ' /control/'));
  return `There is no such control route; the routes are ${routes.join(', ')}`;
}

function messageOf(error: unknown): string {
  if (error instanceof z.ZodError) return z.prettifyError(error);
  return error instanceof Error ? error.message : String(error);
}

function send(response: http.ServerResponse, { status, body, headers = {} }: Answer): void {
  if (body instanceof Uint8Array) return void response.writeHead(status, headers).end(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
