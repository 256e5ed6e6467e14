// What the demo shows while it runs: one line per step, with a spinner on a terminal and plain
// lines elsewhere. With `--json` it shows nothing; the document at the end says everything.
import { performance } from 'node:perf_hooks';
import { terminalSettings } from '../src/config/process-environment.ts';
import type { Terminal } from '../src/cli/terminal.ts';

/** A step that is running. */
export interface LiveStep {
  /** Replaces the text while the step runs. */
  update(text: string): void;
  /** It succeeded; its text may have changed since it began. */
  done(text?: string): void;
  /** It failed, or its outcome is unknown: `mark` says which. */
  end(mark: 'failed' | 'unknown', text?: string): void;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
const CLEAR_LINE = '\r\u001b[2K';
/** Steps that took less than this do not say how long. */
const SHOWN_MS_MIN = 20;

export class Progress {
  readonly #terminal: Terminal;
  readonly #isLive: boolean;
  #spinner: { timer: NodeJS.Timeout; text: string } | null = null;
  #isMidReply = false;
  #isMute = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#isLive = terminal.isTty && process.stderr.isTTY && !terminal.isJson && !terminalSettings().isDumb;
  }

  /** The title of a part, with an empty line in front. */
  title(text: string): void {
    this.#print('');
    this.#print(this.#terminal.paint('bold', text));
  }

  /** A line that explains, or quotes. */
  print(text: string): void {
    this.#print(`  ${this.#terminal.paint('dim', text)}`);
  }

  /** Something said: by the user, by the model. */
  say(who: string, text: string): void {
    this.#print(`  ${this.#terminal.paint('cyan', who.padEnd(6))} ${text}`);
  }

  /**
   * A piece of the model's reply; a terminal shows it immediately, other outputs show the whole
   * reply with `replied`.
   */
  replying(piece: string): void {
    if (!this.#isLive || this.#isMute) return;
    this.#stopSpinner();
    if (!this.#isMidReply) this.#terminal.write(`  ${this.#terminal.paint('cyan', 'model '.padEnd(6))} `);
    this.#isMidReply = true;
    this.#terminal.write(piece);
  }

  /** The reply is whole. */
  replied(text: string): void {
    if (this.#isMidReply) this.#terminal.write('\n');
    else this.say('model', text);
    this.#isMidReply = false;
  }

  /** The result of a check. */
  check(isTrue: boolean, text: string): void {
    this.#print(`  ${this.#mark(isTrue ? 'done' : 'failed')} ${isTrue ? text : this.#terminal.paint('red', text)}`);
  }

  /** A step begins: a spinner until it ends. */
  begin(text: string): LiveStep {
    const startedAtMs = performance.now();
    let shown = text;
    this.#startSpinner(shown);
    const end = (mark: 'done' | 'failed' | 'unknown', endText = shown): void => {
      const tookMs = performance.now() - startedAtMs;
      const took = tookMs < SHOWN_MS_MIN ? '' : this.#terminal.paint('dim', `  ${formatMs(tookMs)}`);
      this.#print(`  ${this.#mark(mark)} ${endText}${took}`);
    };
    return {
      update: (next) => {
        shown = next;
        if (this.#spinner !== null) this.#spinner.text = next;
      },
      done: (endText) => end('done', endText),
      end,
    };
  }

  /** Runs a step; its line says how it ended. Rejects as the work does. */
  async step<Value>(text: string, work: () => Promise<Value>, endText?: (value: Value) => string): Promise<Value> {
    const step = this.begin(text);
    try {
      const value = await work();
      step.done(endText?.(value));
      return value;
    } catch (error) {
      step.end('failed');
      throw error;
    }
  }

  /** Removes the spinner in every case. */
  close(): void {
    this.#stopSpinner();
    if (this.#isMidReply) this.#terminal.write('\n');
    this.#isMidReply = false;
  }

  /** Shows nothing more. */
  mute(): void {
    this.close();
    this.#isMute = true;
  }

  #mark(mark: 'done' | 'failed' | 'unknown'): string {
    const { paint } = this.#terminal;
    if (mark === 'done') return paint('green', '✔');
    return mark === 'failed' ? paint('red', '✘') : paint('yellow', '?');
  }

  #print(line: string): void {
    this.close();
    if (!this.#terminal.isJson && !this.#isMute) this.#terminal.print(line);
  }

  #startSpinner(text: string): void {
    this.close();
    if (!this.#isLive || this.#isMute) return;
    let frame = 0;
    const draw = (): void => {
      const line = `  ${FRAMES[frame++ % FRAMES.length]} ${this.#spinner?.text ?? text}`;
      process.stderr.write(CLEAR_LINE + line.slice(0, Math.max(1, this.#terminal.width - 1)));
    };
    this.#spinner = { timer: setInterval(draw, FRAME_MS), text };
    draw();
  }

  #stopSpinner(): void {
    if (this.#spinner === null) return;
    clearInterval(this.#spinner.timer);
    this.#spinner = null;
    process.stderr.write(CLEAR_LINE);
  }
}

/** `42 ms`, `1.4 s`. */
export function formatMs(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
