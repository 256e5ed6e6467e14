// The note that tells the model which files came with a message, and the text of audio that was transcribed. A file name can
// neither close the bracket of its note nor begin a line.
import type { Media } from '../inbound.ts';
import { ownPart, type PromptPart } from './prompt-parts.ts';
import { neutralise } from './untrusted-text.ts';

const HINT =
  'To send an image back, prefer the message tool (media/path/filePath). Put a caption in the text of the same reply, and name only files that exist.';
const DEFAULT_TYPE = 'application/octet-stream';
const AUDIO_EXTENSION = /\.(?:ogg|opus|mp3|m4a|wav|webm|flac|aac|wma|aiff|alac|oga)$/i;

/**
 * The lines of the attachments, and the hint under them where files can be sent back; none when nothing is left to name: transcribed audio is known by its
 * words already.
 */
export function mediaParts(media: readonly Media[], canSendMedia: boolean): PromptPart[] {
  const shown = media.filter((item) => !isTranscribedAudio(item) && (item.path ?? item.url) !== undefined);
  if (shown.length === 0) return [];
  const note = shown.length === 1 ? shown.map((item) => `[media attached: ${describe(item)}]`) : listOf(shown);
  return [
    { name: 'media-note', origin: 'channel', trust: 'untrusted', text: note.join('\n') },
    ...(canSendMedia ? [{ ...ownPart('media-hint', HINT), isTight: true as const }] : []),
  ];
}

function listOf(media: readonly Media[]): string[] {
  const lines = media.map((item, index) => `[media attached ${index + 1}/${media.length}: ${describe(item)}]`);
  return [`[media attached: ${media.length} files]`, ...lines];
}

/** The transcripts of audio, one block for each file; null when there are none. */
export function transcriptText(media: readonly Media[]): string | null {
  const spoken = media.filter(isTranscribedAudio);
  if (spoken.length === 0) return null;
  const titleOf = (index: number): string =>
    spoken.length === 1 ? '[Audio]' : `[Audio ${index + 1}/${spoken.length}]`;
  return spoken
    .map((item, index) => `${titleOf(index)}\nTranscript:\n${neutralise(item.transcript ?? '')}`)
    .join('\n\n');
}

function isTranscribedAudio({ type, path, url, transcript }: Media): boolean {
  if (transcript === undefined || transcript.trim() === '') return false;
  return type?.toLowerCase().startsWith('audio/') === true || AUDIO_EXTENSION.test(path ?? url ?? '');
}

function describe({ path, type, url }: Media): string {
  const place = path ?? url ?? '';
  const link = path !== undefined && url !== undefined && url !== path ? ` | ${inBrackets(url)}` : '';
  return `${inBrackets(place)} (${inBrackets(type ?? DEFAULT_TYPE)})${link}`;
}

// Control characters, those that turn the direction of writing, and closing brackets of any script, become spaces.
function inBrackets(text: string): string {
  return neutralise(text.replace(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\]］】〕〗〛⟧⁆❳⦌⟭]+/gu, ' '))
    .replace(/\s+/g, ' ')
    .trim();
}
