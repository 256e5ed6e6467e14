// Speech to text: audio that comes with the messages of a turn is transcribed before the turn's
// next model call. A transcript is an entry of the turn, committed with the row of its call: a
// retry finds both or neither. A message that is answered again in another turn has the same
// transcript.
//
// Transcribing only reads, so a call that a crashed worker has left without an answer is made
// again; it may have been paid, and its cost counts as an estimate.
import { isPendingAudio } from '../../prompt/message-prompt.ts';
import type { Config } from '../../config.ts';
import type { InboundMessage, Media } from '../../core/inbound.ts';
import type { MessageId } from '../../core/ids.ts';
import { ImageFault } from '../../images/fit-image.ts';
import { storeStep } from '../../kernel/turn/store-step.ts';
import type { TurnContext, TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import { parkedStop } from '../../kernel/turn/gate/gate.ts';
import type { ModelCallRow, NewEntry } from '../../kernel/turn/journal/journal.ts';
import { makePaidCall, passGate, type PaidEnd } from '../../kernel/turn/loop/pay-call.ts';
import { modelEnded, modelStarted } from '../../kernel/turn/turn-log.ts';
import type { OpenedTurn } from '../../kernel/turn/opened-turn.ts';
import { nextCallNo, newEntry, NO_ROWS } from '../../kernel/turn/position.ts';
import type { PaidCall, SendPaid } from '../../tools/paid-call.ts';
import { ToolTimeoutError } from '../../tools/tool.ts';
import { WebFetchError } from '../../tools/web-fetch-request.ts';
import { answerOf, requestOf, sendMedia } from './call-model.ts';
import { readFileOrUrl } from './read-file-or-url.ts';
import { audioType, likelyMinutes, noTranscriptText, transcriptText, unitCost } from './rules.ts';
import { readTranscripts } from './store/read-transcripts.ts';

/** The most of a file, which is what OpenAI takes. */
const FILE_BYTES_MAX = 25 * 1024 * 1024;
const TIMEOUT_MS = 180_000;
/** About how many tokens a minute of audio and its words have, for models that bill tokens. */
const TOKENS_PER_MINUTE = 1_000;
/** The most attachments of one turn that are transcribed. */
const AUDIO_MAX = 20;

type Settings = NonNullable<Config['tools']['transcribe']>;

/** An attachment that is to be transcribed. */
interface Audio {
  messageId: MessageId;
  media: Media;
  /** Its place among those of its message, and how many these are. */
  at: number;
  of: number;
}

/** What is said in the place of an attachment. */
interface Transcript {
  text: string;
  isFailed: boolean;
  rows?: ModelCallRow[];
}

export function transcriptionInTurns({ config }: TurnParts): TurnFeature {
  const settings = config.tools.transcribe;
  if (settings === undefined) return {};
  /** The attachments of each turn that have their entry, as this worker knows. */
  const known = new WeakMap<OpenedTurn, Set<string>>();
  return {
    async prepare(context, turn) {
      const done = known.get(turn) ?? new Set<string>();
      known.set(turn, done);
      const pending = listAudio(turn).filter((audio) => !done.has(keyOf(audio)));
      // The request of a call in a batch of the provider is made already.
      if (pending.length === 0 || turn.journal.attempt.hop !== null) return;
      const stored = await readTranscripts(context.store.database, turn.session.id, pending);
      for (const audio of pending) {
        const earlier = stored.find(({ messageId, at }) => messageId === audio.messageId && at === audio.at);
        if (earlier?.turnId !== turn.id) await addTranscript(context, turn, { settings, audio, text: earlier?.text });
        done.add(keyOf(audio));
      }
    },
  };
}

function keyOf({ messageId, at }: Audio): string {
  return `${messageId} ${at}`;
}

function listAudio({ journal }: OpenedTurn): Audio[] {
  const all = journal.at.inputs.flatMap(({ id, body }) => {
    const spoken = ((body as Partial<InboundMessage>).media ?? []).filter(isPendingAudio);
    return spoken.map((media, index) => ({ messageId: id, media, at: index + 1, of: spoken.length }));
  });
  return all.slice(0, AUDIO_MAX);
}

/** Commits the entry of an attachment. `text`: what an earlier turn has said of it. */
async function addTranscript(
  context: TurnContext,
  turn: OpenedTurn,
  { settings, audio, text }: { settings: Settings; audio: Audio; text: string | undefined },
): Promise<void> {
  const lostNo = findLost(turn);
  const found = text === undefined ? await transcribe(context, turn, { settings, audio }) : { text, isFailed: false };
  const { messageId, at } = audio;
  const failed = found.isFailed ? { isFailed: true } : {};
  const entry: NewEntry = {
    ...newEntry('steer', 'user', [{ type: 'text', text: found.text }]),
    provenance: { kind: 'transcript', messageId, at, ...failed },
  };
  const made = found.rows ?? [];
  const modelCalls = made.flatMap((row) => (lostNo === null ? [row] : [lostRow(row, lostNo), row]));
  const calls = turn.journal.at.progress.calls + 1;
  await storeStep(context, turn, {
    ...NO_ROWS,
    entries: [entry],
    modelCalls,
    events: [
      ...modelCalls.map((row) => modelEnded(turn, row)),
      ...(made.length === 0 ? [] : [modelStarted(turn.id, calls)]),
    ],
    totals: made.length === 0 ? {} : { calls },
  });
}

/**
 * The number of a call that an earlier worker has charged and left without an answer; null: there
 * is none.
 */
function findLost({ journal }: OpenedTurn): number | null {
  const { isCharged, park, progress } = journal.at;
  return isCharged || park !== null ? null : progress.calls;
}

function lostRow(row: ModelCallRow, callNo: number): ModelCallRow {
  const error = { code: 'call_lost', message: 'The worker crashed during the call. It was made again.' };
  const { notes: _notes, ...call } = row;
  return { ...call, callNo, status: 'aborted', error, stopReason: null, responseId: null, isEstimated: true };
}

async function transcribe(
  context: TurnContext,
  turn: OpenedTurn,
  { settings, audio }: { settings: Settings; audio: Audio },
): Promise<Transcript> {
  const { media, ...place } = audio;
  const failed = (reason: string, rows: ModelCallRow[] = []) => ({
    text: noTranscriptText(media, reason),
    isFailed: true,
    rows,
  });
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new ToolTimeoutError('The transcription', TIMEOUT_MS)), TIMEOUT_MS);
  const signal = AbortSignal.any([turn.held.signal, late.signal]);
  try {
    const { workspaceDir } = turn.agent;
    const name = media.path ?? media.url ?? '';
    const bytes = await readFileOrUrl(context.config, name, { workspaceDir, signal, bytesMax: FILE_BYTES_MAX });
    const end = await callModel(context, turn, { settings, media, bytes, signal });
    if ('reason' in end) return failed(end.reason);
    return end.kind === 'answered'
      ? { text: transcriptText(end.result, place), isFailed: false, rows: [end.row] }
      : failed(end.fault.message, [end.row]);
  } catch (error) {
    turn.held.signal.throwIfAborted();
    if (error instanceof ImageFault || error instanceof WebFetchError || error instanceof ToolTimeoutError)
      return failed(error.message);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * A transcription waits for limits and budgets as an answer does, and not for a model that is away.
 * Throws what parks or ends the turn.
 */
async function callModel(
  context: TurnContext,
  turn: OpenedTurn,
  { settings, media, bytes, signal }: { settings: Settings; media: Media; bytes: Buffer; signal: AbortSignal },
): Promise<PaidEnd<string> | { reason: string }> {
  const { model, options } = settings;
  const callNo = nextCallNo(turn.journal.at);
  const minutes = likelyMinutes(bytes.length);
  const call: PaidCall = {
    purpose: 'transcription',
    request: requestOf(model, '', Math.ceil(minutes * TOKENS_PER_MINUTE)),
    unitMicros: unitCost(settings, 'usdPerMinute', minutes),
  };
  const entry = await passGate(context, turn, { ...call, callNo });
  if ('wait' in entry) {
    if (entry.wait.isOfModel === true) return { reason: entry.wait.reason.text };
    throw parkedStop(context, turn, entry.wait);
  }
  const send: SendPaid<string> = async (way) => {
    const asked = { audio: new Uint8Array(bytes), mediaType: audioType(media), options };
    const answer = await sendMedia(context.config, 'transcription', way, asked);
    const seconds = answer.durationInSeconds;
    const spent = seconds === undefined ? {} : { unitMicros: unitCost(settings, 'usdPerMinute', seconds / 60) };
    return { ...answerOf(answer.text, answer), ...spent };
  };
  try {
    if (!turn.journal.at.isCharged)
      await storeStep(context, turn, {
        ...NO_ROWS,
        totals: { calls: callNo },
        events: [modelStarted(turn.id, callNo)],
      });
  } catch (error) {
    entry.pass.left();
    throw error;
  }
  const step = turn.journal.at.progress.steps + 1;
  return await makePaidCall(context, turn, { ...call, ...entry, callNo, step, signal }, send);
}
