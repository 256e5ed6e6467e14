// Skills: the head of a SKILL.md, and the list in the prompt.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readSkill, skillsPrompt, type Skill } from '../../../src/core/prompt/skills.ts';

const file = { folder: 'git', location: '/w/skills/git/SKILL.md' };
const skill = (name: string, description = 'd'): Skill => ({
  name,
  description,
  location: `/w/skills/${name}/SKILL.md`,
});

describe('readSkill', () => {
  test.each([
    ['---\nname: a\ndescription: b\n---\ntext', 'a', 'b'],
    ["\ufeff---\r\nname: \"a \\u0041\"\r\ndescription: 'it''s b' \r\n---\r\n", 'a A', "it's b"],
    ['---\ndescription: b # comment\n---\n', 'git', 'b'],
    ['---\nname: a\ndescription: >-\n  one\n  two\nlicense: MIT\n---\n', 'a', 'one two'],
    ['---\ndescription: one\n  two\nmetadata:\n  description: other\n---\n', 'git', 'one two'],
    ['---\ndescription: a: b\n---\n', 'git', 'a: b'],
  ])('%j is %s: %s', (content, name, description) => {
    expect(readSkill(content, file)).toEqual({ name, description, location: file.location });
  });

  test.each(['', 'no head', '---\nname: a\n---\n', '---\ndescription: never closed\n', '---\ndescription: " "\n---\n'])(
    '%j is no skill',
    (content) => expect(readSkill(content, file)).toBeNull(),
  );
});

describe('skillsPrompt', () => {
  test('lists names, descriptions and places in the order of the names', () => {
    expect(skillsPrompt([skill('b'), skill('a', 'x < y & "z"')])).toBe(
      [
        '<available_skills>',
        '  <skill>',
        '    <name>a</name>',
        '    <description>x &lt; y &amp; &quot;z&quot;</description>',
        '    <location>/w/skills/a/SKILL.md</location>',
        '  </skill>',
        '  <skill>',
        '    <name>b</name>',
        '    <description>d</description>',
        '    <location>/w/skills/b/SKILL.md</location>',
        '  </skill>',
        '</available_skills>',
      ].join('\n'),
    );
  });

  test('is empty without skills, and names a skill once', () => {
    expect(skillsPrompt([])).toBe('');
    const list = skillsPrompt([
      { ...skill('a'), location: '/w/2' },
      { ...skill('a'), location: '/w/1' },
    ]);
    expect(list.match(/<location>.*<\/location>/g)).toEqual(['<location>/w/1</location>']);
  });

  test('is bounded for any input', () => {
    const many = Array.from({ length: 400 }, (_, at) => skill(`s${at}`, 'd'.repeat(1000)));
    expect(skillsPrompt(many).length).toBeLessThanOrEqual(31_000);
    expect(skillsPrompt(many.map(({ name }) => skill(name))).match(/<skill>/g)).toHaveLength(150);
  });

  test('holds no text that leaves its element, and depends on no order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: fc.string({ minLength: 1 }), description: fc.string() }), { maxLength: 5 }),
        (heads) => {
          const skills = heads.flatMap(({ name, description }, at) => {
            const head = `---\nname: ${JSON.stringify(name)}\ndescription: ${JSON.stringify(description)}\n---\n`;
            return readSkill(head, { folder: `f${at}`, location: `/w/skills/f${at}/SKILL.md` }) ?? [];
          });
          const list = skillsPrompt(skills);
          expect(skillsPrompt(skills.toReversed())).toBe(list);
          const tags = list.match(/<[^>]*>/g) ?? [];
          expect(tags.every((tag) => /^<\/?(?:available_skills|skill|name|description|location)>$/.test(tag))).toBe(
            true,
          );
        },
      ),
      { numRuns: 100 },
    );
  });
});
