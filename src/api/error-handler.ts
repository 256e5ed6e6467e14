// The one place where an error becomes an answer, and where it is logged: one line per answer of
// 400 and above, with the code and the id of the request, never with what the client sent. A fault
// of the database belongs to the story of its outage.
import { UnknownAgentError } from '../config.ts';
import { listCauses, isPassingFault } from '../database/passing-faults.ts';
import { Problem, problemBody } from './problem.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiContext } from './context.ts';
import type { Route } from './route.ts';

const RETRY_AFTER_MS = 1000;
/** The SQLSTATE of a statement that the time limit of its connection has ended. */
const QUERY_CANCELED = '57014';

export function createErrorHandler(
  context: Pick<ApiContext, 'config' | 'logger' | 'outages'>,
  routes: readonly Route[],
) {
  const forms = new Set(routes.flatMap(({ form }) => form ?? []));
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const problem = toProblem(error, context.config.limits.bodyBytes);
    logProblem(context, problem, request);
    if (problem.retryAfterMs !== undefined) {
      reply.header('retry-after', String(Math.max(1, Math.ceil(problem.retryAfterMs / 1000))));
    }
    // The rest of the body would have to be read before the next request of the connection.
    if (hasBody(request) && !request.raw.complete) reply.header('connection', 'close');
    const form = [...forms].find(({ hasPath }) => hasPath(request.url));
    if (form !== undefined) {
      const { headers, body } = form.formatError(problem);
      void reply
        .code(problem.status)
        .headers(headers)
        .type('application/json; charset=utf-8')
        .send(JSON.stringify(body));
      return;
    }
    void reply
      .code(problem.status)
      .header('content-type', 'application/problem+json; charset=utf-8')
      .send(problemBody(problem, request.url.split('?', 1)[0] ?? '', request.id));
  };
}

/** Logs what a request was refused for, or failed of; `more` has further ids. */
export function logProblem(
  { logger, outages }: Pick<ApiContext, 'logger' | 'outages'>,
  problem: Problem,
  request: FastifyRequest,
  more: Record<string, string> = {},
): void {
  const { code, status, cause } = problem;
  const { id: requestId, method } = request;
  const facts = { code, status, requestId, method, route: request.routeOptions.url, ...more };
  // While the database is away, a request that waits for it too long is part of the outage too.
  if (code === 'timeout' && outages.isOngoing) outages.failed(problem);
  else if (code === 'database_unavailable') outages.report(cause, 'Request answered with status 503', facts);
  else if (status >= 500) logger.error({ ...facts, err: cause }, 'Request failed');
  else logger.info(facts, 'Request refused');
}

export function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The problem that is answered for any error. An unexpected one is `internal` without details. */
export function toProblem(error: unknown, bodyBytesMax: number): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof UnknownAgentError) {
    return new Problem('unknown_agent', `There is no agent ${error.agentId} in the configuration.`, { cause: error });
  }
  return fromServer(error, bodyBytesMax) ?? fromDatabase(error) ?? internal(error);
}

function internal(error: unknown): Problem {
  return new Problem(
    'internal',
    'The service failed with an unexpected error. Find the error in its log with the request id.',
    {
      cause: error,
    },
  );
}

/** Errors of the HTTP server itself. */
function fromServer(error: unknown, bodyBytesMax: number): Problem | null {
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (typeof code !== 'string' || !code.startsWith('FST_ERR_')) return null;
  if (statusCode === 413) {
    return new Problem('body_too_large', `The body is larger than ${bodyBytesMax} bytes. Send a smaller one.`, {
      cause: error,
    });
  }
  if (statusCode === 415) {
    return new Problem('unsupported_media_type', 'Send the body as application/json.', { cause: error });
  }
  if (typeof statusCode === 'number' && statusCode < 500) {
    return new Problem('invalid_request', REASONS[code] ?? 'The request cannot be read.', { cause: error });
  }
  return null;
}

const REASONS: Record<string, string> = {
  FST_ERR_BAD_URL: 'The path is not valid percent-encoded UTF-8.',
  FST_ERR_MAX_PARAM_LENGTH: 'A part of the path is too long.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'The length of the body differs from Content-Length.',
};

/** The problem for a database that is down, full or busy, however deep the error is wrapped. */
function fromDatabase(error: unknown): Problem | null {
  if (listCauses(error).some((cause) => 'code' in cause && cause.code === QUERY_CANCELED)) {
    return new Problem(
      'read_timeout',
      'The database did not finish the read within 3 s. Ask for less: a smaller limit, a shorter time, or another filter.',
      { cause: error },
    );
  }
  if (!isPassingFault(error)) return null;
  return new Problem(
    'database_unavailable',
    'The database does not answer or cannot run the statement now. Try again later.',
    { retryAfterMs: RETRY_AFTER_MS, cause: error },
  );
}
