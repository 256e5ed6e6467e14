// The user's workspace files. All are above the cache boundary except HEARTBEAT.md, which agents
// rewrite as they work.
import { baseNameOf } from '../bootstrap.ts';
import type { FittedFile, Section, SystemPromptInput } from '../system-input.ts';

const DYNAMIC_FILE = 'heartbeat.md';
const INTRO = 'The following project context files have been loaded:';
const PERSONA =
  'If SOUL.md is present, be the character it describes, in voice and manner; no stiff stock answers, unless instructions of higher rank say otherwise.';

export const projectContext: Section = {
  name: 'project-context',
  origin: 'workspace',
  lines: (input) => {
    const files = shownFiles(input).filter((file) => !isDynamic(file));
    return files.length === 0 ? [] : ['# Project Context', ...formatFiles(files)];
  },
};

export const dynamicProjectContext: Section = {
  name: 'dynamic-project-context',
  origin: 'workspace',
  lines: (input) => {
    const shown = shownFiles(input);
    const files = shown.filter(isDynamic);
    if (files.length === 0) return [];
    return [shown.length > files.length ? '# Dynamic Project Context' : '# Project Context', ...formatFiles(files)];
  },
};

function shownFiles({ files }: SystemPromptInput): FittedFile[] {
  return files.filter(({ text }) => text !== '');
}

function isDynamic({ name }: { name: string }): boolean {
  return baseNameOf(name) === DYNAMIC_FILE;
}

function formatFiles(files: readonly FittedFile[]): (string | null)[] {
  const hasPersona = files.some(({ name }) => baseNameOf(name) === 'soul.md');
  return [INTRO, hasPersona ? PERSONA : null, ...files.flatMap(({ path, text }) => [`## ${path}`, text])];
}
