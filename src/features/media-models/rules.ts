// What calls of models of pictures and sounds are likely to cost, where files go, and how transcripts read.
import { cutHead } from '../../core/text.ts';
import { describeMedia } from '../../prompt/message-prompt.ts';
import type { Media } from '../../core/inbound.ts';
import { neutralise } from '../../prompt/untrusted-text.ts';

interface UnitPrices {
  usdPerImage?: number;
  usdPerMChars?: number;
  usdPerMinute?: number;
}

/** Of models that OpenAI does not bill by tokens: its list prices as of 2026, not read from a catalogue. */
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

const AUDIO_TYPES: Readonly<Record<string, string>> = {
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  webm: 'audio/webm',
  flac: 'audio/flac',
  aac: 'audio/aac',
};

/** The type of an attachment: as its message says it, otherwise by the end of its name. */
export function audioType({ type, path, url }: Media): string {
  if (type !== undefined && /^audio\//i.test(type)) return type.toLowerCase().replace(/;.*$/s, '').trim();
  const extension = /\.(\w+)(?:[?#]|$)/.exec(path ?? url ?? '')?.[1]?.toLowerCase() ?? '';
  return AUDIO_TYPES[extension] ?? 'audio/mpeg';
}

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

/** The same of audio without a transcript, with the reason. */
export function noTranscriptText(media: Media, reason: string): string {
  const why = neutralise(
    cutHead(reason, REASON_CHARS_MAX)
      .replace(/[\s[\]]+/g, ' ')
      .trim(),
  );
  return `[media attached: ${describeMedia(media)}]\n[audio not transcribed: ${why}]`;
}
