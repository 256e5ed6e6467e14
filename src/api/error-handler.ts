// The one place where an error becomes an answer, and where it is logged: what is our fault always, a database that is away once
// in a while, what the client did wrong never.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from './context.ts';
import { Problem, problemBody } from './problem.ts';
import { toProblem } from './to-problem.ts';

/** While the database is away, it is said this often. */
const WARN_INTERVAL_MS = 5_000;

/** Makes the function that answers with a problem. */
export function createErrorHandler({ config, logger, clock }: Pick<ApiContext, 'config' | 'logger' | 'clock'>) {
  let warnedAt = Number.NEGATIVE_INFINITY;
  function log(problem: Problem, request: FastifyRequest): void {
    const facts = { err: problem.cause, code: problem.code, requestId: request.id, route: request.routeOptions.url };
    if (problem.code === 'internal') logger.error(facts, 'a request failed');
    if (problem.code !== 'database_unavailable' && problem.code !== 'timeout') return;
    if (clock.monotonicMs() - warnedAt < WARN_INTERVAL_MS) return;
    warnedAt = clock.monotonicMs();
    logger.warn(facts, 'requests are answered 503');
  }
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = toProblem(error, config.limits.bodyBytes);
    log(problem, request);
    if (problem.retryAfterMs !== undefined) {
      reply.header('retry-after', String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))));
    }
    void reply
      .code(problem.status)
      .header('content-type', 'application/problem+json; charset=utf-8')
      .send(problemBody(problem, request.url.split('?', 1)[0] ?? '', request.id));
  };
}
