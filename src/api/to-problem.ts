// Turns any error into the problem that is answered. An unexpected error is `internal` without details.
import { UnknownAgentError } from '../config.ts';
import { causesOf } from '../core/database-fault.ts';
import { isPassingFault } from '../store/database.ts';
import { Problem } from './problem.ts';

const RETRY_AFTER_MS = 1000;
/** The SQLSTATE of a statement that the time limit of its connection has ended. */
const QUERY_CANCELED = '57014';

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
  if (causesOf(error).some((cause) => 'code' in cause && cause.code === QUERY_CANCELED)) {
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
