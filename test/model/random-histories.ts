// Histories with their faults, made from a number: the same for the same number.
import type { ContentBlock, ImageBlock } from '../../src/core/content.ts';
import type { EntryKind } from '../../src/core/entry.ts';
import type { ViewEntry } from '../../src/history/past.ts';

/** Whole numbers below a bound, always the same for a seed (mulberry32). */
export function createDice(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

export type Dice = ReturnType<typeof createDice>;

export const pick = <Item>(dice: Dice, items: readonly Item[]): Item => items[dice(items.length)]!;

const WORDS = [
  'Is order 42 out?',
  'Ja, größer als 3 µm 🙂',
  'line\nbreak',
  '{"a": [1, "b"]}',
  ' ',
  'half \ud83d',
  'a\u0000b',
  '<tag>&amp;',
];
export const IMAGE: ImageBlock = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
};
const BAD_IMAGE: ImageBlock = { type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'AAAA' } };

const textOf = (dice: Dice): ContentBlock => ({ type: 'text', text: pick(dice, WORDS) });

function answerOf(dice: Dice, turn: number): ContentBlock[] {
  const thoughts: ContentBlock[] = [
    { type: 'thinking', thinking: `thought ${turn}`, signature: pick(dice, ['c2lnbmVk', '', 'not base64!']) },
    { type: 'redacted_thinking', data: 'c2VjcmV0' },
    { type: 'thinking', thinking: 'item', signature: 'rs_0123456789' },
  ];
  return [
    ...thoughts.filter(() => dice(3) === 0),
    ...(dice(2) === 0 ? [textOf(dice)] : []),
    ...Array.from({ length: dice(4) }, (_, at): ContentBlock => ({
      type: 'tool_use',
      id: pick(dice, [`toolu_${turn}_${at}`, `call-${turn}.${at}`, 'again', `long_${'x'.repeat(dice(250))}`]),
      name: pick(dice, ['read', 'exec', 'bad name']),
      input: pick<unknown>(dice, [{}, { path: 'a\\b', n: 1.5, deep: [{ x: null }] }, 'no object', { '': '🙂' }]),
    })),
    ...(dice(5) === 0 ? [textOf(dice)] : []),
  ];
}

function resultOf(dice: Dice, id: string): ContentBlock {
  const content = pick(dice, ['ok', '', [textOf(dice), IMAGE], [BAD_IMAGE], 'x'.repeat(dice(3000))]);
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: content as string,
    ...(dice(4) === 0 ? { is_error: true } : {}),
    ...(dice(6) === 0 ? { details: { of: 'the tool' } } : {}),
  };
}

/** A transcript with its faults: calls without results, answers in a row, answers in front. */
export function entriesOf(dice: Dice): ViewEntry[] {
  const entries: ViewEntry[] = [];
  const add = (
    kind: EntryKind,
    role: ViewEntry['role'],
    content: ContentBlock[],
    provenance: ViewEntry['provenance'] = null,
  ): void => {
    entries.push({ seq: entries.length + 1, kind, role, content, provenance });
  };
  if (dice(4) === 0) add('summary', 'user', [{ type: 'text', text: 'Summary of before.' }]);
  for (let turn = 1, turns = 1 + dice(6); turn <= turns; turn += 1) {
    const isPoll = dice(6) === 0;
    const from = pick(dice, [
      null,
      null,
      { kind: 'client' as const },
      { kind: 'inter_session' as const, sourceSession: 'agent:a:b', sourceTool: 'spawn' },
    ]);
    if (dice(9) > 0)
      add('prompt', 'user', [textOf(dice), ...(dice(7) === 0 ? [IMAGE] : [])], isPoll ? { kind: 'heartbeat' } : from);
    for (let step = dice(3); step >= 0; step -= 1) {
      const answer = answerOf(dice, turn * 10 + step);
      if (answer.length > 0) add('answer', 'assistant', answer);
      const ids = answer.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
      const answered = ids.filter(() => dice(8) > 0);
      if (answered.length > 0)
        add(
          'results',
          'user',
          answered.map((id) => resultOf(dice, id)),
        );
      if (dice(8) === 0) add('steer', 'user', [textOf(dice)]);
    }
    if (isPoll && dice(2) === 0) add('answer', 'assistant', [{ type: 'text', text: 'HEARTBEAT_OK' }]);
  }
  add('prompt', 'user', [{ type: 'text', text: 'The last prompt.' }]);
  return entries;
}
