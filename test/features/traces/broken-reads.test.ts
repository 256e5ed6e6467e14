// A connection that breaks while a turn's trace is read does not lose the trace: the process that
// ended the turn is the only one that exports it.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openDatabase, type Database } from '../../../src/database/database.ts';
import { startTracing } from '../../../src/features/traces/start-tracing.ts';
import { readTurns } from '../../rows/turns.ts';
import { startPostgresProxy, type PostgresProxy } from '../../servers/postgres-proxy.ts';
import { withTestDatabase, type TestDatabase } from '../../servers/postgres.ts';
import { createTurnRig, type TurnRig } from '../../turn/turn-rig.ts';
import { startCollector, type Collector } from './collector.ts';

let server: TestDatabase;
let rig: TurnRig;
let collector: Collector;
let proxy: PostgresProxy;
let database: Database;

beforeAll(async () => {
  server = await withTestDatabase();
  rig = await createTurnRig(server.url);
  collector = await startCollector();
  const { hostname, port } = new URL(server.url);
  proxy = await startPostgresProxy({ host: hostname, port: Number(port) });
  database = openDatabase({ url: proxy.urlFor(server.url), role: 'test' });
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await database?.close();
  await proxy?.close();
  await collector?.close();
  await rig?.close();
  await server?.drop();
});

test('a trace whose read loses its connection is read again and exported', async () => {
  const worker = rig.worker();
  await rig.send('one', '[[reply: ok]]');
  await worker.run('one');
  const [turn] = await readTurns(rig, {}, 'id');
  const turnId = String(turn?.['id']);
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.url);
  const onDropped = vi.fn();
  const tracing = startTracing({
    config: rig.config,
    logger: worker.context.logger,
    clock: systemClock,
    views: database.views,
    version: '0.0.0',
    instance: 'test',
    onDropped,
  });
  const broken = proxy.arm({ when: 'before', at: 1, matches: ({ tag }) => tag === 'turn-traces', hit: () => 'drop' });
  tracing.turnEnded(turnId);
  const traced = () => [...collector.spans.values()].map(({ attributes }) => attributes['holdfast.turn.id']);
  await expect.poll(traced).toContain(turnId);
  expect(broken.isTaken()).toBe(true);
  expect(onDropped).not.toHaveBeenCalled();
  await tracing.stop();
});
