// Every metric of Holdfast: its kind, its meaning, its labels and its buckets. No label names a
// session or a user, and docs/operations.md lists all of them. The parts of a process fill them:
// `workers/process-metrics.ts`, `workers/process-metrics.ts`, `src/api/services.ts`.
import { collectDefaultMetrics, Counter, Gauge, Histogram, type Registry } from 'prom-client';

const TURN_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800];
const OVERHEAD_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const TOOL_SECONDS = [0.05, 0.25, 1, 5, 30, 120, 600];
const MODEL_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320];
const RATE_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const LAG_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600];
const STATEMENT_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10];
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
// The buckets of OpenTelemetry's conventions for generative AI; metrics and labels that begin with
// gen_ai follow them, too.
const GEN_AI_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const GEN_AI_TOKENS = [
  1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];
const GEN_AI_CALL = ['gen_ai_operation_name', 'gen_ai_provider_name', 'gen_ai_request_model'] as const;

const counter = <const Labels extends readonly string[]>(help: string, labels: Labels) =>
  ({ kind: 'counter', help, labels }) as const;
const gauge = <const Labels extends readonly string[]>(help: string, labels: Labels) =>
  ({ kind: 'gauge', help, labels }) as const;
const histogram = <const Labels extends readonly string[]>(help: string, buckets: number[], labels: Labels) =>
  ({ kind: 'histogram', help, labels, buckets }) as const;

/**
 * What a scrape reads from the database: the service as a whole, the same from every process with
 * an API.
 */
export const SCRAPED_METRICS = {
  holdfast_sessions: gauge('Sessions', []),
  holdfast_live_locks: gauge('Sessions that a worker has claimed', []),
  holdfast_oldest_wait_seconds: gauge('Age of the oldest waiting message', []),
  holdfast_dead_letters_open: gauge('Dead letters that wait for a decision', []),
  holdfast_system_events_waiting: gauge('System events that wait for a prompt', []),
  holdfast_messages: gauge('Messages by status', ['status']),
  holdfast_turns: gauge('Turns by status', ['status']),
  holdfast_deliveries: gauge('Deliveries by status', ['status']),
  holdfast_queue_depth: gauge('Sessions that have work but no worker', ['lane']),
  holdfast_model_calls_unpriced_total: counter('Model calls with an unknown cost', ['model']),
  holdfast_batches: gauge('Batches that have not ended, by status', ['status']),
  holdfast_batch_items: gauge('Items of batches that have not ended, by status', ['status']),
  holdfast_provider_batches: gauge('Submissions to the provider whose results have not been read, by status', [
    'status',
  ]),
  holdfast_batch_oldest_seconds: gauge('Age of the oldest batch that has not ended; 0 if there is none', []),
  holdfast_provider_batch_oldest_seconds: gauge(
    'Age of the oldest submission whose results have not been read; 0 if there is none',
    [],
  ),
  holdfast_outbox_oldest_seconds: gauge(
    'Age of the oldest delivery that is neither sent nor abandoned; 0 if there is none',
    [],
  ),
  holdfast_cron_overdue_seconds: gauge('Delay of the most overdue cron; 0 if no cron is overdue', []),
  holdfast_events_held_back_seconds: gauge(
    'Age of the oldest event that readers do not see yet because of an open transaction',
    [],
  ),
  holdfast_search_lag_seconds: gauge(
    'Age of the oldest event whose words the search may not have yet; 0 if it has read all events',
    [],
  ),
  holdfast_workers: gauge('Running processes, by role', ['role']),
  holdfast_troubles: gauge('Problems of the service, by kind; 0 if the problem does not exist', ['kind']),
  holdfast_mcp_servers: gauge('MCP servers that workers ask, by state', ['state']),
  holdfast_mcp_server_up: gauge('1: the MCP server answered when it was asked last; 0: it did not', ['server']),
  holdfast_unknown_calls: gauge('Tool calls with an unknown outcome that no person has acknowledged', []),
  holdfast_parked_turns: gauge('Turns that are parked, by the reason', ['code']),
  holdfast_lane_oldest_wait_seconds: gauge(
    'Age of the oldest waiting message by lane and reason: the oldest that no turn has claimed, and that of the parked turns of each reason',
    ['lane', 'code'],
  ),
  holdfast_cache_hit_ratio: gauge("Share of prompt tokens of the last hour that were read from the provider's cache", [
    'tier',
  ]),
  holdfast_retention_deleted_total: counter('Deleted old rows, by kind', ['kind']),
  holdfast_retention_reach_seconds: gauge('Age beyond which rows have been deleted, by kind', ['kind']),
  holdfast_oldest_transaction_seconds: gauge('Age of the open transaction that holds back live events', [
    'database',
    'application',
  ]),
};

export const METRICS = {
  ...SCRAPED_METRICS,

  // What a worker counts after the commit.
  holdfast_turns_ended_total: counter('Ended turns; `code` is empty without an error', [
    'status',
    'kind',
    'lane',
    'code',
  ]),
  holdfast_turn_duration_seconds: histogram('Time from the start of a turn to its end', TURN_SECONDS, ['lane', 'kind']),
  holdfast_turn_wait_seconds: histogram(
    'Time that turns waited: `queue` before they started, `rate` for a rate limit or a block of their model',
    TURN_SECONDS,
    ['lane', 'reason'],
  ),
  holdfast_turn_overhead_seconds: histogram(
    'Time that a turn spent outside model calls, tools and rate limits, for turns with one attempt',
    OVERHEAD_SECONDS,
    [],
  ),
  gen_ai_invoke_agent_duration_seconds: histogram(
    'Duration of turns, by the conventions of OpenTelemetry for generative AI',
    GEN_AI_SECONDS,
    ['gen_ai_operation_name', 'gen_ai_agent_name', 'error_type'],
  ),
  holdfast_locks_taken_over_total: counter('Turns that this worker resumed because their worker was lost or had left', [
    'lane',
  ]),
  holdfast_compactions_total: counter('Attempts to compact a transcript', ['reason', 'status']),
  holdfast_tool_calls_total: counter('Tool calls', ['tool', 'status']),
  holdfast_tool_call_duration_seconds: histogram('Duration of tool calls', TOOL_SECONDS, ['tool']),
  gen_ai_execute_tool_duration_seconds: histogram(
    'Duration of tool calls, by the conventions of OpenTelemetry for generative AI',
    GEN_AI_SECONDS,
    ['gen_ai_operation_name', 'gen_ai_tool_name'],
  ),
  holdfast_model_calls_total: counter('Model calls; each retry counts as a call', ['model', 'tier', 'status']),
  holdfast_model_call_failures_total: counter(
    'Model calls that failed or were interrupted, by error code; each retry counts as a call',
    ['model', 'code'],
  ),
  holdfast_model_tokens_total: counter('Tokens of model calls; the kinds exclude each other', [
    'model',
    'tier',
    'kind',
  ]),
  holdfast_model_cost_dollars_total: counter('Cost of model calls', ['model', 'tier', 'agent']),
  holdfast_model_call_duration_seconds: histogram('Duration of live model calls', MODEL_SECONDS, ['model']),
  holdfast_model_first_chunk_seconds: histogram(
    'Time from the start of a live model call to the first part of its answer',
    MODEL_SECONDS,
    ['model'],
  ),
  gen_ai_client_token_usage: histogram(
    'Tokens of a model call; tokens read from and written to the cache count as input',
    GEN_AI_TOKENS,
    [...GEN_AI_CALL, 'gen_ai_token_type'],
  ),
  gen_ai_client_operation_duration_seconds: histogram('Duration of live model calls', GEN_AI_SECONDS, [
    ...GEN_AI_CALL,
    'error_type',
  ]),
  gen_ai_client_operation_time_to_first_chunk_seconds: histogram(
    'Time from the start of a live model call to the first part of its answer',
    GEN_AI_SECONDS,
    GEN_AI_CALL,
  ),
  holdfast_rate_wait_seconds: histogram(
    'Time that model calls waited for a rate limit or a block; calls that did not wait are not included',
    RATE_SECONDS,
    ['model'],
  ),
  holdfast_model_blocked_seconds: gauge(
    'Time until the model can be called again after a Retry-After; 0 if it can be called now',
    ['model'],
  ),
  holdfast_jobs_total: counter('Ended jobs, by queue, name and outcome', ['queue', 'job', 'outcome']),
  holdfast_deliveries_total: counter('Attempts to deliver', ['status']),

  // What a scheduler counts.
  holdfast_cron_fires_total: counter('Cron slots, by status', ['status']),
  holdfast_cron_lag_seconds: histogram('Delay of cron fires', LAG_SECONDS, []),
  holdfast_heartbeats_total: counter('Heartbeats: `made`, or the reason why no poll was made', ['result']),
  holdfast_provider_requests_total: counter('Requests in provider batches with a result', ['result']),
  holdfast_provider_cost_wasted_dollars_total: counter("Cost of the provider's answers that no turn uses", []),
  holdfast_traces_dropped_total: counter(
    'Turns whose trace was not exported because too many were waiting or the collector did not accept it',
    [],
  ),

  // What every process measures of itself.
  holdfast_build_info: gauge('1, with the version of this process', ['version']),
  holdfast_slots: gauge('Jobs that this process can run at once', ['lane']),
  holdfast_slots_in_use: gauge('Jobs that this process is running', ['lane']),
  holdfast_report_age_seconds: gauge('Time since this process last reported to the database', []),
  holdfast_pool_waiting: gauge('Statements that wait for a connection to PostgreSQL', ['pool']),
  holdfast_dependency_faults_total: counter(
    'Calls that failed because the database or the queue did not work; all of them are retried',
    ['dependency'],
  ),
  holdfast_event_loop_lag_seconds: gauge('Delay of the event loop: the 99th percentile since the last scrape', []),
  holdfast_statement_duration_seconds: histogram(
    'Duration of statements, including the wait for a connection',
    STATEMENT_SECONDS,
    ['name'],
  ),
  holdfast_rings_repeated_total: counter(
    'Jobs that the reconciler added again because the job or its worker was lost',
    [],
  ),

  // What an API measures of itself.
  holdfast_http_requests_total: counter('Completed requests', ['method', 'route', 'status']),
  holdfast_http_request_duration_seconds: histogram(
    'Time from the first byte of a request to the last byte of its answer; excludes event streams and waits',
    REQUEST_SECONDS,
    ['method', 'route'],
  ),
  holdfast_http_requests_inside: gauge('Requests in progress', []),
  holdfast_event_streams: gauge('Open event streams', []),
  holdfast_events_open_streams: gauge('The same as holdfast_event_streams', []),
  holdfast_waiting_requests: gauge('Requests that wait for a reply', []),
  holdfast_channel_accounts: gauge('Accounts of channels, by state', ['channel', 'state']),
  holdfast_channel_waiting_parts: gauge('Messages that wait to be sent to chats', ['channel', 'account']),
  holdfast_channel_last_received_seconds: gauge('Age of what was received last', ['channel', 'account']),
  holdfast_budget_used_ratio: gauge("Spent and reserved share of each budget's limit in its current window", [
    'budget',
  ]),
  holdfast_dependency_up: gauge('1 if this process can use the dependency, by dependency, as GET /readyz says', [
    'dependency',
  ]),
  holdfast_database_up: gauge('1 if the database answered this scrape', []),
};

export type MetricName = keyof typeof METRICS;

type Row = (typeof METRICS)[MetricName];
type Made<One extends Row> = One extends { kind: 'counter' }
  ? Counter<One['labels'][number]>
  : One extends { kind: 'gauge' }
    ? Gauge<One['labels'][number]>
    : Histogram<One['labels'][number]>;

/**
 * Adds a metric of the table to the registry. `collect` fills it on each scrape, after it was
 * emptied.
 */
export function metricIn<Name extends MetricName>(
  registry: Registry,
  name: Name,
  collect?: (metric: Made<(typeof METRICS)[Name]>) => void,
): Made<(typeof METRICS)[Name]> {
  const { kind, help, labels, ...buckets } = METRICS[name];
  const settings = {
    name,
    help,
    labelNames: labels as readonly string[],
    registers: [registry],
    ...(collect === undefined
      ? {}
      : {
          collect(this: { reset: () => void }) {
            this.reset();
            collect(this as Made<(typeof METRICS)[Name]>);
          },
        }),
  };
  const made =
    kind === 'counter'
      ? new Counter(settings)
      : kind === 'gauge'
        ? new Gauge(settings)
        : new Histogram({ ...settings, ...buckets });
  return made as unknown as Made<(typeof METRICS)[Name]>;
}

/** Gauges with names of counters. Each is the sum of the gauge of its name without `_total`. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Adds what the client library measures of Node and its process. */
export function addNodeMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
