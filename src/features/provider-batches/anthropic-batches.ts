// Anthropic's Message Batches API as a `BatchPort`, through the SDK. The body of a submission is
// put together from the stored texts and sent as it is; the results are read line by line. Only the
// configured address is called, whatever `results_url` says.
import { hash } from 'node:crypto';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { cutHead } from '../../core/text.ts';
import { isDefinite, type ListedBatch } from './rules/submission.ts';
import { readRetryAfter } from '../../network/retry-after.ts';
import type { BatchPort, NewSubmission, ProviderBatch, SubmitOutcome } from './batch-port.ts';
import { connectionOptions } from '../../model/connections.ts';

export interface AnthropicBatchesOptions {
  apiKey: string;
  /** The provider's address; the SDK's own when absent. */
  baseUrl?: string;
  headers?: Record<string, string>;
  /** Names the account of its submissions; absent: a hash of the address. */
  account?: string;
}

const PATH = '/v1/messages/batches';

/** How long a submission and any other call may take, in milliseconds. */
const SUBMIT_MS_MAX = 300_000;
const CALL_MS_MAX = 60_000;
const LISTED_AT_ONCE = 100;

/** The most pages of a list that are read. */
const PAGES_MAX = 50;
const LINE_CHARS_MAX = 32 * 1024 * 1024;

/** Makes the port; holds a pool of connections. */
export function createAnthropicBatches({ apiKey, baseUrl, headers, account }: AnthropicBatchesOptions): BatchPort {
  const client = new Anthropic({
    apiKey,
    ...(baseUrl === undefined ? undefined : { baseURL: baseUrl }),
    ...(headers ? { defaultHeaders: headers } : undefined),
    ...connectionOptions(),
    maxRetries: 0,
    timeout: CALL_MS_MAX,
    logLevel: 'off',
  });
  return {
    // The key may be rotated while batches are out: they are asked for with the new one.
    account: account ?? hash('sha256', client.baseURL, 'hex').slice(0, 16),
    timeoutMs: SUBMIT_MS_MAX,
    submit: (submission) => submit(client, submission),
    find: (sinceMs) => find(client, sinceMs),
    poll: (id) => poll(client, id),
    read: (id) => read(client, id),
    cancel: async (id) => void (await client.messages.batches.cancel(id)),
  };
}

async function submit(client: Anthropic, { requests, beforeSend }: NewSubmission): Promise<SubmitOutcome> {
  const lines = requests.map(({ customId, params }) => `{"custom_id":${JSON.stringify(customId)},"params":${params}}`);
  const body = Buffer.from(`{"requests":[${lines.join(',')}]}`);
  beforeSend();
  try {
    const batch = await client.post<Anthropic.Messages.MessageBatch>(PATH, {
      body,
      headers: { 'content-type': 'application/json' },
      timeout: SUBMIT_MS_MAX,
    });
    if (typeof batch?.id !== 'string')
      return { kind: 'unknown', message: 'The answer to the submission names no batch.' };
    return { kind: 'submitted', batch: shownBatch(batch) };
  } catch (error) {
    const { message } = error as Error;
    const status = error instanceof APIError ? ((error.status as number | undefined) ?? null) : null;
    if (!isDefinite(status) || status === null) return { kind: 'unknown', message };
    const retryAfterMs = error instanceof APIError ? readRetryAfter(error.headers ?? new Headers(), Date.now()) : null;
    return { kind: 'refused', status, message, retryAfterMs };
  }
}

async function find(client: Anthropic, sinceMs: number): Promise<{ listed: ListedBatch[]; nowMs: number }> {
  const listed: ListedBatch[] = [];
  const { data, response } = await client.messages.batches.list({ limit: LISTED_AT_ONCE }).withResponse();
  const date = Date.parse(response.headers.get('date') ?? '');
  const nowMs = Number.isNaN(date) ? Date.now() : date;
  let page = data;
  for (let pages = 1; ; pages += 1) {
    for (const batch of page.data) listed.push(listedBatch(batch));
    const oldest = listed.at(-1);
    if (oldest === undefined || oldest.createdAtMs < sinceMs || !page.hasNextPage() || pages >= PAGES_MAX) break;
    page = await page.getNextPage();
  }
  return { listed: listed.filter(({ createdAtMs }) => createdAtMs >= sinceMs), nowMs };
}

async function poll(client: Anthropic, id: string): Promise<ProviderBatch | null> {
  try {
    return shownBatch(await client.messages.batches.retrieve(id));
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

async function read(client: Anthropic, id: string): Promise<AsyncIterable<string> | null> {
  try {
    const path = `${PATH}/${encodeURIComponent(id)}/results`;
    const response = await client.get(path, { headers: { accept: 'application/x-jsonl' } }).asResponse();
    return toLines(response.body);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** The lines of a body; those that are too long are cut, and then are no results. */
async function* toLines(body: ReadableStream<Uint8Array> | null): AsyncIterable<string> {
  if (body === null) return;
  let rest = '';
  // The two declarations of the stream differ in their iterators alone.
  const chunks = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>);
  for await (const chunk of chunks as unknown as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = cutHead(lines.pop() ?? '', LINE_CHARS_MAX);
    for (const line of lines) if (line.trim() !== '') yield line;
  }
  if (rest.trim() !== '') yield rest;
}

function isMissing(error: unknown): boolean {
  return error instanceof APIError && (error.status === 404 || error.status === 410);
}

function shownBatch(batch: Anthropic.Messages.MessageBatch): ProviderBatch {
  const { id, processing_status: status, expires_at: expiresAt, request_counts: counts } = batch;
  return { id, hasEnded: status === 'ended', expiresAt: expiresAt ?? null, counts: { ...counts } };
}

function listedBatch(batch: Anthropic.Messages.MessageBatch): ListedBatch {
  const counts: Record<string, number> = { ...batch.request_counts };
  return {
    id: batch.id,
    createdAtMs: Date.parse(batch.created_at),
    requestCount: Object.values(counts).reduce((sum, count) => sum + count, 0),
    hasEnded: batch.processing_status === 'ended',
  };
}
