// What the agent knows about Holdfast itself: its commands, its configuration, its models, its documentation.
import { literal } from '../literal.ts';
import { FULL_AND_MINIMAL, FULL_ONLY } from '../prompt-mode.ts';
import type { Section } from '../system-input.ts';
import { hasTool } from './conduct.ts';

export const cliReference: Section = {
  name: 'cli-reference',
  modes: FULL_AND_MINIMAL,
  origin: 'holdfast',
  lines: (input) =>
    hasTool(input, 'gateway')
      ? [
          '## Holdfast CLI Quick Reference',
          'Holdfast is run by subcommands; use only those that exist.',
          '- holdfast start',
          '- holdfast doctor',
          '- holdfast sessions',
          '- holdfast turns',
          '- holdfast config',
          'When you are not sure, ask the user to run `holdfast --help` and to show you what it prints.',
        ]
      : [],
};

export const selfUpdate: Section = {
  name: 'self-update',
  modes: FULL_ONLY,
  origin: 'holdfast',
  lines: (input) =>
    hasTool(input, 'gateway')
      ? [
          '## Holdfast Self-Update',
          'Update Holdfast only when the user asks for it in so many words.',
          'Do not run config.apply or update.run unless a change or an update was asked for; when in doubt, ask first.',
          'Read config.schema before you change the configuration or answer about its fields; do not guess names or types.',
          'Actions: config.get, config.schema, config.apply (check, write and restart), update.run (update and restart).',
        ]
      : [],
};

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
  lines: ({ docsPath }) =>
    docsPath === undefined
      ? []
      : [
          '## Documentation',
          `Holdfast docs: ${literal(docsPath)}`,
          'For questions about Holdfast, its commands, configuration or design, read these first.',
          'To find out what is wrong, run `holdfast doctor` yourself where you can; ask the user only when you have no access.',
        ],
};
