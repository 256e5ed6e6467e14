// Collects the output of a command in bounded memory (G28): its start and its end are kept, the middle is counted. The resulting
// text is valid for any bytes, so that it can be stored and sent.
import { outputText } from './output-text.ts';

/** A collector that keeps at most `bytesMax` bytes, half of them from the start and half from the end. */
export class BoundedOutput {
  /** Allocated with the first byte, since most of many simultaneous calls print little. */
  #head: Buffer | undefined;
  /** A ring: the next byte goes to `#tailNext`. Bytes are copied into it, because many small chunks weigh more than what they hold. */
  #tail: Buffer | undefined;
  #headLength = 0;
  #tailNext = 0;
  #totalBytes = 0;
  readonly #halfBytes: number;

  constructor(bytesMax: number) {
    this.#halfBytes = Math.floor(bytesMax / 2);
  }

  write(chunk: Buffer): void {
    this.#totalBytes += chunk.length;
    const forHead = chunk.subarray(0, this.#halfBytes - this.#headLength);
    if (forHead.length > 0) {
      this.#head ??= Buffer.allocUnsafe(this.#halfBytes);
      this.#headLength += forHead.copy(this.#head, this.#headLength);
    }
    this.#writeTail(chunk.subarray(forHead.length));
  }

  #writeTail(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#tail ??= Buffer.allocUnsafe(this.#halfBytes);
    // Of a chunk longer than the ring only the end would survive.
    let rest = chunk.subarray(Math.max(0, chunk.length - this.#halfBytes));
    while (rest.length > 0) {
      const copied = rest.copy(this.#tail, this.#tailNext);
      this.#tailNext = (this.#tailNext + copied) % this.#halfBytes;
      rest = rest.subarray(copied);
    }
  }

  /**
   * What was kept, as text: bytes that are not UTF-8 become U+FFFD, NUL stays, and where something is missing a line says how
   * many bytes.
   */
  text(): string {
    const head = this.#head?.subarray(0, this.#headLength) ?? Buffer.alloc(0);
    const tailTotal = this.#totalBytes - this.#headLength;
    if (tailTotal === 0) return outputText(head, { isStart: true, isEnd: true });
    const tail = this.#tailBytes(tailTotal);
    const omitted = tailTotal - tail.length;
    if (omitted === 0) return outputText(Buffer.concat([head, tail]), { isStart: true, isEnd: true });
    const start = outputText(head, { isStart: true, isEnd: false });
    const end = outputText(tail, { isStart: false, isEnd: true });
    return `${start}\n[... ${omitted} bytes left out ...]\n${end}`;
  }

  #tailBytes(tailTotal: number): Buffer {
    const ring = this.#tail ?? Buffer.alloc(0);
    if (tailTotal <= this.#halfBytes) return ring.subarray(0, tailTotal);
    return Buffer.concat([ring.subarray(this.#tailNext), ring.subarray(0, this.#tailNext)]);
  }
}
