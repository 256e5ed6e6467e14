// Collects the output of a command in bounded memory (G28): its start and its end are kept, the
// middle is counted. The text is valid for any bytes, so that it can be stored and sent; a
// character that a cut has split is left out.

/** Text of a part of an output. `isStart`, `isEnd`: nothing is missing before it, or after it. */
export function outputText(bytes: Uint8Array, { isStart, isEnd }: { isStart: boolean; isEnd: boolean }): string {
  const whole = isStart ? bytes : bytes.subarray(continuationBytesAt(bytes));
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(whole, { stream: !isEnd });
}

/** How many bytes at the start belong to a character whose first byte was cut off. */
function continuationBytesAt(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count += 1;
  return count;
}

/** How many bytes at the end belong to a character that is not whole yet. */
export function tornBytesAt(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

/**
 * A collector that keeps at most `bytesMax` bytes, half of them from the start and half from the
 * end.
 */
export class BoundedOutput {
  /** Allocated with the first byte, since most of many simultaneous calls print little. */
  #head: Buffer | undefined;
  /**
   * A ring: the next byte goes to `#tailNext`. Bytes are copied into it, because many small chunks
   * weigh more than what they hold.
   */
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
    // Only the end of a chunk that is longer than the ring would survive.
    let rest = chunk.subarray(Math.max(0, chunk.length - this.#halfBytes));
    while (rest.length > 0) {
      const copied = rest.copy(this.#tail, this.#tailNext);
      this.#tailNext = (this.#tailNext + copied) % this.#halfBytes;
      rest = rest.subarray(copied);
    }
  }

  /**
   * What was kept, as text: bytes that are not UTF-8 become U+FFFD, NUL stays, and where something
   * is missing a line says how many bytes.
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
