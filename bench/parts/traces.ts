// (t) Turns per second while each is exported as a trace, beside a service without traces.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { alternate } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import type { BenchContext, BenchPart } from '../rig/bench-context.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';

export const traces: BenchPart = { letter: 't', title: 'turns with traces', run };

const sessions = 64;

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 2, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 7, turnsEach: 16, warmUpTurns: 30 };
  const load = { sessions, turnsEach, text: turnText };
  const collector = await startCollector();
  const plain = await context.startService({ place: await context.openPlace() });
  const traced = await context.startService({
    place: await context.openPlace(),
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  try {
    context.say('warming up');
    for (const service of [plain, traced]) await service.run({ ...load, turnsEach: warmUpTurns });
    const { runsOf, ratioOf } = await alternate(
      rounds,
      [
        { name: 'plain', measure: () => plain.run(load) },
        { name: 'traced', measure: () => traced.run(load) },
      ],
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return [
      {
        part: 't',
        what: 'turns/s with traces, to none',
        floor: describeLoads(runsOf('plain')),
        holdfast: describeLoads(runsOf('traced')),
        measured: ratioOf('traced', 'plain'),
        unit: 'x',
        bar: 0.95,
        sense: 'atLeast',
      },
    ];
  } finally {
    await Promise.all([plain.stop(), traced.stop()]);
    collector.close();
  }
}

/** Accepts every export without reading it, so that it costs almost no CPU. */
async function startCollector(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
