// Just enough of PostgreSQL's wire protocol (version 3) to find where messages begin and end and
// which SQL they carry. Nothing here reads values or rows; bytes are passed on as they came.

/** One complete message: its type letter and all of its bytes, header included. */
export interface WireMessage {
  type: string;
  bytes: Buffer;
}

/** The first packet of a client, which has no type letter. */
export type StartupPacket =
  | { kind: 'encryption'; bytes: Buffer }
  | { kind: 'cancel'; bytes: Buffer }
  | { kind: 'startup'; bytes: Buffer; parameters: Map<string, string> };

const cancelCode = 80_877_102;
const sslCode = 80_877_103;
const gssCode = 80_877_104;
const headerBytes = 5;

/** Cuts a stream of chunks into messages; an incomplete one waits for the next chunk. */
export class MessageReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Returns the typed messages that this chunk completes. */
  push(chunk: Buffer): WireMessage[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const messages: WireMessage[] = [];
    let offset = 0;
    while (bytes.length - offset >= headerBytes) {
      const end = offset + 1 + bytes.readInt32BE(offset + 1);
      if (end > bytes.length) break;
      messages.push({ type: String.fromCharCode(bytes.readUInt8(offset)), bytes: bytes.subarray(offset, end) });
      offset = end;
    }
    this.#rest = bytes.subarray(offset);
    return messages;
  }

  /**
   * Returns the packet with which a client begins, or null while it is not complete. Bytes after it
   * are kept: call again after a packet of kind `encryption`, and `push` with an empty chunk after
   * the others.
   */
  pushStartup(chunk: Buffer): StartupPacket | null {
    const bytes = Buffer.concat([this.#rest, chunk]);
    this.#rest = bytes;
    if (bytes.length < 8) return null;
    const length = bytes.readInt32BE(0);
    if (bytes.length < length) return null;
    this.#rest = bytes.subarray(length);
    const packet = bytes.subarray(0, length);
    const code = packet.readInt32BE(4);
    if (code === sslCode || code === gssCode) return { kind: 'encryption', bytes: packet };
    if (code === cancelCode) return { kind: 'cancel', bytes: packet };
    return { kind: 'startup', bytes: packet, parameters: startupParameters(packet) };
  }
}

/** The SQL text of a simple Query message (`Q`). */
export function sqlOfQuery(message: WireMessage): string {
  return stringAt(message.bytes, headerBytes).text;
}

/**
 * Statement name and SQL text of a Parse message (`P`); the unnamed statement has an empty name.
 */
export function statementOfParse(message: WireMessage): { name: string; sql: string } {
  const name = stringAt(message.bytes, headerBytes);
  return { name: name.text, sql: stringAt(message.bytes, name.end).text };
}

/** The name of the statement that a Bind message (`B`) refers to. */
export function statementOfBind(message: WireMessage): string {
  const portal = stringAt(message.bytes, headerBytes);
  return stringAt(message.bytes, portal.end).text;
}

/**
 * The transaction state in a ReadyForQuery message (`Z`): `I` idle, `T` in a transaction, `E` in a
 * failed one.
 */
export function transactionStateOf(message: WireMessage): string {
  return String.fromCharCode(message.bytes.readUInt8(headerBytes));
}

/**
 * The name in a comment that begins a statement: `claim` for `/* claim *\/ update ...`; null when
 * there is none.
 */
export function tagOfSql(sql: string): string | null {
  return /^\s*\/\*\s*(.{1,60}?)\s*\*\//.exec(sql)?.[1] ?? null;
}

function startupParameters(packet: Buffer): Map<string, string> {
  const parameters = new Map<string, string>();
  let offset = 8;
  while (offset < packet.length && packet[offset] !== 0) {
    const name = stringAt(packet, offset);
    const value = stringAt(packet, name.end);
    parameters.set(name.text, value.text);
    offset = value.end;
  }
  return parameters;
}

function stringAt(bytes: Buffer, start: number): { text: string; end: number } {
  const zero = bytes.indexOf(0, start);
  if (zero < 0) throw new Error(`unterminated string in a PostgreSQL message at byte ${start}`);
  return { text: bytes.toString('utf8', start, zero), end: zero + 1 };
}
