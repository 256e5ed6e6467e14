// The one place where an error becomes an answer, and where it is logged: one line per answer of 400 and above, with the code and the
// id of the request, never with what the client sent. A fault of the database belongs to the story of its outage.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from './context.ts';
import { isOpenAiPath, openAiErrorOf, openAiHeadersOf } from './openai/error-shape.ts';
import { Problem, problemBody } from './problem.ts';
import { toProblem } from './to-problem.ts';

/** Makes the function that answers with a problem. */
export function createErrorHandler({ config, logger, outages }: Pick<ApiContext, 'config' | 'logger' | 'outages'>) {
  function log(problem: Problem, request: FastifyRequest): void {
    const { code, status, cause } = problem;
    const facts = { code, status, requestId: request.id, method: request.method, route: request.routeOptions.url };
    // While the database is away, a request that waits for it too long is part of the outage too.
    if (code === 'timeout' && outages.isOngoing) outages.failed(problem);
    else if (code === 'database_unavailable') outages.report(cause, 'Request answered with status 503', facts);
    else if (status >= 500) logger.error({ ...facts, err: cause }, 'Request failed');
    else logger.info(facts, 'Request refused');
  }
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = toProblem(error, config.limits.bodyBytes);
    log(problem, request);
    if (problem.retryAfterMs !== undefined) {
      reply.header('retry-after', String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))));
    }
    // The rest of the body would have to be read before the next request of the connection.
    if (hasUnreadBody(request)) reply.header('connection', 'close');
    if (isOpenAiPath(request.url)) {
      void reply
        .code(problem.status)
        .headers(openAiHeadersOf(problem))
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(openAiErrorOf(problem)));
      return;
    }
    void reply
      .code(problem.status)
      .header('content-type', 'application/problem+json; charset=utf-8')
      .send(problemBody(problem, request.url.split('?', 1)[0] ?? '', request.id));
  };
}

/** True when the request has a body that has not arrived to its end. */
function hasUnreadBody({ headers, raw }: FastifyRequest): boolean {
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  return hasBody && !raw.complete;
}
