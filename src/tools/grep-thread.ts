// The thread that matches the lines of files for the tool `grep`: a pattern of a model may
// backtrack for hours, and must not hold up the thread that renews leases. It is given the pattern,
// then pieces of files one by one, and answers each with the lines that matched.
import { parentPort, workerData } from 'node:worker_threads';
import { cutHead, detectEncoding } from '../core/text.ts';

export interface Piece {
  bytes: Uint8Array;
  isFirst: boolean;
  isLast: boolean;
}

export interface PieceMatches {
  lines: { number: number; text: string }[];
  /** The rest of the file need not be sent: it is no text. */
  isBinary: boolean;
}

/** Longer lines are not matched: the cost of backtracking grows with their length. */
const LINE_CHARS_MAX = 2_000;

const pattern = workerData as RegExp;
let decoder = new TextDecoder();
let number = 0;
let rest = '';

parentPort?.on('message', (piece: Piece) => parentPort?.postMessage(matchPiece(piece)));

function matchPiece({ bytes, isFirst, isLast }: Piece): PieceMatches {
  if (isFirst) [decoder, number, rest] = [new TextDecoder(detectEncoding(bytes)), 0, ''];
  if (decoder.encoding === 'utf-8' && bytes.includes(0)) return { lines: [], isBinary: true };
  const lines = (rest + decoder.decode(bytes, { stream: !isLast })).split('\n');
  const last = lines.pop() ?? '';
  // What is longer than a line may be is not matched, so its beginning alone is kept.
  rest = isLast ? '' : cutHead(last, LINE_CHARS_MAX + 2);
  if (isLast && last !== '') lines.push(last);
  const found: PieceMatches['lines'] = [];
  for (const line of lines) {
    number += 1;
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text.length <= LINE_CHARS_MAX && pattern.test(text)) found.push({ number, text });
  }
  return { lines: found, isBinary: false };
}
