// `holdfast sessions compact`, `reset` and `fork`: operations on a session's whole transcript.
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { CompactionView as CompactionAnswer } from '../../contract/transcripts.ts';
import type { SettledMessage as SettledMessageAnswer } from '../../contract/answers.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import { EXIT, type ExitCode } from '../cli-error.ts';
import { interruption } from '../poll-until-end.ts';
import type { Terminal } from '../terminal.ts';
import { waitUntilSettled, type SendRequest } from '../wait-until-settled.ts';
import { reportEnd } from './send.ts';

export interface CompactOptions {
  instructions?: string;
  /** Absent: do not wait. */
  waitSeconds?: number;
  idempotencyKey?: string;
}

/** Compacts a session as soon as it is idle; prints the id of the request, or with a wait its result. */
export async function runSessionsCompact(
  key: string,
  { instructions, waitSeconds, idempotencyKey = randomUUID() }: CompactOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const api = connectApi(flags);
  const request: SendRequest = {
    sessionKey: key,
    // The answer has the fields of a message's answer that the wait reads.
    send: async (options) =>
      fromOptions(
        await api.compactSession(
          { key, body: instructions === undefined ? {} : { instructions } },
          { ...options, idempotencyKey },
        ),
      ),
  };
  const signal = interruption();
  const deadlineMs = performance.now() + (waitSeconds ?? 0) * 1000;
  const result = await waitUntilSettled(api, request, { deadlineMs, signal });
  if (result.kind === 'settled') return reportCompaction(api, key, result.answer, terminal);
  const { accepted } = result;
  if (terminal.isJson) terminal.json(accepted ?? {});
  else if (accepted !== null && waitSeconds === undefined) terminal.print(accepted.message.id);
  if (result.kind === 'interrupted') return EXIT.interrupted;
  if (waitSeconds === undefined) return EXIT.ok;
  terminal.note(
    `not done within ${waitSeconds} s; it continues: holdfast turns list --session ${key} --kind compaction`,
  );
  return EXIT.waitEnded;
}

async function reportCompaction(
  api: ApiClient,
  key: string,
  answer: SettledMessageAnswer,
  terminal: Terminal,
): Promise<ExitCode> {
  const { message, turn } = answer;
  const reply = answer.reply ?? message.reply;
  if (terminal.isJson) terminal.json({ message, turn, compaction: await compactionOf(api, key, turn?.id) });
  else if (reply !== null) terminal.print(reply);
  return reportEnd(message, turn, terminal);
}

/** The compaction of a turn; null when there was nothing to compact. */
async function compactionOf(api: ApiClient, key: string, turnId: string | undefined): Promise<CompactionAnswer | null> {
  const body = await api.listCompactions({ key, limit: 20 });
  return body.items.find((compaction) => compaction.turnId === turnId) ?? null;
}

/** Begins a new transcript under the same key. */
export async function runSessionsReset(
  key: string,
  { abort }: { abort?: boolean },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).resetSession({ key, body: abort === true ? { abort } : {} });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(`transcript ${body.transcriptNo} begins; transcript ${body.previousTranscriptNo} is kept`);
  return EXIT.ok;
}

/** Copies a session up to an entry, or whole; prints the key of the copy. */
export async function runSessionsFork(
  key: string,
  newKey: string,
  { until }: { until?: string },
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const body = await connectApi(flags).forkSession({
    key,
    body: { key: newKey, ...(until === undefined ? {} : { entryId: until }) },
  });
  if (terminal.isJson) terminal.json(body);
  else terminal.print(body.session.key);
  terminal.note(`a copy with ${body.entries} entries`);
  return EXIT.ok;
}
