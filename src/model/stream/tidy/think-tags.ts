// `<think>...</think>` as the very first characters of an answer: what servers send that leave the
// thoughts of a model in its text. Whether the tag is closed is known only at its end, so the text
// is held back until then; one that is not closed is text.

/** What a piece of text has become: thoughts, and then text. */
export interface Sorted {
  thought: string;
  text: string;
}

const OPEN = '<think>';
const CLOSE = '</think>';

export class ThinkTags {
  #state: 'start' | 'inside' | 'after' | 'text' = 'start';
  #held: string[] = [];
  /** The end of what is held back, in which the closing tag may begin. */
  #tail = '';

  push(text: string): Sorted {
    if (this.#state === 'text') return { thought: '', text };
    if (this.#state === 'after') return { thought: '', text: this.#begin(text) };
    this.#held.push(text);
    if (this.#state === 'start') {
      const begun = this.#held.join('');
      if (begun.length < OPEN.length && OPEN.startsWith(begun)) return { thought: '', text: '' };
      if (!begun.startsWith(OPEN)) return { thought: '', text: this.release() };
      this.#state = 'inside';
      this.#held = [begun];
      this.#tail = begun.slice(OPEN.length);
    } else this.#tail += text;
    const at = this.#tail.indexOf(CLOSE);
    if (at === -1) {
      this.#tail = this.#tail.slice(1 - CLOSE.length);
      return { thought: '', text: '' };
    }
    const whole = this.#held.join('');
    const end = whole.length - this.#tail.length + at;
    this.#held = [];
    this.#state = 'after';
    return { thought: whole.slice(OPEN.length, end).trim(), text: this.#begin(whole.slice(end + CLOSE.length)) };
  }

  /** From here on, tags are text. Returns what was held back. */
  release(): string {
    const text = this.#held.join('');
    this.#held = [];
    this.#state = 'text';
    return text;
  }

  /** The answer after the tag, without the blanks before it. */
  #begin(text: string): string {
    const rest = text.trimStart();
    if (rest !== '') this.#state = 'text';
    return rest;
  }
}
