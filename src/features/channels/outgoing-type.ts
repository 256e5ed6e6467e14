// The type of a file that is sent to a chat: platforms show a picture, a sound or a video as such only if its type says so. The bytes decide first, because
// the name is chosen by an agent.
import { open } from 'node:fs/promises';
import { extname } from 'node:path';
import { sniffFormat } from '../../images/fit-image.ts';

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

/** The MIME type; undefined: it is not known, and the file is one like any other. Rejects when the file cannot be read. */
export async function findOutgoingType(path: string, name: string): Promise<string | undefined> {
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
