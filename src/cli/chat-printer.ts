// What `chat` and `send --stream` print of live events: the text of answers to stdout as it is
// written, everything else to stderr.
import type { StreamedEvent } from './event-stream.ts';
import type { Terminal } from './terminal.ts';

export class ChatPrinter {
  readonly #terminal: Terminal;
  #isMidLine = false;
  #runningTurn: string | null = null;
  /** The turn that has written the text printed last. */
  #speaker: string | null = null;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Null: no turn of the session runs. */
  get runningTurn(): string | null {
    return this.#runningTurn;
  }

  /** True when text of this turn was printed: its reply need not be. */
  hasSpoken(turnId: string | null): boolean {
    return turnId !== null && this.#speaker === turnId;
  }

  take(event: StreamedEvent): void {
    if (event.type === 'turn.started') this.#runningTurn = event.turnId;
    if (event.type === 'turn.ended' && event.turnId === this.#runningTurn) this.#runningTurn = null;
    if (this.#terminal.isJson) this.#terminal.jsonLine(event);
    else this.#show(event);
  }

  /** A line on stderr, never in the middle of a line of text. */
  note(line: string): void {
    this.endLine();
    this.#terminal.note(line);
  }

  /** A whole reply. */
  print(text: string): void {
    this.endLine();
    this.#terminal.print(text);
  }

  endLine(): void {
    if (this.#isMidLine) this.#terminal.write('\n');
    this.#isMidLine = false;
  }

  #show({ type, turnId, data }: StreamedEvent): void {
    if (type === 'model.delta') this.#write(turnId, data['text']);
    else if (type === 'model.ended') this.endLine();
    else if (type === 'tool.started') this.note(`[${formatValue(data['name'], 'tool')}]`);
    else if (type === 'turn.parked') this.note(`the turn waits: ${formatValue(data['code'], 'unknown')}`);
    else if (type === 'compaction.started') this.note('[compacting the conversation]');
  }

  #write(turnId: string | null, text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    this.#speaker = turnId;
    this.#terminal.write(text);
    this.#isMidLine = !text.endsWith('\n');
  }
}

function formatValue(value: unknown, absent: string): string {
  return typeof value === 'string' ? value : absent;
}
