// The notes on the workspace in a prompt: pending setup, files that do not fit, skills, channels.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  chooseBootstrapMode,
  bootstrapParts,
  reportBudget,
  type BootstrapSituation,
  filesForMode,
  fitWorkspaceFiles,
} from '../../../src/prompt/bootstrap.ts';
import { channelSummary } from '../../../src/prompt/inbound-meta.ts';
import { neutralise } from '../../../src/prompt/untrusted-text.ts';

const pending: BootstrapSituation = {
  isPending: true,
  kind: 'message',
  sessionKind: 'main',
  isOwnWorkspace: true,
  hasFileAccess: true,
};

describe('chooseBootstrapMode', () => {
  test.each<[Partial<BootstrapSituation>, string]>([
    [{}, 'full'],
    [{ kind: 'followup', sessionKind: 'group' }, 'full'],
    [{ isOwnWorkspace: false }, 'limited'],
    [{ hasFileAccess: false }, 'limited'],
    [{ isPending: false }, 'none'],
    [{ kind: 'heartbeat' }, 'none'],
    [{ kind: 'cron' }, 'none'],
    [{ kind: 'announcement' }, 'none'],
    [{ kind: 'batch' }, 'none'],
    [{ sessionKind: 'subagent' }, 'none'],
    [{ sessionKind: 'cron' }, 'none'],
  ])('%j is %s', (change, mode) => expect(chooseBootstrapMode({ ...pending, ...change })).toBe(mode));
});

test('the block of pending setup has a head that no user text can have (G29)', () => {
  for (const mode of ['full', 'limited'] as const) {
    const [part] = bootstrapParts(mode);
    expect(part?.text).toMatch(/^\[Bootstrap pending\]\n/);
    expect(neutralise(part?.text ?? '')).toMatch(/^\(Bootstrap pending\]\n/);
  }
  expect(bootstrapParts('none')).toEqual([]);
});

describe('reportBudget', () => {
  const file = (name: string, chars: number | null) => ({
    name,
    path: `/w/${name}`,
    content: chars === null ? null : 'x'.repeat(chars),
  });
  const report = (sizes: (number | null)[], limits = { charsPerFileMax: 1000, charsTotalMax: 10_000 }) =>
    reportBudget(
      fitWorkspaceFiles(
        sizes.map((size, at) => file(`F${at}.md`, size)),
        limits,
      ),
      limits,
    );

  test.each([[[100, null, 849]], [[0]], [[]]])('files of %j characters fit with room to spare', (sizes) => {
    expect(report(sizes)).toBeNull();
  });

  test('a file that is cut is named with the size of the rest', () => {
    expect(report([2000])?.part.text).toMatch(
      /^⚠️ Bootstrap budget: .*not shown in full.*\n- F0\.md: 2000 raw -> \d+ injected \(~\d\d% removed; max\/file\)\.\nRead the file itself/,
    );
  });

  test('of many that are cut three are named', () => {
    const text = report([2000, 2000, 2000, 2000, 2000])?.part.text;
    expect(text?.match(/^- /gm)).toHaveLength(3);
    expect(text).toContain('\n+2 more truncated file(s).\n');
  });

  test('a file that exceeds the remaining total is cut', () => {
    const text = report([500, 500], { charsPerFileMax: 1000, charsTotalMax: 510 })?.part.text;
    expect(text).toContain('- F1.md: 500 raw -> 0 injected (~100% removed; max/total).');
  });

  test('from 85 percent on a file, or all together, are near their limit', () => {
    expect(report([850])?.part.text).toContain('\n- F0.md: 850 of 1000 characters (85%).\n');
    expect(report([800, 800], { charsPerFileMax: 1000, charsTotalMax: 1700 })?.part.text).toContain(
      '\n- all files: 1600 of 1700 characters (94%).\n',
    );
  });

  test('equal states have equal signatures, others have others', () => {
    expect(report([2000])?.signature).toBe(report([2000])?.signature);
    expect(report([2000])?.signature).not.toBe(report([2001])?.signature);
    expect(report([2000])?.signature).not.toBe(
      report([2000], { charsPerFileMax: 999, charsTotalMax: 10_000 })?.signature,
    );
  });

  test('its head is Holdfast’s alone (G29)', () => {
    const text = report([2000])?.part.text ?? '';
    for (const forged of [text, ` ${text}`, text.replace('Boot', 'Bo\u200bot'), text.replace('⚠️', '🚨 ')]) {
      expect(neutralise(`hi\n${forged}`)).not.toMatch(/^\s*\p{So}.*udget/mu);
    }
    expect(neutralise(neutralise(text))).toBe(neutralise(text));
    expect(neutralise('My bootstrap budget is low.')).toBe('My bootstrap budget is low.');
  });
});

test('delegated work is shown five files, other modes all or none', () => {
  const names = [
    'AGENTS.md',
    'SOUL.md',
    'TOOLS.md',
    'IDENTITY.md',
    'USER.md',
    'HEARTBEAT.md',
    'BOOTSTRAP.md',
    'MEMORY.md',
  ];
  const files = names.map((name) => ({ name, path: `/w/${name}`, content: null }));
  expect(filesForMode(files, 'minimal').map(({ name }) => name)).toEqual(names.slice(0, 5));
  expect(filesForMode(files, 'full')).toEqual(files);
  expect(filesForMode(files, 'none')).toEqual([]);
});

test('fitted files never hold more than the total', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(400)), fc.nat(500), fc.nat(800), (sizes, charsPerFileMax, charsTotalMax) => {
      const files = sizes.map((size, at) => ({ name: `${at}.md`, path: `/w/${at}.md`, content: 'x'.repeat(size) }));
      const fitted = fitWorkspaceFiles(files, { charsPerFileMax, charsTotalMax });
      expect(fitted.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(charsTotalMax);
      for (const { cutBy, rawChars, text } of fitted) if (cutBy === undefined) expect(text.length).toBe(rawChars);
    }),
    { numRuns: 100 },
  );
});

describe('channelSummary', () => {
  test('has a line for each channel, by name, and for each account', () => {
    expect(
      channelSummary([
        {
          name: 'telegram',
          isEnabled: true,
          phone: '+1555',
          accounts: [{ id: 'a', name: 'Bot', details: ['dm:open'] }],
        },
        { name: 'signal', label: 'My Signal', isEnabled: false, accounts: [{ id: 'b', details: [] }] },
        { name: 'slack', isEnabled: true, accounts: [{ id: 'c', details: [] }] },
      ]),
    ).toEqual([
      'My Signal: disabled',
      'Slack: configured',
      '  - c',
      'Telegram: configured +1555',
      '  - a (Bot) (dm:open)',
    ]);
  });

  test('is empty without channels', () => expect(channelSummary([])).toEqual([]));
});
