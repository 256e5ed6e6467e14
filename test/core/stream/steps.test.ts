// The repairs of the steps in a complete answer, one after another.
import { describe, expect, test } from 'vitest';
import { joinText } from '../../../src/core/content.ts';
import type { ModelMessage } from '../../../src/core/model-request.ts';
import type { AnswerRules } from '../../../src/model/stream/draft-answer.ts';
import { parseKeepingIntegers } from '../../../src/core/json.ts';
import { eventsOfBody } from '../../../src/model/stream/stream-event.ts';
import { createToolFinder } from '../../../src/model/stream/repair-calls.ts';
import { calls, end, reduce, START, textBlock, toolBlock } from './answer-events.ts';

/** The answer with one call of these arguments. */
function called(raw: string, overrides: Partial<AnswerRules> = {}) {
  return reduce([START, ...toolBlock(0, { id: 'toolu_0', name: 'read' }, raw), ...end('tool_use')], overrides).answer;
}

describe('a call at the end of an answer that was cut', () => {
  const READ = { id: 'toolu_0', name: 'read' };
  const cutAt = (reason: string, ...parts: string[]) =>
    reduce([START, ...toolBlock(0, { id: 'toolu_9', name: 'exec' }), ...toolBlock(1, READ, ...parts), ...end(reason)])
      .answer;

  test.each([
    ['max_tokens', ''],
    ['length', ''],
    ['max_tokens', '{"path":"a'],
    ['refusal', ''],
    ['stop_sequence', '{"path":"/tmp", '],
  ])('with the reason %s and the arguments %j is never run, and the calls before it are (G12)', (reason, raw) => {
    const { malformedInputs, content } = cutAt(reason, raw);
    expect(malformedInputs).toEqual({ toolu_0: raw });
    expect(content).toHaveLength(2);
  });

  test.each(['{"path":"a"}', '{}'])('is run when its arguments are whole: %s', (raw) => {
    expect(cutAt('max_tokens', raw)).not.toHaveProperty('malformedInputs');
  });

  test('is never repaired or taken as whole when nothing shows that it is', () => {
    const { malformedInputs } = reduce([START, ...toolBlock(0, READ, "{path: 'a'}"), ...end('max_tokens')], {
      repairArguments: () => ({ path: 'a' }),
    }).answer;
    expect(malformedInputs).toEqual({ toolu_0: "{path: 'a'}" });
    const content = [{ type: 'tool_use', ...READ, input: { path: '/tmp' } }];
    const body = reduce(eventsOfBody({ id: 'm', model: 'm', content, stop_reason: 'max_tokens' })).answer;
    expect(body.malformedInputs).toEqual({ toolu_0: '' });
  });

  test.each(['tool_use', 'end_turn', 'pause_turn'])('has none to give after %s', (reason) => {
    expect(cutAt(reason)).not.toHaveProperty('malformedInputs');
  });
});

/** The answer with these calls, each without arguments. */
function answerOf(list: { id?: unknown; name?: unknown }[], overrides: Partial<AnswerRules> = {}) {
  return reduce([START, ...list.flatMap((call, index) => toolBlock(index, call)), ...end('tool_use')], overrides)
    .answer;
}

describe('the name of a tool', () => {
  const find = createToolFinder(['read', 'exec', 'Web_Fetch', 'session_status', 'tool_x', 'read2']);

  test.each([
    ['read', 'read'],
    [' read\n', 'read'],
    ['READ', 'read'],
    ['web_fetch', 'Web_Fetch'],
    ['functions.read', 'read'],
    ['functions.read:3', 'read'],
    ['functions_exec', 'exec'],
    ['tools/exec', 'exec'],
    ['anthropic:exec', 'exec'],
    ['default_api.session_status', 'session_status'],
    ['mcp__files__read', 'read'],
    ['read:0', 'read'],
    ['"exec"', 'exec'],
    ['exec()', 'exec'],
    ['read<|channel|>json', 'read'],
    ['tool_x', 'tool_x'],
    ['read2', 'read2'],
    ['reader', null],
    ['nothing', null],
    ['', null],
    ['read exec', null],
    [`${'x'.repeat(300)}.read`, null],
  ])('%j means %j', (written, found) => {
    expect(find(written)).toBe(found);
  });

  test('is read from the id of the call when it is missing', () => {
    const { content, repairs } = answerOf([{ id: 'functions.exec:0', name: '' }, { id: 'call_read_1' }]);
    expect(content).toMatchObject([
      { id: 'functions_exec_0', name: 'exec' },
      { id: 'call_read_1', name: 'read' },
    ]);
    expect(repairs?.filter(({ step }) => step === 'tool-names')).toEqual([
      { step: 'tool-names', callId: 'functions_exec_0', was: '' },
      { step: 'tool-names', callId: 'call_read_1', was: '' },
    ]);
  });

  test('that leads nowhere stays, in characters that providers take', () => {
    const { content } = answerOf([
      { id: 'a', name: 'my.tool!' },
      { id: 'b', name: 'x'.repeat(200) },
      { id: 'c', name: 7 },
    ]);
    expect(content).toMatchObject([{ name: 'my_tool_' }, { name: 'x'.repeat(64) }, { name: 'unnamed_tool' }]);
  });
});

describe('the id of a call', () => {
  test('is generated when it is missing, a duplicate, or taken by an earlier call', () => {
    const messages: ModelMessage[] = [
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      ...calls({ id: 'toolu_old', name: 'read' }, { id: 'call_auto_2', name: 'read' }),
    ];
    const { content, repairs } = answerOf(
      [
        { name: 'read' },
        { id: 'toolu_1', name: 'read' },
        { id: 'toolu_1', name: 'read' },
        { id: 'toolu_old', name: 'read' },
      ],
      { messages },
    );
    expect(content.map((block) => (block.type === 'tool_use' ? block.id : ''))).toEqual([
      'call_auto_1',
      'toolu_1',
      'call_auto_3',
      'call_auto_4',
    ]);
    expect(repairs).toContainEqual({ step: 'call-ids', callId: 'call_auto_4', was: 'toolu_old' });
  });

  test('that is made up differs from call to call of a turn, though nothing of the turn is in view', () => {
    const ids = [1, 2, 3].map((callNo) => answerOf([{ name: 'read' }], { callNo, messages: [] }).content[0]);
    expect(ids).toMatchObject([{ id: 'call_auto_1' }, { id: 'call_auto_1001' }, { id: 'call_auto_2001' }]);
  });

  test('in characters that providers refuse is written in others', () => {
    expect(answerOf([{ id: 'functions.read:0', name: 'read' }]).content).toMatchObject([{ id: 'functions_read_0' }]);
  });
});

describe('the arguments of a call', () => {
  test.each(['{"path": "a', '[1]', '"text"', 'null', '{} {}'])('that are %s keep the call, and mark it', (raw) => {
    const answer = called(raw);
    expect(answer.content).toMatchObject([{ type: 'tool_use', input: {} }]);
    expect(answer.malformedInputs).toEqual({ toolu_0: raw });
  });

  test('keep every digit of an integer: one that would be rounded becomes a text', () => {
    const raw =
      '{"id":9007199254740993,"same":9007199254740992,"minus":[-12345678901234567890],"n":1.5,"text":"9007199254740993"}';
    const exact = { id: '9007199254740993', same: 9_007_199_254_740_992, minus: ['-12345678901234567890'] };
    expect(called(raw).content).toMatchObject([{ input: { ...exact, n: 1.5, text: '9007199254740993' } }]);
    expect(called(`{"id":${'9'.repeat(400)}}`).content).toMatchObject([{ input: { id: '9'.repeat(400) } }]);
  });

  test('that are written again keep every digit, too, as numbers', () => {
    const text =
      '{"id":9007199254740993,"same":9007199254740992,"minus":[-12345678901234567890],"long":1000000000000000000000,"n":1.5,"text":"9007199254740993"}';
    expect(JSON.stringify(parseKeepingIntegers(text))).toBe(text);
    expect(parseKeepingIntegers('[9007199254740991,1234567890123456.5]')).toEqual([
      9_007_199_254_740_991, 1_234_567_890_123_456.5,
    ]);
  });

  test('of a text of a million digits is found in a time that grows with its length', () => {
    const text = '1'.repeat(1_000_000);
    const parsed = parseKeepingIntegers(JSON.stringify({ text: `\n${text}`, fraction: `0.${text}` }));
    expect(parsed).toEqual({ text: `\n${text}`, fraction: `0.${text}` });
  }, 5_000);

  test('keep every digit of an integer at any place of the text', () => {
    const texts = Array.from({ length: 20 }, (_, spaces) => `${' '.repeat(spaces)}9007199254740993`);
    for (const text of texts) {
      expect(JSON.stringify(parseKeepingIntegers(text))).toBe(text.trim());
      expect(called(`{"n":[${text}]}`).content).toMatchObject([{ input: { n: [text.trim()] } }]);
    }
  });

  test('may be none', () => {
    expect(called('')).toMatchObject({ content: [{ input: {} }] });
    expect(called('')).not.toHaveProperty('malformedInputs');
  });

  test('are repaired if possible, and the original is recorded', () => {
    const answer = called("{path: 'a'}", { repairArguments: (raw) => (raw === "{path: 'a'}" ? { path: 'a' } : null) });
    expect(answer.content).toMatchObject([{ input: { path: 'a' } }]);
    expect(answer).not.toHaveProperty('malformedInputs');
    expect(answer.repairs).toEqual([{ step: 'repair-arguments', callId: 'toolu_0', was: "{path: 'a'}" }]);
  });

  test('are decoded in every text, once, where the provider encodes them', () => {
    const decodeText = (text: string) =>
      text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
    const raw = '{"command":"a &lt; b &amp;lt; c","list":["&lt;",{"&lt;k":1}],"n":1}';
    expect(called(raw, { decodeText }).content).toMatchObject([
      { input: { command: 'a < b &lt; c', list: ['<', { '<k': 1 }], n: 1 } },
    ]);
    expect(called('{&quot;path&quot;:&quot;a&quot;}', { decodeText }).content).toMatchObject([
      { input: { path: 'a' } },
    ]);
    const repaired = called("{path: '&lt;'}", { decodeText, repairArguments: () => ({ path: '&lt;' }) });
    expect(repaired.content).toMatchObject([{ input: { path: '<' } }]);
    expect(called(raw).content).toMatchObject([{ input: { command: 'a &lt; b &amp;lt; c' } }]);
  });
});

describe('the reason of the end', () => {
  test.each([
    ['sensitive', 'sensitive'],
    ['content_filter', 'sensitive'],
    ['SAFETY', 'sensitive'],
    ['something_new', 'unhandled'],
  ])('%s makes the answer its text and a note, without calls', (wire, stopReason) => {
    const { answer, deltas } = reduce([
      START,
      ...textBlock(0, 'so far'),
      ...toolBlock(1, { id: 'a', name: 'read' }, '{"cut'),
      ...end(wire),
    ]);
    expect(answer.stopReason).toBe(stopReason);
    expect(answer.wireStopReason ?? answer.stopReason).toBe(wire);
    expect(answer.content.map(({ type }) => type)).toEqual(['text', 'text']);
    expect(joinText(answer.content)).toContain(`so far\n[The provider stopped this answer`);
    expect(deltas.join('')).toBe(joinText(answer.content));
    expect(answer).not.toHaveProperty('malformedInputs');
  });

  test.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool_calls', 'tool_use'],
  ])('%s is another word for %s', (wire, stopReason) => {
    const { answer } = reduce([START, ...textBlock(0, 'a'), ...end(wire)]);
    expect(answer).toMatchObject({ stopReason, wireStopReason: wire, content: [{ text: 'a' }] });
    expect(answer).not.toHaveProperty('repairs');
  });
});

describe('a tool that does not exist', () => {
  const prompt: ModelMessage = { role: 'user', content: [{ type: 'text', text: 'go' }] };
  const strike = (n: number, ...names: string[]) => calls(...names.map((name, at) => ({ id: `${n}_${at}`, name })));
  const ghost = [{ id: 'z', name: 'ghost' }];

  test('called in three answers in a row ends the turn with a text', () => {
    const messages = [prompt, ...strike(1, 'ghost'), ...strike(2, 'ghost', 'phantom')];
    const answer = answerOf(ghost, { messages });
    expect(answer).toMatchObject({ stopReason: 'end_turn', content: [{ type: 'text' }] });
    expect(joinText(answer.content)).toContain('"ghost" is not available');
    expect(answer.repairs).toEqual([{ step: 'unknown-tools', callId: null, was: 'ghost' }]);
  });

  test.each<[string, ModelMessage[]]>([
    ['two answers in a row', [prompt, ...strike(1, 'ghost')]],
    ['another unknown tool between', [prompt, ...strike(1, 'ghost'), ...strike(2, 'phantom')]],
    ['a known tool between', [prompt, ...strike(1, 'ghost'), ...strike(2, 'ghost', 'read'), ...strike(3, 'ghost')]],
    ['words of the user between', [prompt, ...strike(1, 'ghost'), ...strike(2, 'ghost'), prompt]],
  ])('is only reported after %s', (_, messages) => {
    expect(answerOf(ghost, { messages }).content).toMatchObject([{ type: 'tool_use', name: 'ghost' }]);
  });

  test('is repeated without end where the guard is off', () => {
    const messages = [prompt, ...Array.from({ length: 20 }, (_, at) => strike(at, 'ghost')).flat()];
    expect(answerOf(ghost, { messages, unknownToolThreshold: 0 }).content).toMatchObject([{ type: 'tool_use' }]);
  });
});
