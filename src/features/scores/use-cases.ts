// What can be asked for: a score is set, or removed.
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { deleteScore, storeScore, type NewScore } from './store/scores.ts';

/** Resolves with the id of the score; null: there is no such turn, or the message is not one of it. */
export function setScore({ database }: Service, score: Omit<NewScore, 'id'>, idempotency: KeyedRequest | null) {
  return storeScore(database, { ...score, id: newId<string>() }, idempotency);
}

/** Resolves with whether the score was there. */
export function removeScore({ database }: Service, id: string) {
  return deleteScore(database, id);
}
