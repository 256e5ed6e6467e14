// What agents say, as messages of a platform: divides a delivery into parts, each of which the
// platform takes as one message, and sends one part.
import { lstat, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import type { Config } from '../../config.ts';
import { parseChannelUrl } from '../../core/channel-address.ts';
import type { DeliveryPayload } from '../../core/delivery-payload.ts';
import { given } from '../../core/json.ts';
import type { Database } from '../../database/database.ts';
import { outgoingFolder } from '../../files/copies.ts';
import { sniffFormat } from '../../images/fit-image.ts';
import { findAccount, openChat, UNAUTHORIZED_MS, type BotAccount, type OpenedChat } from './accounts.ts';
import { finishPreview } from './live/finish-preview.ts';
import { PlatformError, type Destination, type OutgoingPart, type Platform } from './platform.ts';
import { hasVisible, isCostlyMarkdown, type MarkdownNode } from './rules/markdown.ts';
import { PARTS_MAX, splitMarkdown, type TextLimit } from './rules/split.ts';

/**
 * One message of the platform: a text, one file, a file that is made of the text, or a reaction.
 */
export type PartPayload = DeliveryPayload & {
  /** The text is sent as a file of this name. */
  asFile?: string;
  buttons?: { text: string; callback_data: string }[][];
  /** It says that another part was not sent. */
  isNotice?: true;
};

/**
 * `later`: this attempt did not send it; with `isOfAccount`, the wait is for all chats of the
 * account. `refused`: it will never be sent. `unknown`: it may have been sent; `park`: a person
 * decides about it, otherwise it is sent again. `open`: it may have been sent, and the platform
 * will be asked when the lease has expired.
 */
export type PartResult =
  | { kind: 'sent'; platformId: string | null }
  | { kind: 'later'; status: number | null; error: string; retryAfterMs: number | null; isOfAccount: boolean }
  | { kind: 'refused'; status: number | null; error: string }
  | { kind: 'unknown'; status: number | null; error: string; policy: 'resend' | 'park' }
  | { kind: 'open'; error: string };

/** The parts of a delivery to a chat, in their order, or why it must wait. */
export async function divideDelivery(
  config: Config,
  url: string,
  payload: DeliveryPayload,
): Promise<PartPayload[] | Extract<PartResult, { kind: 'later' | 'refused' }>> {
  try {
    const { platform } = await openChat(config, url);
    return await divide(platform, payload);
  } catch (error) {
    return explain(error);
  }
}

async function divide(platform: Platform, payload: DeliveryPayload): Promise<PartPayload[]> {
  const { media = [], replyToMessageId, buttons, ...shared } = payload as PartPayload;
  if (shared.react !== undefined) return [shared];
  const files = media.map((file): PartPayload => ({ ...shared, text: '', media: [file] }));
  const parts = [...(await textParts(platform, shared)), ...files];
  return parts.map((part, index) => ({
    ...part,
    ...(index === 0 ? given({ replyToMessageId }) : {}),
    ...(index === parts.length - 1 ? given({ buttons }) : {}),
  }));
}

async function textParts({ textLimit }: Platform, payload: PartPayload): Promise<PartPayload[]> {
  const divided = await divideText(payload.text, textLimit);
  if (divided.kind === 'file') return [{ ...payload, asFile: 'message.md' }];
  return divided.parts.map((text) => ({ ...payload, text }));
}

/**
 * The least time between two messages to a chat, in milliseconds. A group of Telegram takes 20 in a
 * minute; otherwise a chat takes one in a second.
 */
export function chatGapMs(config: Config, url: string): number {
  const { channel, accountId, chatId } = parseChannelUrl(url)!;
  const isTelegram = findAccount(config, channel, accountId)?.adapter === 'telegram';
  return isTelegram && chatId.startsWith('-') ? 3_000 : 1_000;
}

export interface PartToSend {
  /** The id of the delivery. */
  id: string;
  /** Its place among the parts of the delivery, from 1. */
  part: number;
  url: string;
  payload: PartPayload;
  /** True: it may have been sent by an earlier attempt. */
  isAmbiguous: boolean;
  /**
   * By the monotonic clock: later, another process may have the part, so it is not sent. Absent: no
   * other process can have it.
   */
  sendBeforeMs?: number;
}

/**
 * Sends a part once; a part that may have been sent is sent only if the platform knows that it was
 * not. Never rejects.
 */
export async function sendPart(
  process: { config: Config; database: Database },
  part: PartToSend,
  signal: AbortSignal,
): Promise<PartResult> {
  try {
    const chat = await openChat(process.config, part.url);
    const { platform, account, to } = chat;
    const platformId = await putIntoPreview(process.database, chat, part, signal);
    if (platformId !== null) return { kind: 'sent', platformId };
    const sending = { to, part, signal, outgoing: outgoingFolder(process.config.runtime.dataDir) };
    const settled = part.isAmbiguous ? await settleAmbiguous(platform, account, sending) : null;
    return settled ?? (await sendOnce(platform, account, sending));
  } catch (error) {
    return explain(error);
  }
}

/** The first part of an answer replaces the preview of its turn, if there is one. */
async function putIntoPreview(database: Database, chat: OpenedChat, part: PartToSend, signal: AbortSignal) {
  const { turnId, type } = part.payload;
  const isAnswer = part.part === 1 && (type === 'reply' || type === 'failure');
  if (!isAnswer || turnId === null) return null;
  const message = isPlain(part.payload) ? messageOf(part) : null;
  return finishPreview(database, chat, { turnId, url: part.url, message, signal });
}

interface Sending {
  to: Destination;
  part: PartToSend;
  signal: AbortSignal;
  /** The folder with the files that may be sent. */
  outgoing: string;
}

/**
 * The platform can say whether a part was sent. On most, files carry no mark by which it could find
 * them.
 */
function canFind({ findSent, findsFiles = false }: Platform, { payload: { asFile, media = [] } }: PartToSend): boolean {
  const isFile = asFile !== undefined || media.some((one) => !('url' in one));
  return findSent !== undefined && (findsFiles || !isFile);
}

/** Null: it was not sent. */
async function settleAmbiguous(platform: Platform, account: BotAccount, sending: Sending): Promise<PartResult | null> {
  const { to, part, signal } = sending;
  // A reaction that is set twice is one.
  if (part.payload.react !== undefined) return null;
  if (!canFind(platform, part)) return unknownPart(account, part, 'Its sender died while it was sent.');
  try {
    const found = await platform.findSent!(to, part.id, signal);
    return found === null ? null : { kind: 'sent', platformId: found.platformId };
  } catch (error) {
    // The platform will never say.
    if (error instanceof PlatformError && error.kind === 'refused')
      return unknownPart(account, part, error.message, error.status);
    throw error;
  }
}

function unknownPart(
  { ofChannel }: BotAccount,
  { payload }: PartToSend,
  error: string,
  status: number | null = null,
): PartResult {
  const { onUnknown = { reply: 'resend', message: 'park' } } = ofChannel;
  return { kind: 'unknown', status, error, policy: payload.type === 'message' ? onUnknown.message : onUnknown.reply };
}

async function sendOnce(platform: Platform, account: BotAccount, sending: Sending): Promise<PartResult> {
  const { to, part, signal } = sending;
  const { sendBeforeMs = Infinity } = part;
  const { react } = part.payload;
  try {
    if (performance.now() > sendBeforeMs)
      throw new PlatformError('later', 'The process was suspended before it was sent.', { retryAfterMs: 0 });
    if (react === undefined) return { kind: 'sent', ...(await sendMessage(platform, sending)) };
    if (platform.react === undefined) throw new PlatformError('refused', `${platform.name} takes no reactions.`);
    await platform.react(to, react.messageId, react.emoji, signal);
    return { kind: 'sent', platformId: null };
  } catch (error) {
    const isKnown = error instanceof PlatformError && error.kind !== 'unknown';
    if (isKnown || react !== undefined) throw error;
    // The answer was lost. The platform may still be working on the message, so it is asked later.
    const { message } = error as Error;
    const status = error instanceof PlatformError ? error.status : null;
    return canFind(platform, part) ? { kind: 'open', error: message } : unknownPart(account, part, message, status);
  }
}

/** A text that quotes nothing. */
function isPlain({ asFile, media = [], react, replyToMessageId }: PartPayload): boolean {
  return media.length === 0 && [asFile, react, replyToMessageId].every((more) => more === undefined);
}

function messageOf({ payload, id: deliveryId }: PartToSend): OutgoingPart {
  const { text, replyToMessageId, buttons = [] } = payload;
  return {
    markdown: text,
    deliveryId,
    ...given({ replyToMessageId }),
    ...(buttons.length === 0
      ? {}
      : { buttons: buttons.flat().map((one) => ({ label: one.text, value: one.callback_data })) }),
  };
}

async function sendMessage(
  platform: Platform,
  { to, part, signal, outgoing }: Sending,
): Promise<{ platformId: string }> {
  const { payload } = part;
  const { text, media: [file] = [], asFile } = payload;
  const message = messageOf(part);
  if (asFile !== undefined) {
    return withTextFile(text, asFile, (path) =>
      platform.send(to, { ...message, markdown: '', file: { path, name: asFile, type: 'text/markdown' } }, signal),
    );
  }
  if (file === undefined) return platform.send(to, message, signal);
  // The platform, or who reads it, fetches what has an address.
  if ('url' in file) return platform.send(to, { ...message, markdown: file.url }, signal);
  // Only a copy is sent, which no command of an agent can exchange. That of a call on another
  // machine is not here.
  const path = join(outgoing, basename(file.path));
  const facts = await lstat(path).catch(() => null);
  if (facts?.isFile() !== true)
    throw new PlatformError('refused', `The file ${file.name} cannot be read on the machine of this worker.`);
  const name = basename(file.name);
  const type = await findOutgoingType(path, name);
  return platform.send(to, { ...message, file: { path, name, ...given({ type }) } }, signal);
}

async function withTextFile<Result>(
  text: string,
  name: string,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-part-')).catch(notWritten);
  try {
    const path = join(folder, name);
    await writeFile(path, text).catch(notWritten);
    return await use(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Nothing was sent, so this is no unknown outcome: the disk may be full. */
function notWritten(error: Error): never {
  throw new PlatformError('later', `The text could not be written into a file: ${error.message}`, { cause: error });
}

/**
 * How an error of a platform is stored. An error that is not its own comes from a file, or from the
 * network after the message may have been sent.
 */
function explain(error: unknown): Extract<PartResult, { kind: 'later' | 'refused' }> {
  if (!(error instanceof PlatformError)) return laterIn(null, error instanceof Error ? error.message : String(error));
  const { kind, message, status, retryAfterMs, isOfAccount } = error;
  if (kind === 'refused') return { kind, status, error: message };
  if (kind === 'unauthorized')
    return { ...laterIn(retryAfterMs ?? UNAUTHORIZED_MS, message, status), isOfAccount: true };
  return { ...laterIn(retryAfterMs ?? null, message, status), isOfAccount };
}

function laterIn(retryAfterMs: number | null, error: string, status: number | null = null) {
  return { kind: 'later' as const, status, error, retryAfterMs, isOfAccount: false };
}

/**
 * `file`: the text is to be sent as a file, because it is too long for messages or its markdown
 * takes too long to read.
 */
export type DividedText = { kind: 'parts'; parts: string[] } | { kind: 'file' };

/** A longer text takes about a second to read. */
const CHARS_MAX = 200_000;
/** Not every platform counts the addresses of links. */
const ADDRESS = /\]\([^()\s]*\)|^ {0,3}\[[^\]\n]+\]:.*/gm;

/**
 * The messages of a text in markdown, at most 10, each within the limit; none for a text of which
 * nothing is seen. The parser is loaded for the first text that does not fit.
 */
export async function divideText(markdown: string, limit: TextLimit): Promise<DividedText> {
  if (!hasVisible(markdown)) return { kind: 'parts', parts: [] };
  if (markdown.length > CHARS_MAX || markdown.replaceAll(ADDRESS, '').length > PARTS_MAX * limit.max)
    return { kind: 'file' };
  if (isCostlyMarkdown(markdown)) return { kind: 'file' };
  const size = limit.measure(markdown);
  if (size <= limit.max) return { kind: 'parts', parts: size === 0 ? [] : [markdown] };
  const { parseMarkdown, stringifyMarkdown } = await import('chat');
  const parts = splitMarkdown(markdown, limit, {
    // The trees of both have the form of mdast.
    parse: (text) => parseMarkdown(text) as unknown as MarkdownNode,
    stringify: (root) => stringifyMarkdown(root as unknown as Parameters<typeof stringifyMarkdown>[0], { bullet: '-' }),
  });
  return parts === null ? { kind: 'file' } : { kind: 'parts', parts };
}

/** Enough for each mark below. */
const HEAD_BYTES = 64;

/** How files begin, as Latin-1 text. */
const MARKS: readonly (readonly [type: string, mark: RegExp])[] = [
  ['audio/ogg', /^OggS.{24}OpusHead/s],
  ['application/ogg', /^OggS/],
  ['audio/mpeg', /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/],
  ['audio/flac', /^fLaC/],
  ['audio/wav', /^RIFF.{4}WAVE/s],
  ['audio/mp4', /^.{4}ftypM4[AB]/s],
  ['video/quicktime', /^.{4}ftypqt/s],
  ['video/mp4', /^.{4}ftyp/s],
  ['video/webm', /^.E\xdf\xa3.*webm/s],
  ['application/pdf', /^%PDF-/],
];

const BY_NAME: Readonly<Record<string, string>> = {
  '.ogg': 'audio/ogg',
  '.oga': 'audio/ogg',
  '.opus': 'audio/ogg',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.mp4': 'video/mp4',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
  '.csv': 'text/csv',
  '.json': 'application/json',
};

/**
 * The MIME type of a file that is sent: platforms show a picture, a sound or a video as such only
 * if its type says so. The bytes decide first, because the name is chosen by an agent. Undefined:
 * it is not known, and the file is one like any other. Rejects when the file cannot be read.
 */
async function findOutgoingType(path: string, name: string): Promise<string | undefined> {
  const head = await readHead(path);
  const format = sniffFormat(head);
  // Two letters can begin any text.
  if (format !== null && format !== 'bmp') return `image/${format}`;
  const named = BY_NAME[extname(name).toLowerCase()];
  const found = MARKS.find(([, mark]) => mark.test(head.toString('latin1')))?.[0];
  // Sounds and videos have one container.
  return found === 'video/mp4' && named === 'audio/mp4' ? named : (found ?? named);
}

async function readHead(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
