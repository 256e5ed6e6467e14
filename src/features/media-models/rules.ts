// What calls of models of pictures and sounds are likely to cost, where files go, and how
// transcripts read.
import { cutHead } from '../../core/text.ts';
import { describeMedia } from '../../prompt/message-prompt.ts';
import type { Media } from '../../core/inbound.ts';
import { neutralise } from '../../prompt/untrusted-text.ts';

interface UnitPrices {
  usdPerImage?: number;
  usdPerMChars?: number;
  usdPerMinute?: number;
}

/**
 * Of models that OpenAI does not bill by tokens: its list prices as of 2026, not read from a
 * catalogue.
 */
const KNOWN_PRICES: Readonly<Record<string, UnitPrices>> = {
  'openai/tts-1': { usdPerMChars: 15 },
  'openai/tts-1-hd': { usdPerMChars: 30 },
  'openai/whisper-1': { usdPerMinute: 0.006 },
};

/** The cost of so many units in micro-dollars, rounded half up; null: the price is not known. */
export function unitCost(
  { model, ...configured }: { model: string } & { [Name in keyof UnitPrices]?: number | undefined },
  unit: keyof UnitPrices,
  units: number,
): number | null {
  const usd = configured[unit] ?? KNOWN_PRICES[model]?.[unit];
  return usd === undefined ? null : Math.round(usd * units * 1_000_000);
}

/** Speech that is compressed has at least 16 kbit for a second. */
const BYTES_PER_MINUTE_MIN = 120_000;

/** The most minutes that a file of audio is likely to have. */
export function likelyMinutes(bytes: number): number {
  return bytes / BYTES_PER_MINUTE_MIN;
}

/**
 * By the subtype of what a message says, or by the end of a name. The name under which a file is
 * sent has the subtype found here.
 */
const AUDIO_TYPES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    'audio/ogg': 'ogg oga opus vorbis',
    'audio/mpeg': 'mpeg mp3 mpga mpeg3 mpeg-3 mpa',
    'audio/mp4': 'mp4 m4a m4b mp4a-latm alac',
    'audio/wav': 'wav wave',
    'audio/webm': 'webm weba',
    'audio/flac': 'flac',
    'audio/aac': 'aac aacp',
    'audio/aiff': 'aiff aif',
    'audio/wma': 'wma ms-wma',
  }).flatMap(([type, names]) => names.split(' ').map((name) => [name, type])),
);

/** The type of an attachment: as its message says it, otherwise by the end of its name. */
export function audioType({ type = '', path, url }: Media): string {
  const subtype = /^audio\/(?:x-|vnd\.)?(?:pn-)?([a-z0-9.+-]{1,40})/i.exec(type)?.[1]?.toLowerCase() ?? '';
  const suffix = /\.(\w+)(?:[?#]|$)/.exec(path ?? url ?? '')?.[1]?.toLowerCase() ?? '';
  return AUDIO_TYPES[subtype] ?? AUDIO_TYPES[suffix] ?? (subtype === '' ? 'audio/mpeg' : `audio/${subtype}`);
}

/** What files of a format are named; the first is that of new files. */
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  png: ['png'],
  jpeg: ['jpg', 'jpeg', 'jfif'],
  gif: ['gif'],
  webp: ['webp'],
  tiff: ['tiff', 'tif'],
  avif: ['avif'],
  heif: ['heic', 'heif'],
  jxl: ['jxl'],
  bmp: ['bmp'],
  mp3: ['mp3'],
  ogg: ['ogg', 'opus', 'oga'],
  flac: ['flac'],
  wav: ['wav'],
  aac: ['aac'],
};

/**
 * The path with the suffix of what the file is: in place of the suffix of another picture or sound,
 * or after what has none of these.
 */
export function withSuffix(path: string, format: string): string {
  const [own = format, ...others] = SUFFIXES[format] ?? [];
  const [, rest = path, suffix = ''] = /^(.+)\.(\w+)$/s.exec(path) ?? [];
  if ([own, ...others].includes(suffix.toLowerCase())) return path;
  const isOfAnother = Object.values(SUFFIXES).some((names) => names.includes(suffix.toLowerCase()));
  return `${isOfAnother ? rest : path}.${own}`;
}

/**
 * The format of a sound by how it begins; null: it is not known, or the sound has no such
 * beginning.
 */
export function soundFormat(bytes: Uint8Array): string | null {
  const beginning = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  const found = SOUND_BEGINNINGS.find(([, pattern]) => pattern.test(beginning));
  return found?.[0] ?? null;
}

const SOUND_BEGINNINGS: readonly (readonly [format: string, pattern: RegExp])[] = [
  ['mp3', /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/],
  ['aac', /^\xff[\xf0\xf1\xf8\xf9]/],
  ['ogg', /^OggS/],
  ['flac', /^fLaC/],
  ['wav', /^RIFF....WAVE/s],
];

const TRANSCRIPT_CHARS_MAX = 100_000;
const REASON_CHARS_MAX = 300;

/** The place of an attachment among those of its message that are transcribed. */
interface Place {
  at: number;
  of: number;
}

/** What the model reads of the audio of a message: words of its sender. */
export function transcriptText(text: string, { at, of }: Place): string {
  const title = of === 1 ? '[Audio]' : `[Audio ${at}/${of}]`;
  const words = text.trim() === '' ? '(no speech)' : neutralise(cutHead(text.trim(), TRANSCRIPT_CHARS_MAX));
  return `${title}\nTranscript:\n${words}`;
}

/** The text in place of a transcript that failed, with the reason. */
export function noTranscriptText(media: Media, reason: string): string {
  const why = neutralise(
    cutHead(reason, REASON_CHARS_MAX)
      .replace(/[\s[\]]+/g, ' ')
      .trim(),
  );
  return `[media attached: ${describeMedia(media)}]\n[audio not transcribed: ${why}]`;
}
