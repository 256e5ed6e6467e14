// Skills: the list in the prompt.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { skillsPrompt, type Skill } from '../../../src/prompt/skills.ts';

const skill = (name: string, description = 'd'): Skill => ({
  name,
  description,
  location: `/w/skills/${name}/SKILL.md`,
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
          const skills = heads.map((head, at) => ({ ...head, location: `/w/skills/f${at}/SKILL.md` }));
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
