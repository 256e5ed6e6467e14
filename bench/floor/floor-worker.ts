// The floor's worker and its client in one process: accept, wake, claim, ask, append, run the tool,
// append, ask, finish. What arrives is answered in process, so nothing is measured but the five
// commits and the model calls.
import type { Pool } from 'pg';
import { accept, append, claim, finish, type FloorClaim } from './floor-database.ts';
import type { AskFloorModel, FloorAnswer } from './floor-model.ts';

export interface FloorWorker {
  /**
   * Accepts a message and resolves when its turn is committed. One message of a session at a time.
   */
  send(sessionId: number, text: string): Promise<void>;
}

/** Starts a worker that runs at most `concurrency` turns concurrently. */
export function startFloorWorker(pool: Pool, ask: AskFloorModel, concurrency: number): FloorWorker {
  const waiting = new Map<number, PromiseWithResolvers<void>>();
  let rings = 0;
  let running = 0;

  function wake(): void {
    while (rings > 0 && running < concurrency) {
      rings -= 1;
      running += 1;
      void runNextTurn(pool, ask)
        .then(
          (sessionId) => settle(sessionId).resolve(),
          (error: unknown) => waiting.forEach((one) => one.reject(error)),
        )
        .finally(() => {
          running -= 1;
          wake();
        });
    }
  }

  function settle(sessionId: number): PromiseWithResolvers<void> {
    const settled = waiting.get(sessionId) ?? Promise.withResolvers<void>();
    waiting.delete(sessionId);
    return settled;
  }

  return {
    async send(sessionId, text) {
      const settled = Promise.withResolvers<void>();
      waiting.set(sessionId, settled);
      await accept(pool, sessionId, text);
      rings += 1;
      wake();
      await settled.promise;
    },
  };
}

const claimsMax = 100;

/**
 * Claims the session that has waited longest. There is a waiting session for each call, but another
 * call may have claimed the one that it saw.
 */
async function claimNext(pool: Pool): Promise<FloorClaim> {
  for (let tries = 1; tries <= claimsMax; tries += 1) {
    const held = await claim(pool);
    if (held !== null) return held;
  }
  throw new Error(`no session to claim in ${claimsMax} tries`);
}

/** Runs a turn of the session that has waited longest; returns which it was. */
async function runNextTurn(pool: Pool, ask: AskFloorModel): Promise<number> {
  const held = await claimNext(pool);
  const messages = held.transcript;
  for (let appended = 0; ; appended += 2) {
    const answer = await ask(messages);
    const said = { role: 'assistant' as const, content: answer.content };
    if (!answer.wantsTools) {
      await finish(pool, held, said, appended);
      return held.sessionId;
    }
    await append(pool, held, said);
    const results = { role: 'user' as const, content: runTools(answer) };
    await append(pool, held, results);
    messages.push(said, results);
  }
}

/** The tool of the benchmark does nothing but answer. */
export function runTools(answer: Pick<FloorAnswer, 'content'>): unknown[] {
  return answer.content
    .filter((block) => block.type === 'tool_use')
    .map((block) => ({ type: 'tool_result', tool_use_id: block.id, content: 'Session is running.' }));
}
