// An error of the typed client as the command line reports it: what happened, what to do next at a
// terminal, and the exit code.
import type { HoldfastError } from '../client/create-client.ts';
import { explainError } from '../client/holdfast-error.ts';
import type { ClientSettings } from '../config/process-environment.ts';
import { CliError, EXIT, type ExitCode } from './cli-error.ts';

/** What to print, and how to end. */
export function explainApiError(error: HoldfastError, settings: ClientSettings): CliError {
  if (error.code === 'not_holdfast') {
    return new CliError({
      code: error.code,
      exitCode: EXIT.cannotReach,
      message: `${settings.url} answered ${error.status} with an answer that is not JSON`,
      fix: `check that a Holdfast service listens there (the address is from ${settings.urlSource})`,
      cause: error,
    });
  }
  return error.status === null ? unreachable(error, settings) : refusal(error, error.status, settings);
}

/** No answer, or one that broke off. */
function unreachable(error: HoldfastError, settings: ClientSettings): CliError {
  const reason = error.code === 'no_answer_in_time' ? 'no answer in time' : explainError(error.cause);
  return new CliError({
    code: reason.includes('ECONNREFUSED') ? 'service_not_running' : 'service_unreachable',
    exitCode: EXIT.cannotReach,
    message: `cannot reach ${settings.url} (from ${settings.urlSource}): ${reason}`,
    fix: 'start the service with "npx holdfast start", or pass --url; "holdfast doctor" gives details',
    cause: error,
  });
}

function refusal(error: HoldfastError, status: number, settings: ClientSettings): CliError {
  // A single fault is the whole detail, and of several the first is in it.
  const others =
    error.errors.length === 1
      ? []
      : error.errors.filter(
          ({ path, message }) => !error.detail.includes(path === '' ? message : `${path}: ${message}`),
        );
  const faults = others.map(({ path, message }) => `\n  ${path === '' ? '' : `${path}: `}${message}`);
  // The service logs the internal error under this id.
  const request = status < 500 || error.requestId === null ? '' : ` (request ${error.requestId})`;
  const [exitCode, fix] = explainStatus(status, error, settings);
  return new CliError({
    code: error.code,
    exitCode,
    message: `${error.detail || error.title}${faults.join('')}${request}`,
    fix,
    ...(error.problem === null ? {} : { problem: { ...error.problem } }),
  });
}

/** The meaning of a status for the person at the terminal. */
function explainStatus(
  status: number,
  { retryAfterMs, code, problem, errors }: HoldfastError,
  { apiKey, dataDir }: ClientSettings,
): [exitCode: ExitCode, fix: string] {
  const inTime = retryAfterMs === null ? '' : ` in ${retryAfterMs / 1000} s`;
  switch (status) {
    case 400:
    case 413:
    case 415:
      return [EXIT.usage, 'correct the fields named above; --help shows the allowed values'];
    case 401:
    case 403:
      if (apiKey !== undefined)
        return [EXIT.notAllowed, 'pass the key of this service with --api-key or HOLDFAST_API_KEY'];
      return [
        EXIT.notAllowed,
        `pass --api-key, set HOLDFAST_API_KEY, or run where the service's data directory is (looked in ${dataDir})`,
      ];
    case 404:
      return [
        EXIT.notFound,
        withCommand(
          'check the name',
          code === 'unknown_agent' ? LISTS['agents'] : listCommand(problem),
          'existing ones',
        ),
      ];
    case 409:
    case 422:
      if (errors.length > 0) return [EXIT.conflict, 'correct the faults that are listed above, then try again'];
      if (code === 'idempotency_mismatch')
        return [EXIT.conflict, 'use a new --idempotency-key, or send the same again'];
      return [EXIT.conflict, withCommand('look at its current state', showCommand(problem), 'current state')];
    case 429:
      return [EXIT.failed, `try again${inTime || ' later'}`];
    case 502:
    case 503:
    case 504:
      return [EXIT.cannotReach, `try again${inTime}; "holdfast doctor" says what is missing`];
    default:
      return [EXIT.failed, 'read the log of the service'];
  }
}

/** The kind and the id of the thing that a request asked for, by its path. */
function readSubject(problem: HoldfastError['problem']): { kind: string; id: string | undefined } {
  const path = typeof problem?.['instance'] === 'string' ? problem['instance'] : '';
  const [, kind = '', id] = /^\/v1\/([\w-]+)(?:\/([^/]+))?/.exec(path) ?? [];
  return { kind, id };
}

/** What to do, with the command that shows it, if there is one. */
function withCommand(step: string, command: string | undefined, shown: string): string {
  return command === undefined ? step : `${step}; "holdfast ${command}" shows the ${shown}`;
}

/** The command that lists the kind of thing that a request asked for; undefined: there is none. */
function listCommand(problem: HoldfastError['problem']): string | undefined {
  return LISTS[readSubject(problem).kind];
}

/** The command that shows what a request would have changed, or the things of its kind. */
function showCommand(problem: HoldfastError['problem']): string | undefined {
  const { kind, id } = readSubject(problem);
  const word = SHOWN[kind];
  return word === undefined || id === undefined ? listCommand(problem) : `${word} show ${decodeURIComponent(id)}`;
}

/** The kinds of things of which a command shows one. */
const SHOWN: Readonly<Record<string, string>> = {
  approvals: 'approvals',
  batches: 'batch',
  'bulk-actions': 'bulk',
  datasets: 'datasets',
  deliveries: 'deliveries',
  evaluations: 'eval',
  messages: 'messages',
  sessions: 'sessions',
  turns: 'turns',
};

const LISTS: Readonly<Record<string, string>> = {
  agents: 'agents list',
  'alert-destinations': 'alerts list',
  approvals: 'approvals list',
  attention: 'attention list',
  batches: 'batch list',
  'bulk-actions': 'bulk list',
  budgets: 'budgets list',
  channels: 'channels list',
  crons: 'cron list',
  datasets: 'datasets list',
  'dead-letters': 'dead list',
  deliveries: 'deliveries list',
  evaluations: 'eval list',
  keys: 'keys list',
  mcp: 'mcp list',
  messages: 'messages list',
  models: 'models list',
  pairings: 'pairing list',
  scores: 'scores list',
  sessions: 'sessions list',
  subjects: 'sessions list',
  subagents: 'subagents list <session>',
  'tool-calls': 'tool-calls list',
  turns: 'turns list',
  workers: 'workers list',
};
