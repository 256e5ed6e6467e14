// An abandoned upload leaves no rows, also when items or parts of it are still being stored.
import { expect, test } from 'vitest';
import { addItems, beginUpload, deleteUpload, type NewBatch } from '../../../../src/features/batches/store/upload.ts';
import { addFilePart, beginFile, deleteFile } from '../../../../src/features/openai/store/client-files.ts';
import type { SessionKey } from '../../../../src/core/ids.ts';
import { newId } from '../../../../src/ids.ts';
import { readBatchItems, readBatches } from '../../../rows/batches.ts';
import { readClientFileParts } from '../../../rows/client-files.ts';
import { shareAmongTests } from '../../../servers/share-among-tests.ts';
import { createStoreRig, type StoreRig } from '../../../store/store-rig.ts';
import { EVERYTHING } from '../../../../src/core/scope.ts';

let rig: StoreRig;

shareAmongTests(async (onEnd) => {
  rig = await createStoreRig();
  onEnd(() => rig.drop());
});

const UPLOAD: Omit<NewBatch, 'id'> = {
  name: null,
  via: 'live',
  agentId: 'main',
  model: 'anthropic/claude-sonnet-5-5',
  defaults: {},
  concurrency: 1,
  weight: 1,
  pilot: null,
  maxFailurePercent: 50,
  maxCostMicros: null,
  deadlineSeconds: null,
  fallback: 'live',
  cache: 'auto',
  createdBy: 'admin',
  owner: null,
  scope: EVERYTHING,
};

const item = {
  n: 1,
  customId: null,
  sessionKey: 'agent:main:upload' as SessionKey,
  isOwnSession: true,
  afterN: null,
  body: '{"text":"one"}',
};

test('items that are stored while their upload is deleted are deleted with it', async () => {
  const { database } = rig;
  const id = newId<string>();
  await beginUpload(database, { ...UPLOAD, id });
  // Items whose connection broke: their statement is still running.
  const late = await database.views.connect();
  await late.query('begin');
  await addItems({ ...database, views: late as unknown as typeof database.views }, id, [item]);
  const deleted = deleteUpload(database, id);
  const isWaiting = () =>
    rig.rows(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  await expect.poll(isWaiting, { interval: 5 }).toHaveLength(1);
  await late.query('commit');
  late.release();
  await deleted;
  expect(await readBatchItems(rig, { batchId: id }, 'n')).toEqual([]);
  expect(await readBatches(rig, { id }, 'id')).toEqual([]);
});

test('a part that is stored while its file is deleted is deleted with it', async () => {
  const { database } = rig;
  const id = newId<string>();
  await beginFile(database, { id, filename: 'x', purpose: 'batch', createdBy: 'admin' });
  const late = await database.views.connect();
  await late.query('begin');
  // A part whose connection broke: its transaction is still open.
  const query = (text: string | object, values: unknown[]) =>
    typeof text === 'string' && /^(?:begin|commit)/.test(text) ? Promise.resolve() : late.query(text as string, values);
  const views = { connect: () => Promise.resolve({ query, release: () => undefined }) };
  const part = { id, n: 1, content: Buffer.from('x') };
  await addFilePart({ ...database, views: views as unknown as typeof database.views }, part);
  const deleted = deleteFile(database, id);
  const isWaiting = () =>
    rig.rows(`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`);
  await expect.poll(isWaiting, { interval: 5 }).toHaveLength(1);
  await late.query('commit');
  late.release();
  expect(await deleted).toBe(true);
  expect(await readClientFileParts(rig, { fileId: id }, 'n')).toEqual([]);
});
