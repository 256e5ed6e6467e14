// Output of commands as text: the result is valid for any bytes, and a character that a cut has split is left out.

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
