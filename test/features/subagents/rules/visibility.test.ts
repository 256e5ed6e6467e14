// Which sessions an agent sees with its tools, and what of their past.
import { describe, expect, test } from 'vitest';
import { maySee, type Visibility, type VisibleSession } from '../../../../src/features/subagents/rules/visibility.ts';
import { shownHistory } from '../../../../src/kernel/rules/session-history.ts';

describe('visibility', () => {
  const own: VisibleSession = { id: 'me', agentId: 'main', ancestors: [], isConfined: false };
  const child: VisibleSession = { id: 'child', agentId: 'helper', ancestors: ['me'], isConfined: false };
  const mate: VisibleSession = { id: 'mate', agentId: 'main', ancestors: [], isConfined: false };
  const stranger: VisibleSession = { id: 'stranger', agentId: 'other', ancestors: [], isConfined: false };
  const seenBy = (viewer: VisibleSession, visibility: Visibility, allow: string[] = [], enabled = true) =>
    [own, child, mate, stranger]
      .filter((target) => maySee(viewer, target, { visibility, agentToAgent: { enabled, allow } }))
      .map(({ id }) => id);

  test('grows from the session itself to all sessions', () => {
    expect(seenBy(own, 'self')).toEqual(['me']);
    expect(seenBy(own, 'tree')).toEqual(['me', 'child']);
    expect(seenBy(own, 'agent')).toEqual(['me', 'child', 'mate']);
    expect(seenBy(own, 'all', ['*'])).toEqual(['me', 'child', 'mate', 'stranger']);
  });

  test('of other agents needs both to be allowed, and the switch', () => {
    expect(seenBy(own, 'all')).not.toContain('stranger');
    expect(seenBy(own, 'all', ['other'])).not.toContain('stranger');
    expect(seenBy(own, 'all', ['main', 'other'])).toContain('stranger');
    expect(seenBy(own, 'all', ['*'], false)).not.toContain('stranger');
  });

  test('of a confined session covers only the sessions below it (G44)', () => {
    expect(seenBy({ ...own, isConfined: true }, 'self')).toEqual(['me']);
    expect(seenBy({ ...own, isConfined: true }, 'all', ['*'])).toEqual(['me', 'child']);
  });

  test('of a subagent covers only the sessions below it', () => {
    expect(seenBy(child, 'all', ['*'])).toEqual(['child']);
  });
});

test('the past of a session is shown from its end, bounded in number, each and together', () => {
  const entries = Array.from({ length: 60 }, (_, n) => ({
    role: 'user' as const,
    content: [{ type: 'text' as const, text: `${n} ${'x'.repeat(5_000)}` }],
  }));
  const shown = shownHistory(entries, { limit: 50, includeTools: false });
  expect(shown.length).toBeLessThan(20);
  expect(shown.at(-1)?.text).toMatch(/^59 /);
  expect(shown[0]?.text).toMatch(/more characters\]$/);
  expect(shownHistory(entries, { limit: 2, includeTools: false })).toHaveLength(2);
});
