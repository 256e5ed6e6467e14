// The sources that the agent can search before it answers: skills and memory.
import { FULL_ONLY } from '../prompt-mode.ts';
import type { Section, SystemPromptInput } from '../system-input.ts';
import { hasTool } from './conduct.ts';

export const skills: Section = {
  name: 'skills',
  modes: FULL_ONLY,
  origin: 'workspace',
  lines: (input) =>
    // They are read by a tool.
    (input.skillsPrompt ?? '').trim() === '' || !hasTool(input, 'read')
      ? []
      : [
          '## Skills (mandatory)',
          'Before you reply, go through the <description> entries of <available_skills>.',
          '- Exactly one clearly fits: read its SKILL.md at <location> with `read`, then follow it.',
          '- Several could fit: take the most specific one, read it, follow it.',
          '- None clearly fits: read none.',
          'Choose first, then read; never read more than one in advance.',
          (input.skillsPrompt ?? '').trim(),
        ],
};

export const memoryRecall: Section = {
  name: 'memory-recall',
  modes: FULL_ONLY,
  origin: 'holdfast',
  lines: (input) =>
    hasTool(input, 'memory_search') || hasTool(input, 'memory_get')
      ? [
          '## Memory Recall',
          `Before you answer about earlier work, decisions, dates, people, preferences or open tasks: ${lookUp(input)} When you are still not sure, say that you looked.`,
          input.memoryCitations === 'off'
            ? null
            : 'Name your source as Source: <path#line> where it helps the user to check.',
        ]
      : [],
};

function lookUp(input: SystemPromptInput): string {
  const place = 'MEMORY.md and memory/*.md';
  if (!hasTool(input, 'memory_search')) return `fetch the lines of ${place} that you need with memory_get.`;
  return hasTool(input, 'memory_get')
    ? `run memory_search over ${place}, then fetch only the lines that you need with memory_get.`
    : `run memory_search over ${place}.`;
}
