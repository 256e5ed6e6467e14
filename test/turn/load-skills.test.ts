// Reading skills: which folders are skills, links that lead outside, and files that cannot be read.
import { mkdir, mkdtemp, rm, symlink, writeFile, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadSkills, readSkill } from '../../src/kernel/turn/open/load-skills.ts';

let dir: string;
let workspace: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdfast-skills-'));
  workspace = join(dir, 'workspace');
  await mkdir(join(workspace, 'skills'), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

async function put(folder: string, text: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'SKILL.md'), text);
}

const head = (description: string): string => `---\ndescription: ${description}\n---\n`;
const namesOf = async (): Promise<string[]> => (await loadSkills(workspace)).skills.map(({ name }) => name);

test('every folder with a SKILL.md that has a description is a skill', async () => {
  await put(join(workspace, 'skills/b'), head('B'));
  await put(join(workspace, 'skills/a'), head('A'));
  await put(join(workspace, 'skills/c'), 'nothing');
  await writeFile(join(workspace, 'skills/file.md'), head('F'));
  const a = { name: 'a', description: 'A', location: join(workspace, 'skills/a/SKILL.md') };
  expect(await loadSkills(workspace)).toEqual({ skills: [a, expect.objectContaining({ name: 'b' })], faults: [] });
});

test('a skill is made again only when its file has changed', async () => {
  await put(join(workspace, 'skills/a'), head('A'));
  await put(join(workspace, 'skills/b'), head('B'));
  // One that was just written is read again.
  await utimes(join(workspace, 'skills/b/SKILL.md'), 1, 1);
  const first = await loadSkills(workspace);
  await put(join(workspace, 'skills/a'), head('C'));
  const { skills } = await loadSkills(workspace);
  expect(skills.map(({ description }) => description)).toEqual(['C', 'B']);
  expect(skills[1]).toBe(first.skills[1]);
});

test('links are followed inside the workspace and nowhere else (G30)', async () => {
  await put(join(dir, 'outside'), head('O'));
  await put(join(workspace, 'real'), head('R'));
  await symlink('../../outside', join(workspace, 'skills/out'));
  await symlink('../real', join(workspace, 'skills/in'));
  await mkdir(join(workspace, 'skills/file'));
  await symlink('../../../outside/SKILL.md', join(workspace, 'skills/file/SKILL.md'));
  expect(await namesOf()).toEqual(['in']);
});

test('a workspace without skills, or that does not exist, has none', async () => {
  await rm(join(workspace, 'skills'), { recursive: true });
  expect(await loadSkills(workspace)).toEqual({ skills: [], faults: [] });
  await rm(workspace, { recursive: true });
  expect(await loadSkills(workspace)).toEqual({ skills: [], faults: [] });
});

test('a skills folder that links outside the workspace has none (G30)', async () => {
  await put(join(dir, 'elsewhere/x'), head('X'));
  await rm(join(workspace, 'skills'), { recursive: true });
  await symlink('../elsewhere', join(workspace, 'skills'));
  expect(await namesOf()).toEqual([]);
});

test('a file in another encoding is reported and is not a skill', async () => {
  await mkdir(join(workspace, 'skills/latin'));
  await writeFile(join(workspace, 'skills/latin/SKILL.md'), Buffer.from(head('Gr\xfc\xdfe'), 'latin1'));
  const { skills, faults } = await loadSkills(workspace);
  expect(skills).toEqual([]);
  expect(faults[0]?.message).toMatch(/skills\/latin\/SKILL\.md.* is not text in UTF-8 .*; convert it to UTF-8$/);
});

test('an unreadable file is reported, not thrown', async () => {
  const { skills, faults } = await loadSkills('a\0b');
  expect(skills).toEqual([]);
  expect(faults).toEqual([expect.objectContaining({ code: 'workspace_file_unreadable' })]);
});

describe('the head of a SKILL.md', () => {
  const file = { folder: 'git', location: '/w/skills/git/SKILL.md' };

  test.each([
    ['---\nname: a\ndescription: b\n---\ntext', 'a', 'b'],
    ["\ufeff---\r\nname: \"a \\u0041\"\r\ndescription: 'it''s b' \r\n---\r\n", 'a A', "it's b"],
    ['---\ndescription: b # comment\n---\n', 'git', 'b'],
    ['---\nname: a\ndescription: >-\n  one\n  two\nlicense: MIT\n---\n', 'a', 'one two'],
    ['---\ndescription: one\n  two\nmetadata:\n  description: other\n---\n', 'git', 'one two'],
    ['---\ndescription: a: b\n---\n', 'git', 'a: b'],
    ['---\nname: a\ndescription: For "x": y, or [z]\nlicense: MIT\n---\n', 'a', 'For "x": y, or [z]'],
    ['---\nallowed-tools: [a\ndescription: b\n---\n', 'git', 'b'],
    ['---\n# comment\nName: a\ndescription: "b\\x21\n  c"\n---\n', 'a', 'b! c'],
  ])('%j is %s: %s', (content, name, description) => {
    expect(readSkill(content, file)).toEqual({ name, description, location: file.location });
  });

  test.each(['', 'no head', '---\nname: a\n---\n', '---\ndescription: never closed\n', '---\ndescription: " "\n---\n'])(
    '%j is no skill',
    (content) => expect(readSkill(content, file)).toBeNull(),
  );
});
