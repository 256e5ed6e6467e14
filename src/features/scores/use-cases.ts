// What can be asked for: a score is set, or removed.
import { storableText } from '../../core/text.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { newId } from '../../ids.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { removeScore, storeScore, type NewScore } from './store/scores.ts';

const storable = (text: string | null): string | null => (text === null ? null : storableText(text));

/** Resolves with the id of the score; null: there is no such turn, or no turn of the message. */
export function setScore(
  { database }: Service,
  score: Omit<NewScore, 'id'>,
  idempotency: KeyedRequest | null,
): Promise<string | null> {
  const { label, note, author } = score;
  const words = { label: storable(label), note: storable(note), author: storableText(author) };
  return storeScore(database, { ...score, ...words, id: newId<string>() }, idempotency);
}

/** Resolves with whether the score was there. */
export function deleteScore({ database }: Service, id: string): Promise<boolean> {
  return removeScore(database, id);
}
