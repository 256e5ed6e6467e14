// The scripted model in a process of its own, so that it costs the floor and the service the same.
// Tells its address to its parent, and on request when the calls that it got came and when their
// answers were sent.
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';

/**
 * A call as the model saw it, in milliseconds on the monotonic clock that the processes of a
 * machine share.
 */
export interface TimedCall {
  /** When the head of the request had arrived. */
  startedAtMs: number;
  /** When the last byte of the answer was handed to the socket. */
  endedAtMs: number;
  /** Of the bodies of request and answer, the head of the answer included. */
  bytes: number;
}

const callsMax = 20_000;

async function main(): Promise<void> {
  const calls: TimedCall[] = [];
  const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
  const starts = new WeakMap<IncomingMessage, { startedAtMs: number; written: number }>();
  subscribe('http.server.request.start', (message) => {
    const { request } = message as { request: IncomingMessage };
    starts.set(request, { startedAtMs: nowMs(), written: request.socket.bytesWritten });
  });
  subscribe('http.server.response.finish', (message) => {
    const { request } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url !== '/v1/messages') return;
    const { startedAtMs, written } = starts.get(request) ?? { startedAtMs: 0, written: 0 };
    const bytes = Number(request.headers['content-length'] ?? 0) + request.socket.bytesWritten - written;
    if (calls.push({ startedAtMs, endedAtMs: nowMs(), bytes }) > callsMax) calls.shift();
  });
  const model = await startScriptedModel({ recordedRequestsMax: 1 });
  process.on('message', () => process.send?.(calls.splice(0)));
  process.on('disconnect', () => process.exit(0));
  process.send?.(model.url);
}

await main();
