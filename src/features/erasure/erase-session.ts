// Erases a session with all subagents below it, or a person: stops what runs, and deletes every row
// and file of it. A call that is broken off leaves a session with the key `erasing:<key>`, which
// the same call finds and completes.
import { readdir, rm, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import type { erasure, subjectErasure } from './contract.ts';
import { PROCESS_OUTPUTS } from '../../tools/rules/background-process.ts';
import { CHANNEL_MEDIA } from '../../core/inbound.ts';
import type { SessionId } from '../../core/ids.ts';
import { outgoingFolder } from '../../files/copies.ts';
import {
  blankKeys,
  blankPerson,
  emptyItems,
  eraseKeys,
  eraseSnapshots,
  findOpenBatch,
  readPairingSessions,
  type ErasedSessions,
  type Sender,
} from './store/erase-shared.ts';
import { emptyCopies, keyOf, withRuns } from './store/erase-copies.ts';
import { countErased, type RemovedRows } from './store/erased-rows.ts';
import {
  add,
  eraseLateEvents,
  eraseProcesses,
  eraseRows,
  fenceSessions,
  findErasedFamily,
  finishErasure,
  isUsageCounted,
  listMedia,
  nextProcesses,
  stopCrons,
  type FamilyMember,
} from './store/erase-sessions.ts';
import { ERASING } from '../../core/session-key.ts';
import { stopFamily } from '../../kernel/effects/stop-family.ts';
import { rollUp } from '../costs/store/roll-up.ts';
import { findSessionsOfSender } from '../../kernel/views/subjects.ts';
import { workOff } from '../../work-off.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { removeInside } from '../../files/inside.ts';

/** The rows and files that an erasure has deleted, or would delete. */
type Erasure = Omit<z.output<typeof erasure>, 'key'>;
type PersonErasure = Omit<z.output<typeof subjectErasure>, 'senderId'>;

/** `busy`: a batch that has not ended has items of it; nothing was removed. */
export type ErasureResult = ({ kind: 'erased' } & Erasure) | { kind: 'busy'; batchId: string };

/**
 * How long running turns and commands are given to end before they are cut off, in milliseconds.
 */
const STOP_WAIT_MS = 5_000;
const POLL_MS = 50;

/**
 * How long a worker takes a snapshot that it has stored for stored, and a little more, in
 * milliseconds.
 */
const SNAPSHOT_SETTLE_MS = 1_250;

/** How often the rows are deleted again because inputs have arrived meanwhile. */
const PASSES_MAX = 50;

/**
 * Erases the session of a key, the remains of an incomplete erasure, and items of batches that name
 * the key and made no session.
 */
export async function eraseSession(service: Service, key: string): Promise<ErasureResult> {
  const total: Erasure = { removed: {}, files: 0 };
  const batchId = await eraseKey(service, key, { total, visited: new Set() });
  return batchId === null ? { kind: 'erased', ...total } : { kind: 'busy', batchId };
}

/** What erasing the session of a key would remove, as far as it is found by the session. */
export async function previewErasure({ config, database }: Service, key: string): Promise<ErasureResult> {
  const families = await Promise.all([ERASING + key, key].map((stored) => findErasedFamily(database, stored)));
  const { members } = await withRuns(database, families.flat());
  const ids = members.map(({ id }) => id);
  const removed: RemovedRows = {};
  add(removed, { dataset_items: await emptyCopies(database, [key, ...members.map(keyOf)], true) });
  if (ids.length === 0) {
    add(removed, { batch_items: await emptyItems(database, withoutSession(key), true) });
    return { kind: 'erased', removed, files: 0 };
  }
  const processIds = await nextProcesses(database, ids);
  const files = await Promise.all(processIds.map((id) => countFiles(config.runtime.dataDir, id)));
  const media = await listOwnFiles({ config, database }, ids);
  add(removed, await countErased(database, ids));
  return { kind: 'erased', removed, files: files.reduce((sum, count) => sum + count, media.length) };
}

interface Progress {
  total: Erasure;
  /** Keys that this call is erasing: a cron may name the session that it was made in. */
  visited: Set<string>;
}

/** Resolves with the batch that is in the way; null: it is done. */
async function eraseKey(service: Service, key: string, progress: Progress): Promise<string | null> {
  if (progress.visited.has(key)) return null;
  progress.visited.add(key);
  let hasSession = false;
  for (const stored of [ERASING + key, key]) {
    const family = await findErasedFamily(service.database, stored);
    if (family.length === 0) continue;
    hasSession = true;
    const batchId = await eraseFamily(service, family, { ...progress, key });
    if (batchId !== null) return batchId;
  }
  if (hasSession) return null;
  const { database } = service;
  // Items that were cancelled before they were fed name a session that may not exist.
  const batchId = await findOpenBatch(database, withoutSession(key));
  if (batchId !== null) return batchId;
  add(progress.total.removed, {
    batch_items: await emptyItems(database, withoutSession(key)),
    dataset_items: await emptyCopies(database, [key]),
  });
  add(progress.total.removed, await blankKeys(database, [key]));
  return null;
}

function withoutSession(key: string): ErasedSessions {
  return { ids: [], keys: [key], runs: [], cronIds: [] };
}

async function eraseFamily(
  service: Service,
  family: FamilyMember[],
  progress: Progress & { key: string },
): Promise<string | null> {
  const { database } = service;
  const { members, runs } = await withRuns(database, family);
  const sessions: ErasedSessions = { ids: members.map(({ id }) => id), keys: members.map(keyOf), runs, cronIds: [] };
  const batchId = await findOpenBatch(database, sessions);
  if (batchId !== null) return batchId;
  const crons = await stopCrons(database, sessions.ids);
  for (const { key } of crons) {
    const inTheWay = await eraseKey(service, key, progress);
    if (inTheWay !== null) return inTheWay;
  }
  await stopWork(service, family, progress.key);
  await eraseFenced(service, { ...sessions, cronIds: crons.map(({ id }) => id) }, progress);
  return null;
}

/**
 * Stops turns and commands, and waits until workers have ended them; those that have not ended in
 * time are cut off by the fence.
 */
async function stopWork(service: Service, family: FamilyMember[], key: string): Promise<void> {
  const root = family.find((member) => member.key === key);
  if (root === undefined || !family.some(({ hasWork, isBusy }) => hasWork || isBusy)) return;
  for (const { id } of [root, ...family.filter((member) => member !== root && (member.hasWork || member.isBusy))]) {
    service.publish(
      await stopFamily(service, {
        sessionId: id,
        keepsQueued: false,
        reason: 'the session is erased',
        status: 'killed',
        result: null,
        isOwn: false,
      }),
    );
  }
  await until(STOP_WAIT_MS, async () => !(await findErasedFamily(service.database, key)).some(({ isBusy }) => isBusy));
}

async function eraseFenced(
  service: Service,
  sessions: ErasedSessions,
  { total, key }: Progress & { key: string },
): Promise<void> {
  const { config, database, inbox } = service;
  for (let pass = 1; pass <= PASSES_MAX; pass += 1) {
    await fenceSessions(database, sessions.ids);
    const settled = delay(SNAPSHOT_SETTLE_MS);
    for (const own of sessions.keys) inbox.ensureSession.drop(own);
    await until(STOP_WAIT_MS, async () => {
      if (await isUsageCounted(database, sessions.ids)) return true;
      await rollUp(database);
      return false;
    });
    add(total.removed, {
      idempotency_keys: await eraseKeys(database, sessions),
      batch_items: await emptyItems(database, sessions),
    });
    add(total.removed, await blankKeys(database, sessions.keys));
    await settled;
    add(total.removed, { snapshots: await eraseSnapshots(database, sessions) });
    total.files += await eraseCommands(service, sessions.ids, total.removed);
    const media = await listOwnFiles(service, sessions.ids);
    const roots = ownFolders(config);
    for (const path of media) await removeInside(path, { base: config.runtime.dataDir, roots });
    total.files += media.length;
    add(total.removed, await eraseRows(database, sessions));
    // Without their turns, nothing is copied from them any more.
    add(total.removed, { dataset_items: await emptyCopies(database, sessions.keys) });
    const finished = await finishErasure(database, sessions.ids);
    if (finished === null) continue;
    add(total.removed, finished);
    add(total.removed, await eraseLateEvents(database, sessions.ids));
    return;
  }
  throw new Error(
    `The session ${key} received new messages during each of ${PASSES_MAX} attempts to erase it. Send the request again.`,
  );
}

/** Files go before the rows that name them. */
async function eraseCommands(
  { config, database }: Service,
  ids: readonly SessionId[],
  removed: RemovedRows,
): Promise<number> {
  let files = 0;
  await workOff(async () => {
    const processIds = await nextProcesses(database, ids);
    for (const id of processIds) {
      files += await countFiles(config.runtime.dataDir, id);
      await rm(folderOf(config.runtime.dataDir, id), { recursive: true, force: true });
    }
    add(removed, await eraseProcesses(database, processIds));
    return processIds.length > 0;
  });
  return files;
}

/**
 * The files that were downloaded with messages of chats, and the copies of files that were sent.
 * Other paths are of the callers' own files.
 */
async function listOwnFiles(
  { config, database }: Pick<Service, 'config' | 'database'>,
  ids: readonly SessionId[],
): Promise<string[]> {
  const folders = ownFolders(config);
  const inFolder = (await listMedia(database, ids))
    .map((path) => resolve(path))
    .filter((path) => folders.some((folder) => path.startsWith(folder + sep)));
  const isThere = await Promise.all(inFolder.map((path) => stat(path).catch(() => null)));
  return inFolder.filter((_, index) => isThere[index]?.isFile() === true);
}

function ownFolders({ runtime: { dataDir } }: Service['config']): string[] {
  return [resolve(dataDir, CHANNEL_MEDIA), outgoingFolder(dataDir)];
}

function folderOf(dataDir: string, processId: string): string {
  return join(dataDir, PROCESS_OUTPUTS, processId);
}

async function countFiles(dataDir: string, processId: string): Promise<number> {
  return (await readdir(folderOf(dataDir, processId)).catch((): string[] => [])).length;
}

/** Resolves when it holds, or after the time. */
async function until(ms: number, holds: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + ms; !(await holds()) && performance.now() < end;) await delay(POLL_MS);
}

export interface Person extends Sender {
  /** True: sessions in which others have written are erased, too. */
  erasesShared: boolean;
}

/**
 * `busy`: a batch that has not ended has items of the person, or of the session; the sessions
 * before it are erased.
 */
export type PersonErasureResult =
  | ({ kind: 'erased' } & PersonErasure)
  | { kind: 'busy'; batchId: string; sessionKey: string | null };

/**
 * Erases the sessions in which only this person has written or asked to write, and the items of
 * batches with their words that never reached a session. `isDry`: what it would remove.
 */
export async function erasePerson(service: Service, person: Person, isDry: boolean): Promise<PersonErasureResult> {
  const { database, views } = service;
  const { senderId, channel, erasesShared } = person;
  const batchId = isDry ? null : await findOpenBatch(database, person);
  if (batchId !== null) return { kind: 'busy', batchId, sessionKey: null };
  const answered = await readPairingSessions(database, person);
  const found = await findSessionsOfSender(views, { senderId, channel, answered });
  const shared: string[] = [];
  const sessions: PersonErasure['sessions'] = [];
  for (const { key, isShared } of found) {
    if (isShared && !erasesShared) {
      shared.push(key);
      continue;
    }
    const result = await (isDry ? previewErasure : eraseSession)(service, key);
    if (result.kind === 'busy') return { ...result, sessionKey: key };
    sessions.push({ key, removed: result.removed, files: result.files });
  }
  if (!isDry) await blankPerson(database, senderId);
  return { kind: 'erased', sessions, shared, batchItems: await emptyItems(database, person, isDry) };
}
