// The results of tools that a client runs.
import { storeCallerResults, type CallerResult } from '../store/caller-results.ts';
import type { Service } from './service.ts';

/** Gives them to their turn, if it waits for them. */
export async function answerCallerCalls(
  { database, publish }: Service,
  answer: { turnId: string; step: number; results: readonly CallerResult[] },
): Promise<void> {
  publish(await storeCallerResults(database, answer));
}
