// Builds active paths for tests of compaction: entries with numbers, texts of a given length, and
// calls with their results.
import type { ContentBlock } from '../../../src/core/content.ts';
import type { Entry, EntryKind } from '../../../src/core/entry.ts';
import type { EntryId, TurnId } from '../../../src/core/ids.ts';

/** A text of about this many tokens, by the estimate of the core. */
export function textOfTokens(tokens: number, text = 'The quick brown fox. '): string {
  return text.repeat(Math.ceil((tokens * 4) / text.length)).slice(0, tokens * 4);
}

/** A path that grows by method calls; numbers count from 1. */
export class PathBuilder {
  readonly entries: Entry[] = [];
  #calls = 0;

  prompt(text: string): this {
    return this.#add('prompt', 'user', [{ type: 'text', text }]);
  }

  steer(text: string): this {
    return this.#add('steer', 'user', [{ type: 'text', text }]);
  }

  answer(text: string): this {
    return this.#add('answer', 'assistant', [{ type: 'text', text }]);
  }

  summary(text: string): this {
    return this.#add('summary', 'user', [{ type: 'text', text }]);
  }

  /** An answer with one call, and its result. */
  call(result: string, input: unknown = {}): this {
    const id = `toolu_${(this.#calls += 1)}`;
    this.#add('answer', 'assistant', [{ type: 'tool_use', id, name: 'exec', input }]);
    return this.#add('results', 'user', [{ type: 'tool_result', tool_use_id: id, content: result }]);
  }

  #add(kind: EntryKind, role: Entry['role'], content: ContentBlock[]): this {
    const seq = this.entries.length + 1;
    this.entries.push({
      id: `entry-${seq}` as EntryId,
      seq,
      parentSeq: seq === 1 ? null : seq - 1,
      kind,
      role,
      content,
      turnId: 'turn' as TurnId,
    });
    return this;
  }
}
