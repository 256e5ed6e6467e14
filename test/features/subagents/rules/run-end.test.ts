// The decision about the end of a subagent's run.
import { describe, expect, test } from 'vitest';
import { decideRunEnd, isRunOver } from '../../../../src/features/subagents/rules/run-end.ts';
import type { FamilyState, RunResult } from '../../../../src/kernel/rules/family.ts';

const IDLE: Omit<FamilyState, 'id' | 'key'> = {
  ancestors: [],
  runId: null,
  turnId: null,
  isBusy: false,
  isArchived: false,
  waiting: 0,
  liveChildren: 0,
  queueMode: null,
  channel: 'api',
};

const member = (id: string, more: Partial<FamilyState> = {}): FamilyState => ({
  id,
  key: `key-${id}`,
  ...IDLE,
  ...more,
});

const RUN = {
  id: 'run',
  parentId: 'middle',
  childId: 'child',
  label: 'work',
  runtimeMs: 5,
  inputTokens: 1,
  outputTokens: 2,
};
const END: RunResult = {
  status: 'ok',
  result: 'done',
  error: null,
  isSuppressed: false,
  modes: { mode: 'collect', byChannel: {} },
};

/** The decision for a subagent of a subagent. */
function decide({
  top = {},
  middle = {},
  end = {},
}: {
  top?: Partial<FamilyState>;
  middle?: Partial<FamilyState>;
  end?: Partial<RunResult>;
}) {
  const family = [
    member('top', { liveChildren: 1, ...top }),
    member('middle', { ancestors: ['top'], runId: 'above', liveChildren: 1, ...middle }),
    member('child', { ancestors: ['top', 'middle'], runId: 'run' }),
  ];
  return decideRunEnd({ run: RUN, end: { ...END, ...end } }, new Map(family.map((one) => [one.id, one])));
}

describe('the recipient', () => {
  test('is the nearest session above whose run has not ended', () => {
    expect(decide({})).toMatchObject({ recipientId: 'middle', announcement: { isForUser: false, active: 0 } });
  });

  test('is otherwise the top of the family, or no session', () => {
    const middle = { runId: null };
    expect(decide({ middle })).toMatchObject({ recipientId: 'top', announcement: { isForUser: true, active: 1 } });
    expect(decide({ middle, top: { isArchived: true } })).toMatchObject({ recipientId: null, isSkipped: false });
  });

  test('takes it into its running turn only with a mode that says so', () => {
    const steer = { modes: { mode: 'collect', byChannel: { api: 'steer' } } };
    expect(decide({ middle: { isBusy: true }, end: steer })).toMatchObject({ steers: true });
    expect(decide({ middle: { isBusy: true, queueMode: 'followup' }, end: steer })).toMatchObject({ steers: false });
    expect(decide({ end: steer })).toMatchObject({ steers: false });
  });
});

test('an end that need not be announced is silent, unless a subagent above waits for nothing else', () => {
  const end = { isSuppressed: true };
  expect(decide({ end })).toMatchObject({ isSkipped: false });
  expect(decide({ end, middle: { turnId: 'turn' } })).toMatchObject({ isSkipped: true });
  expect(decide({ end, middle: { waiting: 1 } })).toMatchObject({ isSkipped: true });
  expect(decide({ end, middle: { liveChildren: 2 } })).toMatchObject({ isSkipped: true });
});

test('a run is over when nothing brings its session another turn', () => {
  expect(isRunOver(member('child'))).toBe(true);
  for (const more of [{ turnId: 'turn' }, { waiting: 1 }, { liveChildren: 1 }])
    expect(isRunOver(member('child', more))).toBe(false);
});
