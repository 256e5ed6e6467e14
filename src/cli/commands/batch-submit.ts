// `holdfast batch submit`: a file of items, sent as it is read; with --wait it is watched to its end.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { BatchEstimateView as BatchEstimateAnswer } from '../../contract/batches.ts';
import { parseDuration } from '../../config/durations.ts';
import { connectApi, fromOptions, type ClientFlags } from '../api-client.ts';
import type { BatchSubmitOptions } from '../batch-commands.ts';
import { dollarsText } from '../batch-progress.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { fileError } from '../file-error.ts';
import { printFields } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import { watchBatch } from './batch-watch.ts';

/** An upload takes as long as the file is large. */
const UPLOAD_MS_MAX = 3_600_000;

/** Submits a file, or estimates it. */
export async function runBatchSubmit(
  file: string,
  options: BatchSubmitOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const query = queryOf(options);
  const body = await api.postBatches(fromOptions({ ...query, body: Readable.toWeb(await openFile(file)) }), {
    headers: file.endsWith('.gz') ? { 'content-encoding': 'gzip' } : {},
    idempotencyKey: options.idempotencyKey,
    timeoutMs: UPLOAD_MS_MAX,
  });
  if (!('id' in body)) {
    printEstimate(body, terminal);
    return EXIT.ok;
  }
  const { id } = body;
  if (options.wait === undefined) {
    if (terminal.isJson) terminal.json(body);
    else terminal.print(id);
    return EXIT.ok;
  }
  terminal.note(`submitted ${body.counts.total} ${body.counts.total === 1 ? 'item' : 'items'}: ${id}`);
  return watchBatch(api, { id, waitSeconds: options.wait === true ? undefined : options.wait }, terminal);
}

function queryOf(options: BatchSubmitOptions): Record<string, string | number | undefined> {
  const { name, via, agent, model, concurrency, maxCost, pilot, deadline, format, deliver, tools, tag, dryRun } =
    options;
  return {
    name,
    via,
    agentId: agent,
    model,
    concurrency,
    maxCostUsd: maxCost,
    pilot,
    deadlineSeconds: deadline === undefined ? undefined : secondsOf(deadline),
    format: format === 'auto' ? undefined : format,
    deliver,
    tools: tools === undefined ? undefined : JSON.stringify({ allow: tools }),
    tags: tag === undefined ? undefined : JSON.stringify(tag),
    dryRun: dryRun === true ? 'true' : undefined,
  };
}

/** The seconds of a duration; a bare number is one of seconds, as in the API's `deadlineSeconds`. */
function secondsOf(text: string): number {
  const ms = parseDuration(/^\d+$/.test(text) ? `${text}s` : text);
  if (ms !== undefined && ms >= 1000) return Math.round(ms / 1000);
  throw new CliError({
    code: 'bad_option',
    exitCode: EXIT.usage,
    message: `--deadline ${text} is not a duration`,
    fix: 'pass one such as 12h or 90m, or a number of seconds',
  });
}

/** The bytes of the file; checked first, because an upload that fails says less. */
async function openFile(file: string): Promise<Readable> {
  if (file === '-') return process.stdin;
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error || !found.isFile() || found.size === 0) {
    throw fileError('read', file, {
      cause: found instanceof Error ? found : found.isFile() ? 'it is empty' : 'it is not a file',
      fix: 'pass a file with one JSON object per line, such as {"text": "hello"}',
    });
  }
  return createReadStream(file);
}

function printEstimate(estimate: BatchEstimateAnswer, terminal: Terminal): void {
  if (terminal.isJson) {
    terminal.json(estimate);
    return;
  }
  const { items, tokens, costUsd, recommended } = estimate;
  printFields(terminal, {
    items,
    tokens: `${tokens.input} in, ${tokens.output} out`,
    live: dollarsText(costUsd.live),
    'provider batch': `${dollarsText(costUsd.providerBatch.at100)} to ${dollarsText(costUsd.providerBatch.at50)}`,
    cheaper: recommended,
  });
}
