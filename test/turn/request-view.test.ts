// The messages of a turn's requests while it runs: unchanged messages stay the same objects, and
// pruning waits until the cache is cold.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ContentBlock } from '../../src/core/content.ts';
import type { Entry, EntryKind } from '../../src/core/entry.ts';
import { withModel, viewMessages, type ViewRules } from '../../src/history/past.ts';
import type { EntryId, TurnId } from '../../src/core/ids.ts';
import type { EntryImages, ModelSpan, SessionView } from '../../src/core/view.ts';
import { RequestView, type CallCircumstances, type NextRequest } from '../../src/kernel/turn/request-view.ts';
import { Transcript } from '../../src/kernel/turn/transcript-cache.ts';

const text = (words: string): ContentBlock => ({ type: 'text', text: words });

/** Adds entries to a transcript: prompts, answers with a call, long results. */
function adder(transcript: Transcript) {
  return (kind: EntryKind, ...content: ContentBlock[]): Entry => {
    const seq = transcript.untilSeq + 1;
    const role = kind === 'answer' ? 'assistant' : 'user';
    const id = `e${seq}` as EntryId;
    const entry: Entry = { id, seq, parentSeq: seq - 1, kind, role, content, turnId: 't' as TurnId };
    transcript.push(entry);
    return entry;
  };
}

function step(add: ReturnType<typeof adder>, id: string): void {
  add('answer', { type: 'tool_use', id, name: 'read', input: {} });
  add('results', { type: 'tool_result', tool_use_id: id, content: 'x'.repeat(20_000) });
}

function rulesAt(promptSeq: number, view: ViewRules['view'] = {}): ViewRules {
  return { view, promptSeq, model: 'm', injected: [], imageOf: () => undefined };
}

function at(nowMs: number, sessionView: SessionView = {}, mode: 'off' | 'cache-ttl' = 'cache-ttl'): CallCircumstances {
  return {
    sessionView,
    nowMs,
    contextTokens: 30_000,
    pruning: {
      mode,
      ttl: 1000,
      keepLastAssistants: 1,
      softTrimRatio: 0.3,
      hardClearRatio: 0.9,
      minPrunableToolChars: 1000,
      softTrim: { maxChars: 4000, headChars: 1500, tailChars: 1500 },
      hardClear: { enabled: true, placeholder: '[gone]' },
      tools: { allow: [], deny: [] },
    },
  };
}

/** A call: it decides, and sends. */
function ask(
  view: RequestView,
  circumstances: CallCircumstances,
): NextRequest & { sessionView: SessionView | undefined } {
  return { sessionView: view.decide(circumstances), ...view.next() };
}

describe('messages', () => {
  test('stay the same objects from call to call, and from turn to turn', () => {
    const transcript = new Transcript(1);
    const add = adder(transcript);
    add('prompt', text('a'));
    const first = new RequestView(transcript, rulesAt(1));
    step(add, 't1');
    const before = [...ask(first, at(0, {}, 'off')).messages];
    step(add, 't2');
    add('answer', text('done'));
    add('prompt', text('b'));
    const second = ask(new RequestView(transcript, rulesAt(transcript.untilSeq)), at(0, {}, 'off')).messages;
    expect(second).toHaveLength(7);
    before.forEach((message, index) => expect(second[index]).toBe(message));
  });

  test('are rebuilt when the next turn shows another part of the history', () => {
    const transcript = new Transcript(1);
    const add = adder(transcript);
    for (const words of ['a', 'b', 'c']) {
      add('prompt', text(words));
      ask(new RequestView(transcript, rulesAt(transcript.untilSeq)), at(0, {}, 'off'));
      add('answer', text('ok'));
    }
    add('prompt', text('d'));
    const limited = new RequestView(transcript, rulesAt(transcript.untilSeq, { historyLimit: 1 }));
    const { messages } = ask(limited, at(0, {}, 'off'));
    expect(messages.map(({ content }) => content)).toEqual([[text('c')], [text('ok')], [text('d')]]);
  });

  test('follow a transcript that is compacted, or loses entries, during a turn', () => {
    const transcript = new Transcript(1);
    const add = adder(transcript);
    add('prompt', text('a'));
    add('answer', text('ok'));
    const prompt = add('prompt', text('b'));
    const view = new RequestView(transcript, rulesAt(prompt.seq));
    ask(view, at(0, {}, 'off'));
    const summary: Entry = { ...prompt, seq: 4, kind: 'summary', content: [text('summary')] };
    transcript.compact(summary, { firstKeptSeq: prompt.seq, pinnedSeqs: [] }, 2);
    expect(ask(view, at(0, {}, 'off')).messages).toEqual([{ role: 'user', content: [text('summary'), text('b')] }]);
    expect(transcript).toMatchObject({ version: 2, untilSeq: 4, last: prompt });
    transcript.hide(new Set([prompt.seq]), 3);
    expect(ask(view, at(0, {}, 'off')).messages).toEqual([{ role: 'user', content: [text('summary')] }]);
    expect(transcript.last).toBeNull();
  });

  test('that a provider would refuse are named', () => {
    const transcript = new Transcript(1);
    const add = adder(transcript);
    add('prompt', text('a'));
    add('answer', text('b'));
    const { violations } = ask(new RequestView(transcript, rulesAt(1)), at(0));
    expect(violations.map(({ code }) => code)).toEqual(['last_not_user']);
  });
});

describe('pruning', () => {
  function longTurn(): { transcript: Transcript; view: RequestView; add: ReturnType<typeof adder> } {
    const transcript = new Transcript(1);
    const add = adder(transcript);
    add('prompt', text('a'));
    for (const id of ['t1', 't2', 't3']) step(add, id);
    return { transcript, view: new RequestView(transcript, rulesAt(1)), add };
  }

  test('waits until the cache has been used and has gone cold', () => {
    const { view } = longTurn();
    const first = ask(view, at(10_000));
    expect(first).toMatchObject({ callView: null, sessionView: { cacheTouchedAtMs: 10_000 } });
    const warm = ask(view, at(10_999, first.sessionView));
    expect(warm).toMatchObject({ callView: null, sessionView: { cacheTouchedAtMs: 10_999 } });
    const cold = ask(view, at(11_999, warm.sessionView));
    expect(cold.callView?.pruning).toMatchObject({ trimmedUntil: 4, clearedUntil: 0 });
    expect(JSON.stringify(cold.messages[2])).toContain('[Tool result trimmed: ');
  });

  test('gives the same bytes until the cache is cold again', () => {
    const { view, add } = longTurn();
    const cold = ask(view, at(9000, { cacheTouchedAtMs: 0 }));
    step(add, 't4');
    const later = ask(view, at(9500, cold.sessionView));
    expect(later.callView).toEqual(cold.callView);
    cold.messages.forEach((message, index) => expect(later.messages[index]).toEqual(message));
    const again = ask(view, at(20_000, later.sessionView));
    expect(again.callView?.pruning?.trimmedUntil).toBe(6);
  });

  test('is undone when it is switched off, and the time is not kept', () => {
    const { view } = longTurn();
    const cold = ask(view, at(9000, { cacheTouchedAtMs: 0 }));
    const off = ask(view, at(9001, cold.sessionView, 'off'));
    expect(off).toMatchObject({ callView: null, sessionView: undefined });
    expect(JSON.stringify(off.messages)).not.toContain('trimmed');
  });
});

// Goal: a request built from a history that grew over many turns equals the one that is derived
// later from the rows alone.
const turn = fc.record({
  isPoll: fc.boolean(),
  answer: fc.constantFrom('HEARTBEAT_OK', 'words'),
  limit: fc.constantFrom(undefined, undefined, 1, 3),
  model: fc.constantFrom('a', 'a', 'b'),
  steps: fc.nat({ max: 2 }),
  imageOf: fc.constantFrom(null, null, 'x', 'y'),
  isInjected: fc.boolean(),
});

test('a history that is extended from turn to turn has the messages that are derived from its rows', () => {
  fc.assert(
    fc.property(fc.array(turn, { minLength: 1, maxLength: 8 }), (turns) => {
      const transcript = new Transcript(1);
      const add = adder(transcript);
      let models: readonly ModelSpan[] | undefined;
      const images: EntryImages[] = [];
      for (const [index, each] of turns.entries()) {
        const promptSeq = transcript.untilSeq + 1;
        models = withModel(models, promptSeq, { model: each.model });
        if (each.imageOf !== null) images.push({ seq: promptSeq, images: [{ sha256: each.imageOf, chars: 4 }] });
        const rules: ViewRules = {
          promptSeq,
          model: each.model,
          injected: each.isInjected ? [{ plugin: 'p', role: 'assistant', content: [text('memory')] }] : [],
          imageOf: (sha256) => ({
            type: 'image',
            source: { type: 'base64', media_type: 'image/png', data: `AA${sha256}A` },
          }),
          view: {
            ...(models.length > 1 ? { models: [...models] } : undefined),
            ...(images.length > 0 ? { images: [...images] } : undefined),
            ...(each.isInjected ? { injectedSha256: 'i' } : undefined),
            ...(each.limit === undefined ? undefined : { historyLimit: each.limit }),
            heartbeatAckCharsMax: 300,
          },
        };
        const provenance = each.isPoll ? ({ kind: 'heartbeat' } as const) : null;
        transcript.push({ ...promptOf(promptSeq, `prompt ${index}`), provenance });
        const view = new RequestView(transcript, rules);
        for (let at = 0; at <= each.steps; at += 1) {
          const { messages } = ask(view, circumstancesOff);
          expect(messages).toEqual(viewMessages(transcript.entries, rules, null).messages);
          if (at < each.steps) step(add, `t${at}`);
        }
        add('answer', { type: 'thinking', thinking: 'hm', signature: 's' }, text(each.answer));
      }
    }),
    { numRuns: 150 },
  );
});

const circumstancesOff = at(0, {}, 'off');

function promptOf(seq: number, words: string): Entry {
  const id = `e${seq}` as EntryId;
  return { id, seq, parentSeq: seq - 1, kind: 'prompt', role: 'user', content: [text(words)], turnId: 't' as TurnId };
}
