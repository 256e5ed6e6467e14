// The file of `holdfast eval run`: the body of POST /v1/evaluations in JSON5, whose data set may be a
// file of cases beside it. An evaluation of such a file runs the cases that the file has now: each
// case carries the tag `cases` with the hash of all of them, and the evaluation runs what has that
// tag. So the same file is uploaded once, and another state of it is another version.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import JSON5 from 'json5';
import { canonicalJson, isObject } from '../../../core/json.ts';
import { decodeText, NOT_TEXT } from '../../../core/text.ts';
import type { ApiClient } from '../../../cli/api-client.ts';
import { CliError, conflict, EXIT, usageError } from '../../../cli/cli-error.ts';
import { fileError } from '../../../cli/file-error.ts';
import type { Terminal } from '../../../cli/terminal.ts';

const CASES_TAG = 'cases';
const HASH_CHARS = 16;
const PAGE_ITEMS = 1000;
const UPLOAD_MS_MAX = 600_000;

interface EvaluationFile {
  /** The body of the request. The service checks its fields. */
  request: Record<string, unknown>;
  /** Null: the data set is there already. */
  cases: CaseFile | null;
}

interface CaseFile {
  /** The data set as `createDataset` takes it. */
  dataset: Record<string, unknown> & { name: string };
  /** Of all lines. */
  hash: string;
  /** Each with the tag. */
  lines: string;
}

/** Reads the file and those that it names. Throws `CliError` for what cannot be read. */
export async function readEvaluationFile(path: string): Promise<EvaluationFile> {
  const text = await readText(path, 'pass a file with the fields of POST /v1/evaluations in JSON5');
  const request = parseFile(path, text);
  const near = (file: string): string => resolve(dirname(path), file);
  if (Array.isArray(request['candidates']))
    request['candidates'] = await Promise.all(request['candidates'].map((one) => withPrompt(one, near)));
  const named = request['dataset'];
  if (!isObject(named)) return { request, cases: null };
  const { file, ...dataset } = named;
  const { name } = dataset;
  if (typeof file !== 'string' || typeof name !== 'string')
    throw usageError(
      `dataset of ${path} is an object without a name and a file`,
      'write the name of a data set, or {name: "refunds", file: "refunds.jsonl"}',
      'bad_file',
    );
  const cases = readCases(near(file), await readText(near(file), CASES_FIX));
  const tags = isObject(request['tags']) ? request['tags'] : {};
  return {
    request: { ...request, dataset: name, tags: { ...tags, [CASES_TAG]: cases.hash } },
    cases: { ...cases, dataset: { ...dataset, name } },
  };
}

const CASES_FIX = 'write one JSON object per line, such as {"input": "Is it paid?", "expected": "yes"}';

async function readText(path: string, fix: string): Promise<string> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw fileError('read', path, { cause, fix });
  });
  const text = decodeText(bytes);
  if (text === null) throw fileError('read', path, { cause: `it ${NOT_TEXT}`, fix: 'save it in UTF-8' });
  return text;
}

function parseFile(path: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON5.parse(text);
    if (isObject(value)) return value;
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^JSON5: /, '') : String(error);
    throw fileError('read', path, { cause: `it is not JSON5: ${reason}`, fix: 'correct the file' });
  }
  throw fileError('read', path, { cause: 'it is not an object', fix: 'write the fields of POST /v1/evaluations' });
}

/** A candidate whose system prompt may be a file of its own. */
async function withPrompt(candidate: unknown, near: (file: string) => string): Promise<unknown> {
  if (!isObject(candidate) || typeof candidate['systemPromptFile'] !== 'string') return candidate;
  const { systemPromptFile, ...rest } = candidate;
  return { ...rest, systemPrompt: await readText(near(systemPromptFile), 'correct systemPromptFile') };
}

function readCases(path: string, text: string): Pick<CaseFile, 'hash' | 'lines'> {
  const cases = text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [parseCase(path, line, at + 1)]));
  if (cases.length === 0) throw fileError('read', path, { cause: 'it has no lines', fix: CASES_FIX });
  const hash = createHash('sha256').update(canonicalJson(cases)).digest('hex').slice(0, HASH_CHARS);
  const tagged = cases.map((one) => ({ ...one, tags: { ...(one['tags'] as object | undefined), [CASES_TAG]: hash } }));
  return { hash, lines: tagged.map((one) => `${JSON.stringify(one)}\n`).join('') };
}

function parseCase(path: string, line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (isObject(value)) return value;
  } catch (cause) {
    throw fileError('read', path, { cause: `line ${number} is not JSON: ${(cause as Error).message}`, fix: CASES_FIX });
  }
  throw fileError('read', path, { cause: `line ${number} is not an object`, fix: CASES_FIX });
}

/** Makes the data set if it is not there, and adds the cases unless it has them. */
export async function uploadCases(
  { dataset, hash, lines }: CaseFile,
  api: ApiClient,
  terminal: Pick<Terminal, 'note'>,
): Promise<void> {
  const { name } = dataset;
  const known = await api.getDataset({ dataset: name }).catch((error: unknown) => {
    if (error instanceof CliError && error.exitCode === EXIT.notFound) return null;
    throw error;
  });
  if (known !== null) requireSameSettings(dataset, { agent: known.agentId, heldBackPercent: known.heldBackPercent });
  const { id } = known ?? (await api.call('createDataset', dataset));
  for await (const { tags } of api.each('listDatasetItems', { dataset: id, limit: PAGE_ITEMS }))
    if (tags[CASES_TAG] === hash) return;
  // Two jobs at once add them once.
  const sent = { idempotencyKey: `${id}:${hash}`, timeoutMs: UPLOAD_MS_MAX };
  const { added, version } = await api.addDatasetItems({ dataset: id, body: lines }, sent);
  terminal.note(`uploaded ${added} ${added === 1 ? 'case' : 'cases'} to ${name}, version ${version}`);
}

/** A data set keeps the settings that it was made with. */
function requireSameSettings(
  { name, ...dataset }: CaseFile['dataset'],
  known: { agent: string; heldBackPercent: number },
): void {
  for (const [field, value] of Object.entries(known))
    if (dataset[field] !== undefined && dataset[field] !== value)
      throw conflict(
        `the data set ${name} has ${field} ${value}, and the file says ${JSON.stringify(dataset[field])}`,
        'take the same value, or another name for the data set',
        'other_dataset',
      );
}
