import { describe, expect, test } from 'vitest';
import {
  auditBootstrap,
  pathsShownIn,
  REFRESH_TITLE,
  refreshText,
  findSection,
} from '../../../src/compaction/post-compaction.ts';

const SECTIONS = ['Session Startup', 'Red Lines'];
const now = '2026-01-12T20:19:17Z';
const agentsFile = [
  '# Rules',
  '## Session Startup',
  "Read today's memory.",
  '```',
  '## Red Lines',
  'only an example',
  '```',
  '### Later',
  'Greet.',
  '## Red Lines',
  'Never delete.',
  '## Other',
  'Whatever.',
].join('\n');

describe('the refresh', () => {
  test('repeats the two sections, with everything below their headings', () => {
    const text = refreshText(agentsFile, SECTIONS, now)!;
    expect(text.startsWith(REFRESH_TITLE)).toBe(true);
    expect(text).toContain("Read today's memory.");
    expect(text).toContain('Greet.');
    expect(text).toContain('Never delete.');
    expect(text).not.toContain('Whatever.');
    expect(text.endsWith(`Current time: ${now}`)).toBe(true);
  });

  test('repeats the configured sections, in their order, and none when there are none', () => {
    const text = refreshText(agentsFile, ['Other', ' red lines '], now)!;
    expect(text).toMatch(/Whatever\.[^]*Never delete\./);
    expect(text).not.toContain('Greet.');
    expect(refreshText(agentsFile, [], now)).toBeNull();
    expect(refreshText(agentsFile, ['Not There'], now)).toBeNull();
  });

  test('knows the older names of the sections', () => {
    expect(refreshText('## Every Session\nread\n## Safety\ncareful', SECTIONS, now)).toContain('careful');
  });

  test('is at most 3,000 characters, and the time survives the cut', () => {
    const text = refreshText(`## Safety\n${'careful '.repeat(2_000)}`, SECTIONS, now)!;
    expect(text.length).toBeLessThanOrEqual(3_000);
    expect(text.endsWith(now)).toBe(true);
  });

  test('is not there without a section or without a file', () => {
    expect(refreshText('# Rules\nNone.', SECTIONS, now)).toBeNull();
    expect(refreshText(null, SECTIONS, now)).toBeNull();
  });
});

test('a section ends at the next heading of its level, and an empty one is none', () => {
  expect(findSection('# A\n## B\nb\n### C\nc\n# D', 'b')).toBe('## B\nb\n### C\nc');
  expect(findSection('## B\n\n## C\nc', 'b')).toBeNull();
});

test('the audit names the files in the system prompt, and those that are missing', () => {
  const text = '# Project Context\n## /w/AGENTS.md\nrules\n## /w/SOUL.md\n[MISSING] Expected at: /w/SOUL.md';
  const system = [{ type: 'text' as const, text }];
  const files = [
    { name: 'AGENTS.md', path: '/w/AGENTS.md', content: 'rules' },
    { name: 'SOUL.md', path: '/w/SOUL.md', content: 'soul' },
    { name: 'USER.md', path: '/w/USER.md', content: null },
  ];
  expect(auditBootstrap(pathsShownIn(system), files)).toEqual({ shown: ['AGENTS.md'], missing: ['SOUL.md'] });
});
