// The agent's facts about Holdfast itself: its models and its documentation.
import { literal } from '../literal.ts';
import { FULL_ONLY } from '../prompt-mode.ts';
import type { Section } from '../system-input.ts';
import { hasTool } from './conduct.ts';

export const modelAliases: Section = {
  name: 'model-aliases',
  modes: FULL_ONLY,
  origin: 'configuration',
  lines: ({ modelAliases: aliases = {} }) => {
    const names = Object.keys(aliases).toSorted();
    if (names.length === 0) return [];
    return [
      '## Model Aliases',
      'Name a model by its alias where it has one; provider/model works as well.',
      ...names.map((name) => `- ${literal(name)}: ${literal(aliases[name] ?? '')}`),
    ];
  },
};

export const docs: Section = {
  name: 'documentation',
  modes: FULL_ONLY,
  origin: 'configuration',
  lines: (input) =>
    // They are read by a tool.
    input.docs === undefined || input.docs.files.length === 0 || !hasTool(input, 'read')
      ? []
      : [
          '## Documentation',
          `Holdfast docs: ${literal(input.docs.path)}`,
          `Files, to be read with \`read\` by their whole path: ${input.docs.files.map(literal).join(', ')}`,
          'For questions about Holdfast, its configuration or design, read these first.',
          'To find out what is wrong with Holdfast itself, ask the user to run `holdfast doctor` and to show you what it prints.',
        ],
};
