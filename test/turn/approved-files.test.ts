// Goal: what is sent of a file after an approval is what was shown (G36). Method: real turns call
// the tool `message`, whose calls wait for a person; the file is changed before the request,
// between it and the decision, or never.
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decideApproval } from '../../src/features/approvals/store/approvals.ts';
import { approvals } from '../../src/features/approvals/views.ts';
import { outgoingFolder } from '../../src/files/copies.ts';
import { createLogger } from '../../src/logger.ts';
import { createMessageTool } from '../../src/tools/message-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { createToolPorts } from '../../workers/create-turn-context.ts';
import { readDeliveries } from '../rows/deliveries.ts';
import { readEntries } from '../rows/entries.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';
import { EVERYTHING } from '../../src/core/scope.ts';

const APPROVED = 'the approved report';

let rig: TurnRig;
let service: ReturnType<typeof recordedService>['service'];

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const settings = {
    channels: { webhook: { url: 'http://127.0.0.1:9/hook' }, telegram: { capabilities: ['media'] } },
    tools: { approvals: { rules: [{ tools: ['message'], ask: 'once' }] } },
  };
  rig = await createTurnRig(database.url, { settings });
  ({ service } = recordedService(rig));
  await mkdir(rig.config.workspace.path, { recursive: true });
  const made = rig;
  onEnd(() => made.close());
});

const pathOf = (name: string) => join(rig.config.workspace.path, name);
const copies = () => readdir(outgoingFolder(rig.config.runtime.dataDir)).catch((): string[] => []);

function messageTool(): Tool {
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  return createMessageTool(createToolPorts({ service, logger, owner: 'test' }).options.message!);
}

const newWorker = () => rig.worker({ tools: [messageTool()] });

/** Sends a message whose turn asks for the approval of a call that sends a file. */
async function ask(name: string, media: string) {
  const worker = newWorker();
  const call = JSON.stringify({ action: 'send', message: 'The report.', media });
  await rig.send(name, `[[tool: message ${call}]][[reply: NO_REPLY]]`, { channel: 'telegram', chatId: '42' });
  const parked = await worker.run(name);
  const sessionId = await rig.sessionOf(name);
  const turnId = String((await readTurns(rig, { sessionId }, 'id')).at(-1)?.id);
  const { items } = await approvals.list(rig.database.views, { scope: EVERYTHING }, { after: null, limit: 1000 });
  const request = items.find((item) => item.turnId === turnId);
  return { kind: parked?.kind, request, sessionId, worker, name };
}

async function approve({ request, worker, name, sessionId }: Awaited<ReturnType<typeof ask>>) {
  await decideApproval(rig.database, { id: request!.id, status: 'approved', by: 'ada', note: null }, null);
  await worker.run(name);
  const deliveries = await readDeliveries(rig, { sessionId }, 'payload');
  const results = await readEntries(rig, { sessionId, kind: 'results' }, 'content');
  return { deliveries, result: JSON.stringify(results.at(-1)?.['content']) };
}

test('a person is shown the size and the hash of a file, and what is sent are these bytes (G36)', async () => {
  await writeFile(pathOf('plain.txt'), APPROVED);
  const asked = await ask('plain', 'plain.txt');
  const sha256 = createHash('sha256').update(APPROVED).digest('hex');
  expect(asked.request?.input).toMatchObject({ media: 'plain.txt', file: { bytes: APPROVED.length, sha256 } });
  expect(asked.request?.shown).toContain(sha256);
  const { deliveries } = await approve(asked);
  const [{ payload }] = deliveries as [{ payload: { media: [{ path: string }] } }];
  expect(await readFile(payload.media[0].path, 'utf8')).toBe(APPROVED);
});

const CHANGES: Record<string, (path: string) => Promise<unknown>> = {
  'is changed': (path) => writeFile(path, 'the approved rep0rt'),
  grows: (path) => writeFile(path, '!', { flag: 'a' }),
  'is removed': (path) => rm(path),
  'becomes a folder': async (path) => {
    await rm(path);
    await mkdir(path);
  },
};

test.each(Object.keys(CHANGES))('a file that %s after it was shown is not sent (G36)', async (change) => {
  const name = `after-${change.replaceAll(' ', '-')}`;
  await writeFile(pathOf(name), APPROVED);
  const before = await copies();
  const asked = await ask(name, name);
  await CHANGES[change]!(pathOf(name));
  const { deliveries, result } = await approve(asked);
  expect(deliveries).toEqual([]);
  expect(result).toContain('"is_error":true');
  expect(await copies()).toEqual(before);
});

test('a file that was made after a person was asked is not sent (G36)', async () => {
  const asked = await ask('made-later', 'made-later.txt');
  expect(asked.request?.input).toMatchObject({ file: null });
  await writeFile(pathOf('made-later.txt'), 'unseen');
  const { deliveries, result } = await approve(asked);
  expect(deliveries).toEqual([]);
  expect(result).toContain('is not the file that was approved: it has changed since');
});

test('with the rule once, a person is asked about every file, also when the input is the same (G36)', async () => {
  await writeFile(pathOf('once.txt'), APPROVED);
  await approve(await ask('once', 'once.txt'));
  await writeFile(pathOf('once.txt'), 'another report');
  expect((await ask('once', 'once.txt')).kind).toBe('parked');
});

test('a worker that runs an approved call again after a crash sends only what was shown (G36)', async () => {
  await writeFile(pathOf('crash.txt'), APPROVED);
  const asked = await ask('crash', 'crash.txt');
  await decideApproval(rig.database, { id: asked.request!.id, status: 'approved', by: 'ada', note: null }, null);
  // Its tool has begun and done nothing yet.
  const begun = Promise.withResolvers<undefined>();
  const run = () => (begun.resolve(undefined), new Promise<never>(() => undefined));
  const lost = rig.worker({ tools: [{ ...messageTool(), run }] });
  void lost.run('crash').catch(() => undefined);
  await begun.promise;
  lost.stop();
  await changeSessions(rig, { id: asked.sessionId }, { leaseExpiresAt: ago('1 second') });
  await writeFile(pathOf('crash.txt'), 'another report');
  await newWorker().run('crash');
  const [results] = await readEntries(rig, { sessionId: asked.sessionId, kind: 'results' }, 'content');
  expect(JSON.stringify(results)).toContain('is not the file that was approved');
  expect(await readDeliveries(rig, { sessionId: asked.sessionId }, 'id')).toEqual([]);
});
