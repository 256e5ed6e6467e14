// What a bot sends, checked as Telegram checks it: texts and their limits, files, keyboards.
import type { UploadedFile } from '../call-log.ts';
import { isRecord } from '../read-parameters.ts';
import { findEntities } from './find-entities.ts';
import type { Bot } from './bots.ts';
import type { Entity, FormattedText } from './formatted-text.ts';
import { parseText } from './parse-text.ts';
import { listOf, objectOf, textOf } from './read-values.ts';
import { Refused } from './refused.ts';
import type { Json, World } from './world.ts';

/** Both in UTF-16 code units, once entities are parsed. */
const TEXT_UNITS_MAX = 4096;
const CAPTION_UNITS_MAX = 1024;
/** Of a text; further ones are left out. */
const ENTITIES_MAX = 100;
/** A link with another address is left out, and so is one in which there is code. */
const LINK = /^(?:(?:https?|tg):\/\/)?[^\s:/]+(?:[:/]\S*)?$/i;
const UPLOAD_BYTES_MAX = 50 * 1024 * 1024;
const PHOTO_BYTES_MAX = 10 * 1024 * 1024;
const PHOTO_SIDES_MAX = 10_000;
const PHOTO_RATIO_MAX = 20;
const BUTTON_BYTES_MAX = 64;

interface Outgoing {
  world: World;
  bot: Bot;
  parameters: Json;
  files: UploadedFile[];
}

type Kind = 'text' | 'draft' | 'caption' | 'document' | 'photo' | 'voice' | 'audio' | 'video';

/** The fields of a message: its text, or a file with its caption. Throws `Refused`. */
export function contentOf(call: Outgoing, kind: Kind): Json {
  const { parameters } = call;
  if (kind === 'text' || kind === 'draft') {
    const { text, entities } = readText(parameters.text, parameters.parse_mode, parameters.entities);
    if (text === '' && kind === 'text') throw new Refused(400, 'message text is empty');
    if (text.length > TEXT_UNITS_MAX) throw new Refused(400, 'message is too long');
    return { text, ...(entities.length === 0 ? {} : { entities }) };
  }
  const { text, entities } = readText(parameters.caption, parameters.parse_mode, parameters.caption_entities);
  if (text.length > CAPTION_UNITS_MAX) throw new Refused(400, 'message caption is too long');
  return {
    ...(kind === 'caption' ? {} : fileOf(call, kind)),
    ...(text === '' ? {} : { caption: text }),
    ...(entities.length === 0 ? {} : { caption_entities: entities }),
  };
}

function readText(source: unknown, parseMode: unknown, given: unknown): FormattedText {
  const parsed =
    given === undefined
      ? parseText(textOf(source), parseMode === undefined ? undefined : textOf(parseMode))
      : { text: textOf(source), entities: listOf(given).filter(isRecord) as unknown as Entity[] };
  return trim({ text: parsed.text, entities: [...parsed.entities, ...findEntities(parsed)] });
}

/** Telegram drops the space around a text. */
function trim({ text, entities }: FormattedText): FormattedText {
  const trimmed = text.trim();
  const start = text.length - text.trimStart().length;
  const kept = entities.flatMap((entity) => {
    const offset = Math.max(entity.offset - start, 0);
    const end = Math.min(entity.offset + entity.length - start, trimmed.length);
    return end > offset ? [{ ...entity, offset, length: end - offset }] : [];
  });
  // prettier-ignore
  const inOrder = kept.filter((entity) => isKept(entity, kept)).toSorted((a, b) => a.offset - b.offset || b.length - a.length);
  return { text: trimmed, entities: inOrder.slice(0, ENTITIES_MAX) };
}

function isKept({ type, url, offset, length }: Entity, all: Entity[]): boolean {
  if (type !== 'text_link') return true;
  // prettier-ignore
  const hasCode = all.some((other) => other.type === 'code' && other.offset < offset + length && offset < other.offset + other.length);
  return LINK.test(url ?? '') && !hasCode;
}

/** A file that comes with the call, or one that the platform has already, by its id. */
function fileOf({ world, parameters, files }: Outgoing, kind: Exclude<Kind, 'text' | 'draft' | 'caption'>): Json {
  const named = textOf(parameters[kind]);
  const field = named.startsWith('attach://') ? named.slice('attach://'.length) : kind;
  const uploaded = files.find((file) => file.field === field) ?? world.files.get(named);
  if (uploaded === undefined)
    // prettier-ignore
    throw new Refused(400, named === '' ? `there is no ${kind} in the request` : 'wrong remote file identifier specified: Wrong string length');
  if (uploaded.bytes.length === 0) throw new Refused(400, 'file must be non-empty');
  if (uploaded.bytes.length > UPLOAD_BYTES_MAX) throw new Refused(413, 'Request Entity Too Large');
  if (kind === 'photo') checkPhoto(uploaded);
  const { info } = world.addFile(uploaded, FOLDERS[kind]);
  return { [kind]: describeFile(kind, info, uploaded) };
}

/** Throws `Refused`. Of the shape, only that of a PNG is read. */
function checkPhoto({ name, bytes }: Pick<UploadedFile, 'name' | 'bytes'>): void {
  // prettier-ignore
  if (bytes.length > PHOTO_BYTES_MAX) throw new Refused(400, `file "${name}" of size ${bytes.length} bytes is too big for a photo`);
  // prettier-ignore
  if (!/^(?:\x89PNG|\xff\xd8\xff|RIFF.{4}WEBP)/s.test(bytes.toString('latin1', 0, 12))) throw new Refused(400, 'IMAGE_PROCESS_FAILED');
  if (bytes[0] !== 0x89 || bytes.length < 24) return;
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const isOdd = Math.max(width, height) > PHOTO_RATIO_MAX * Math.min(width, height);
  if (width + height > PHOTO_SIDES_MAX || isOdd) throw new Refused(400, 'PHOTO_INVALID_DIMENSIONS');
}

export const FOLDERS = { document: 'documents', photo: 'photos', voice: 'voice', audio: 'music', video: 'videos' };

/** What a message says of a file of a kind. */
export function describeFile(
  kind: keyof typeof FOLDERS,
  info: Json,
  { name, type }: { name: string; type: string },
): unknown {
  const ofFile = { ...info, mime_type: type };
  switch (kind) {
    case 'photo':
      return [{ ...info, width: 640, height: 480 }];
    case 'voice':
      return { ...ofFile, duration: 1 };
    case 'audio':
      return { ...ofFile, duration: 1, file_name: name };
    case 'video':
      return { ...ofFile, duration: 1, width: 640, height: 480, file_name: name };
    case 'document':
      return { ...ofFile, file_name: name };
  }
}

/** Throws `Refused` for a button whose data is too long. */
export function readMarkup(value: unknown): Json | undefined {
  if (value === undefined) return undefined;
  const markup = objectOf(value);
  if (markup === undefined) throw new Refused(400, 'object expected as reply markup');
  for (const button of buttonsOf(markup)) {
    if (textOf(button.text) === '') throw new Refused(400, 'inline keyboard button text must be non-empty');
    const bytes = Buffer.byteLength(textOf(button.callback_data));
    if (button.callback_data !== undefined && (bytes === 0 || bytes > BUTTON_BYTES_MAX))
      throw new Refused(400, 'BUTTON_DATA_INVALID');
  }
  return markup;
}

/** The buttons of an inline keyboard. */
export function buttonsOf(markup: Json | undefined): Json[] {
  const rows = Array.isArray(markup?.inline_keyboard) ? (markup.inline_keyboard as unknown[]) : [];
  return rows.flatMap((row) => (Array.isArray(row) ? row.filter(isRecord) : []));
}
