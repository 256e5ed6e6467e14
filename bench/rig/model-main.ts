// The scripted model in a process of its own, so that it costs the floor and the service the same. Tells its address to its
// parent, and on request when the calls that it got came and when their answers were sent.
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';

/** A call as the model saw it, in milliseconds on its own monotonic clock. */
export interface TimedCall {
  /** When the head of the request had arrived. */
  startedAtMs: number;
  /** When the last byte of the answer was handed to the socket. */
  endedAtMs: number;
}

const callsMax = 20_000;

async function main(): Promise<void> {
  const calls: TimedCall[] = [];
  const startedAt = new WeakMap<IncomingMessage, number>();
  subscribe('http.server.request.start', (message) => {
    startedAt.set((message as { request: IncomingMessage }).request, performance.now());
  });
  subscribe('http.server.response.finish', (message) => {
    const { request } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url !== '/v1/messages') return;
    if (calls.push({ startedAtMs: startedAt.get(request) ?? 0, endedAtMs: performance.now() }) > callsMax)
      calls.shift();
  });
  const model = await startScriptedModel({ recordedRequestsMax: 1 });
  process.on('message', () => process.send?.(calls.splice(0)));
  process.on('disconnect', () => process.exit(0));
  process.send?.(model.url);
}

await main();
