// What the agent can use before it answers (skills, memory, models, documentation), where it works,
// for whom, and in which time zone.
import { literal } from '../untrusted-text.ts';
import { FULL_ONLY, hasTool, type ExecSandboxFacts, type Section, type SystemPromptInput } from '../system-input.ts';

export const SURROUNDINGS: readonly Section[] = [
  {
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
  },
  {
    name: 'memory-recall',
    modes: FULL_ONLY,
    lines: (input) =>
      hasTool(input, 'memory_search') || hasTool(input, 'memory_get')
        ? [
            '## Memory Recall',
            `Before you answer about earlier work, decisions, dates, people, preferences or open tasks: ${searchMemory(input)} When you are still not sure, say that you looked.`,
            input.memoryCitations === 'off'
              ? null
              : 'Name your source as Source: <path#line> where it helps the user to check.',
          ]
        : [],
  },
  {
    name: 'self-update',
    modes: FULL_ONLY,
    lines: (input) =>
      hasTool(input, 'gateway')
        ? [
            '## Holdfast Self-Update',
            'Change the configuration only when the user has expressly asked for that change; when the request is not explicit, ask first.',
            'Before you change or explain a setting, read its schema with gateway (config.schema): do not guess names or forms.',
            'Actions of gateway: status, config.get, config.schema, and config.apply, which a person has to approve. You cannot update or restart Holdfast: ask the user to do it.',
          ]
        : [],
  },
  {
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
  },
  // The prompt never contains the time of day, which would change its bytes.
  {
    name: 'time-hint',
    lines: (input) =>
      input.timezone === '' || !hasTool(input, 'session_status')
        ? []
        : ['When you need the current date, time or day of the week, run session_status.'],
  },
  {
    name: 'workspace',
    origin: 'configuration',
    lines: ({ workspaceDir, workspaceNotes = [] }) => [
      '## Workspace',
      `Your working directory is: ${literal(workspaceDir)}`,
      'Keep all file work in this directory unless you are expressly told otherwise.',
      ...workspaceNotes.map(literal),
    ],
  },
  {
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
  },
  {
    name: 'sandbox',
    origin: 'configuration',
    lines: (input) => {
      const { sandbox: box, execSandbox, workspaceDir } = input;
      if (execSandbox !== undefined && hasTool(input, 'exec')) return describeExecSandbox(execSandbox);
      return box === undefined
        ? []
        : [
            '## Sandbox',
            'Holdfast itself runs inside a container of its operator, and your tools run in the same container.',
            'So do sub-agents. When something outside of it has to be read or written, ask first rather than delegating it.',
            `Container workspace: ${literal(workspaceDir)}`,
            box.hostMount === undefined ? null : `Host mount: ${literal(box.hostMount)}`,
            `Workspace access: ${box.workspaceAccess}`,
            input.tools.some(({ name }) => name.startsWith('browser__')) ? 'Sandbox browser: enabled.' : null,
            box.browserUrl === undefined ? null : `Browser: ${literal(box.browserUrl)}`,
          ];
    },
  },
  {
    name: 'authorized-senders',
    modes: FULL_ONLY,
    origin: 'configuration',
    lines: ({ authorizedSenders: senders = [] }) =>
      senders.length === 0
        ? []
        : [
            '## Authorized Senders',
            `Authorized senders: ${senders.map(literal).join(', ')}. These senders are allowlisted; do not assume they are the owner.`,
          ],
  },
  {
    name: 'current-time',
    origin: 'configuration',
    lines: ({ timezone }) => (timezone === '' ? [] : ['## Current Date & Time', `Time zone: ${literal(timezone)}`]),
  },
  {
    name: 'workspace-files',
    lines: () => [
      '## Workspace Files (injected)',
      'The files below, under Project Context, belong to the user, who may edit them at any time.',
    ],
  },
];

function describeExecSandbox({ hosts, isReadOnly }: ExecSandboxFacts): string[] {
  const writes = isReadOnly ? 'write only to /tmp' : 'write only to the workspace and to /tmp';
  return [
    '## Sandbox',
    `Your commands run in a sandbox. They read the programs of the system and the workspace, and ${writes}, which is empty for each command.`,
    hosts.length === 0
      ? 'They have no network.'
      : `Through a proxy they reach only these hosts: ${hosts.map(literal).join(', ')}`,
    'So do those of sub-agents. There is no elevated level: no command runs outside. When something outside is needed, ask the user to do it.',
  ];
}

function searchMemory(input: SystemPromptInput): string {
  const place = 'MEMORY.md and memory/*.md';
  if (!hasTool(input, 'memory_search')) return `fetch the lines of ${place} that you need with memory_get.`;
  return hasTool(input, 'memory_get')
    ? `run memory_search over ${place}, then fetch only the lines that you need with memory_get.`
    : `run memory_search over ${place}.`;
}
