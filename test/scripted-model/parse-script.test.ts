import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Script } from '../../scripted-model/parse-script.ts';
import { answerAt, parseScript } from '../../scripted-model/parse-script.ts';

function scriptOf(...texts: string[]): Script {
  return scriptFor('', texts);
}

function scriptFor(model: string, texts: string[]): Script {
  const script = parseScript(texts, model);
  if (!script) throw new Error('The text holds no directive.');
  return script;
}

/** The answers in short: their texts and calls. */
function outline(script: Script): string[] {
  return script.answers.map((answer) =>
    answer.blocks
      .map((block) => (block.kind === 'tool' ? `${block.name}${block.inputJson}` : Object.values(block).join(':')))
      .join(' + '),
  );
}

describe('a script', () => {
  test('has an answer per tool call, joined calls in one, and the last text at the end', () => {
    const text =
      'Do it: [[reply: first]] [[tool: a {"n":1}]] [[tool: b]] & [[tool: c {}]]\n[[reply: x]] [[reply: y]] thanks';
    expect(outline(scriptOf(text))).toEqual(['text:first + a{"n":1}', 'b{} + c{}', 'text:x\ny']);
    expect(scriptOf(text).ownTexts).toEqual(['Do it:   \n  thanks']);
  });

  test('takes arguments that hold brackets, braces and quotes', () => {
    const json = '{"a":[[1]],"b":"}]] \\" {","c":{"d":"[[tool: x {}]]"}}';
    expect(outline(scriptOf(`[[tool: name ${json} id=toolu_7]] [[reply: ok]]`))).toEqual([`name${json}`, 'text:ok']);
    expect(scriptOf(`[[tool: name ${json} id=toolu_7]]`).answers[0]?.blocks).toMatchObject([{ id: 'toolu_7' }]);
  });

  test('takes names and arguments as they are written, however wrong they are', () => {
    const script = scriptOf(`[[arguments: {a: 'b'}]] [[tool: x {"n":1} name=" Read " id=""]] [[reply: ok]]`);
    expect(script.answers).toMatchObject([
      { rawArguments: "{a: 'b'}", blocks: [{ name: ' Read ', id: '', inputJson: '{"n":1}' }] },
      { rawArguments: null },
    ]);
  });

  test('repeats an answer without writing it out', () => {
    const script = scriptOf('[[repeat: 1000 tool a {"n":"$i"}]] [[reply: end]]');
    expect(script.answers).toHaveLength(2);
    expect(answerAt(script, 999)).toMatchObject({ repetition: 1000, answer: { blocks: [{ name: 'a' }] } });
    expect(answerAt(script, 1000)).toMatchObject({ answer: { blocks: [{ text: 'end' }] } });
    expect(answerAt(script, 1001)).toBeNull();
  });

  test('applies directives about an answer to the answer being written, and `each` to all', () => {
    const script = scriptOf(
      '[[delay: 5 each]] [[slow: 2]] [[tool: a]] [[stop: max_tokens]] [[usage: input=3]] [[thinking: hm]] [[reply: b]] [[next]] [[delay: 9]]',
    );
    expect(script).toMatchObject({ delayMsEach: 5, slowMsEach: 0 });
    expect(script.answers).toMatchObject([
      { slowMs: 2, delayMs: null, stopReason: null },
      { slowMs: null, stopReason: 'max_tokens', usage: { input: 3 }, blocks: [{ kind: 'thinking' }, { kind: 'text' }] },
      { delayMs: 9, blocks: [] },
    ]);
  });

  test('lists errors, cuts and stalls in the order in which they are to come', () => {
    const text =
      '[[error: 429 retry-after=2 times=3 type=x code=y message="a \\"b\\" c"]] [[cut: after=2]] [[stall]] [[error: 529 after=0 times=always]]';
    expect(scriptOf(text).answers[0]?.faults).toEqual([
      {
        kind: 'error',
        status: 429,
        times: 3,
        after: null,
        type: 'x',
        errorCode: 'y',
        message: 'a "b" c',
        retryAfter: '2',
        retryAfterMs: null,
      },
      { kind: 'cut', times: 1, after: 2 },
      { kind: 'stall', times: 1, after: 1 },
      {
        kind: 'error',
        status: 529,
        times: Number.POSITIVE_INFINITY,
        after: 0,
        type: null,
        errorCode: null,
        message: null,
        retryAfter: null,
        retryAfterMs: null,
      },
    ]);
  });

  test('has parts for some models, for those that none names, and for all', () => {
    const texts = [
      'Which? [[reply: looking]] [[for: a b]] [[tool: read]] [[reply: few]] [[for: others]] [[tool: exec]] [[for: b]] [[reply: extra]]',
      'Now. [[reply: end]]',
    ];
    expect(outline(scriptFor('a', texts))).toEqual(['text:looking + read{}', 'text:few\nend']);
    expect(outline(scriptFor('b', texts))).toEqual(['text:looking + read{}', 'text:few\nextra\nend']);
    expect(outline(scriptFor('c', texts))).toEqual(['text:looking + exec{}', 'text:end']);
    expect(scriptFor('a', texts)).toMatchObject({ isOfModel: true, ownTexts: scriptFor('c', texts).ownTexts });
    expect(scriptOf('[[reply: ok]]').isOfModel).toBe(false);
  });

  test('without a part for a model is empty, and not absent', () => {
    expect(parseScript(['Hello [[for: a]] [[reply: hi]]'], 'b')).toMatchObject({ answers: [], ownTexts: ['Hello'] });
  });

  test('does not exist if nothing is a directive, whatever is in double brackets', () => {
    expect(parseScript(['plain', 'see [[Some Page]] and [[ replyish: x]] and [[reply'])).toBeNull();
  });

  test('says texts without directives back in their place', () => {
    expect(outline(scriptOf('hello', '[[tool: a]]', 'two\nlines'))).toEqual([
      'text:You said: hello + a{}',
      'text:You said: lines',
    ]);
  });

  test.each([
    ['[[tool: a {"x": }]]', 'Script error: [[tool]] has arguments that are no JSON object: {"x": }.'],
    ['[[reply: never closed', 'Script error: [[reply]] is not closed.'],
    ['[[tool]]', 'Script error: [[tool]] needs the name of a tool.'],
    ['[[delay: soon]]', 'Script error: [[delay]] needs a number from 0 to 600000.'],
    ['[[cut: after=x]]', 'Script error: [[cut]] has no number in after=x.'],
    ['[[for]]', 'Script error: [[for]] needs a value.'],
    ['[[error]]', 'Script error: [[error]] needs a value.'],
  ])('with the mistake %s explains it', (text, explanation) => {
    expect(outline(scriptOf(text))).toEqual([`text:${explanation}`]);
  });

  test('is read from any text without throwing', () => {
    const pieces = fc.constantFrom(
      '[[',
      ']]',
      'tool:',
      'reply:',
      'repeat: 3 tool',
      'error: 529',
      'for: a',
      ' ',
      '{',
      '}',
      '"',
      '\\',
      '&',
      'times=',
      'a',
      '\n',
    );
    fc.assert(fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => void parseScript([parts.join('')])));
  });
});
