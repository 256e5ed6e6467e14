// Erases a person: the sessions in which only they have written, and the items of batches with their words that never reached a session.
import { blankPerson } from '../store/erasure/blank-names.ts';
import { blankItemsOfSender, countItemsOfSender, findOpenBatchOfSender } from '../store/erasure/items-of-sender.ts';
import { findSessionsOfSender } from '../store/views/subjects.ts';
import { eraseSession, previewErasure, type Erasure } from './erase-session.ts';
import type { Service } from './service.ts';

export interface Person {
  senderId: string;
  /** Null: any. */
  channel: string | null;
  /** True: sessions in which others have written are erased, too. */
  erasesShared: boolean;
}

export interface PersonErasure {
  sessions: (Erasure & { key: string })[];
  /** The keys of the sessions that are kept, because others have written there, too. */
  shared: string[];
  /** Items of ended batches that never became messages of a session. */
  batchItems: number;
}

/** `busy`: a batch that has not ended has items of the person, or of the session; the sessions before it are erased. */
export type PersonErasureResult =
  | ({ kind: 'erased' } & PersonErasure)
  | { kind: 'busy'; batchId: string; sessionKey: string | null };

/** Erases a person. */
export async function erasePerson(service: Service, person: Person): Promise<PersonErasureResult> {
  const { database } = service;
  const batchId = await findOpenBatchOfSender(database, person);
  if (batchId !== null) return { kind: 'busy', batchId, sessionKey: null };
  const { chosen, shared } = await sessionsOf(service, person);
  const sessions = [];
  for (const key of chosen) {
    const result = await eraseSession(service, key);
    if (result.kind === 'busy') return { kind: 'busy', batchId: result.batchId, sessionKey: key };
    sessions.push({ key, removed: result.removed, files: result.files });
  }
  await blankPerson(database, person.senderId);
  return { kind: 'erased', sessions, shared, batchItems: await blankItemsOfSender(database, person) };
}

/** What erasing a person would remove. */
export async function previewPerson(service: Service, person: Person): Promise<PersonErasure> {
  const { chosen, shared } = await sessionsOf(service, person);
  const sessions = [];
  for (const key of chosen) sessions.push({ key, ...(await previewErasure(service, key)) });
  return { sessions, shared, batchItems: await countItemsOfSender(service.database, person) };
}

async function sessionsOf(
  { views }: Service,
  { senderId, channel, erasesShared }: Person,
): Promise<{ chosen: string[]; shared: string[] }> {
  const found = await findSessionsOfSender(views, { senderId, channel });
  const isChosen = ({ isShared }: { isShared: boolean }): boolean => !isShared || erasesShared;
  return {
    chosen: found.filter(isChosen).map(({ key }) => key),
    shared: found.filter((session) => !isChosen(session)).map(({ key }) => key),
  };
}
