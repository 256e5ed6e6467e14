import { describe, expect, test } from 'vitest';
import { withReasoning } from '../../src/core/reply.ts';
import type { ContentBlock } from '../../src/core/content.ts';

const thinking = (text: string): ContentBlock => ({ type: 'thinking', thinking: text, signature: 's' });
const text = (said: string): ContentBlock => ({ type: 'text', text: said });

describe('a reply with its reasoning', () => {
  test.each([
    ['has the thinking in front', [thinking('It is four.'), text('4')], 'Reasoning:\nIt is four.\n\n4'],
    ['joins several thoughts', [thinking('a'), thinking(' b '), text('4')], 'Reasoning:\na\n\nb\n\n4'],
    ['is the reply alone without thinking', [text('4')], '4'],
    ['is the reply alone when the thinking is left out', [thinking(''), text('4')], '4'],
    ['keeps tags as words where none were asked for', [text('<think>x</think>4')], '4'],
  ])('%s', (_, answer, shown) => {
    expect(withReasoning('4', answer, false)).toBe(shown);
  });

  test.each([
    ['<think>one</think><final>4</final>', 'Reasoning:\none\n\n4'],
    ['<THINKING a="b">one</thinking><think>two<final>4</final>', 'Reasoning:\none\n\ntwo\n\n4'],
    ['<think>never closed', 'Reasoning:\nnever closed\n\n4'],
  ])('takes the reasoning out of the tags of %j where they were asked for', (said, shown) => {
    expect(withReasoning('4', [text(said)], true)).toBe(shown);
  });
});
