// A whole service of one real process for the tests of a file, with a workspace of the test's, and
// the requests that its model server received: what the model was sent is read there and nowhere
// else.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import type { Message, ServiceApi } from '../../service/rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from '../../service/rig/service-rig.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { receivedRequest, type ReceivedRequest } from './received-request.ts';

export interface ServiceOptions {
  /** The configuration file. */
  config?: Record<string, unknown>;
  env?: Record<string, string>;
  /** Files of the first agent's workspace, by their paths in it. */
  files?: Record<string, string>;
}

/** A message that is settled, and the requests of its turn as the model server received them. */
export interface Said {
  message: Message;
  requests: ReceivedRequest[];
  /** The first of them. */
  request: ReceivedRequest;
}

export interface Service {
  rig: ServiceRig;
  api: ServiceApi;
  process: RunningProcess;
  workspaceDir: string;
  /** A session that no other test uses, by its key. */
  newSession(prefix?: string): string;
  /** Sends a message, waits until it is settled. Throws when its turn asked the model nothing. */
  say(session: string, message: string | object): Promise<Said>;
  /** The answer to a new session's first message, so that later ones are not the first. */
  begin(session: string): Promise<void>;
  /** Queues a system event. */
  addSystemEvent(session: string, text: string, more?: object): Promise<void>;
  /** Begins a turn and stops it while it waits for the model. */
  stop(session: string): Promise<void>;
  /** All requests of a session so far, oldest first. */
  requestsOf(session: string): ReceivedRequest[];
  writeFile(path: string, content: string | Buffer): string;
}

const runsWithinMs = 120_000;
/** Of all services of a file: a log that outlives one of them names each session once. */
let sessions = 0;

/** Holds the service from the first test on. */
export function useService(options: ServiceOptions = {}): { service: Service } {
  const holder = {} as { service: Service };
  shareAmongTests(async (onEnd) => {
    const rig = await openServiceRig({
      queue: 'postgres',
      config: { plugins: [], ...options.config },
      ...(options.env && { env: options.env }),
    });
    onEnd(() => rig.close());
    holder.service = await startService(rig, options.files ?? {});
  });
  return holder;
}

async function startService(rig: ServiceRig, files: Record<string, string>): Promise<Service> {
  const workspaceDir = join(rig.dataDir, 'workspace');
  const writeFile = (path: string, content: string | Buffer): string => {
    const place = join(workspaceDir, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    return place;
  };
  for (const [path, content] of Object.entries(files)) writeFile(path, content);
  const process = await rig.start('api,worker,scheduler');
  const api = rig.apiOf(process);
  const say = async (session: string, message: string | object): Promise<Said> => {
    const sent = await api.send(session, typeof message === 'string' ? { text: message } : message);
    const settled = await api.settled(sent);
    const requests = rig.model.requests
      .filter(({ headers }) => headers['x-holdfast-turn'] === settled.turnId)
      .map(receivedRequest);
    for (const each of requests) await checkDerivable(api, each);
    const [request] = requests;
    if (request === undefined)
      throw new Error(`No request for the message: ${JSON.stringify(settled)}\n${rig.logs.slice(-5).join('\n')}`);
    return { message: settled, requests, request };
  };
  return {
    rig,
    api,
    process,
    workspaceDir,
    newSession: (prefix = 'dm') => `${prefix}:${(sessions += 1)}`,
    say,
    begin: async (session) => void (await say(session, 'hello')),
    async addSystemEvent(session, text, more = {}) {
      const { status, body } = await api.ask('POST', `/v1/sessions/${session}/system-events`, { text, ...more });
      if (status !== 202) throw new Error(`expected 202, got ${status}: ${JSON.stringify(body)}`);
    },
    async stop(session) {
      // The tool call comes first: without an answer, the directive would be merged with the next
      // message.
      const sent = await api.send(session, { text: '[[tool: session_status {}]] [[stall]]' });
      await waitUntil('the model is asked again', runsWithinMs, () =>
        requestsOf(rig, session).some(({ messages }) => messages.at(-1)?.content[0]?.type === 'tool_result'),
      );
      await api.ask('POST', `/v1/sessions/${session}/abort`, {});
      await api.settled(sent);
    },
    requestsOf: (session) => requestsOf(rig, session),
    writeFile,
  };
}

function requestsOf(rig: ServiceRig, session: string): ReceivedRequest[] {
  const key = session.startsWith('agent:') ? session : `agent:main:${session}`;
  return rig.model.requests.filter(({ headers }) => headers['x-holdfast-session'] === key).map(receivedRequest);
}

/** The API's derived request equals the received one, byte by byte. */
async function checkDerivable(api: ServiceApi, { headers, body }: ReceivedRequest): Promise<void> {
  const path = `/v1/turns/${headers['x-holdfast-turn']}/requests/${headers['x-holdfast-call']}`;
  const answer = await api.ask('GET', path);
  if (answer.body.matches !== true) throw new Error(`${path} does not have the hash of what was sent`);
  if (JSON.stringify(answer.body.request) !== JSON.stringify(body)) throw new Error(`${path} is not what was received`);
}
