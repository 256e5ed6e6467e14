// Where the agent works, for whom, and in which time zone.
import { literal } from '../literal.ts';
import { FULL_AND_MINIMAL, FULL_ONLY } from '../prompt-mode.ts';
import type { Section } from '../system-input.ts';
import { hasTool } from './conduct.ts';

// The prompt never contains the time of day, which would change its bytes.
export const timeHint: Section = {
  name: 'time-hint',
  modes: FULL_AND_MINIMAL,
  origin: 'holdfast',
  lines: (input) =>
    input.timezone === '' || !hasTool(input, 'session_status')
      ? []
      : ['When you need the current date, time or day of the week, run session_status.'],
};

export const workspace: Section = {
  name: 'workspace',
  modes: FULL_AND_MINIMAL,
  origin: 'configuration',
  lines: ({ workspaceDir, workspaceNotes = [] }) => [
    '## Workspace',
    `Your working directory is: ${literal(workspaceDir)}`,
    'Keep all file work in this directory unless you are expressly told otherwise.',
    ...workspaceNotes.map(literal),
  ],
};

export const sandbox: Section = {
  name: 'sandbox',
  modes: FULL_AND_MINIMAL,
  origin: 'configuration',
  lines: ({ sandbox: box, workspaceDir }) =>
    box === undefined
      ? []
      : [
          '## Sandbox',
          'Holdfast itself runs inside a container of its operator, and your tools run in the same container.',
          'So do sub-agents. When something outside of it has to be read or written, ask first rather than delegating it.',
          `Container workspace: ${literal(workspaceDir)}`,
          box.hostMount === undefined ? null : `Host mount: ${literal(box.hostMount)}`,
          `Workspace access: ${box.workspaceAccess}`,
          box.browserUrl === undefined ? null : `Browser: ${literal(box.browserUrl)}`,
        ],
};

export const authorizedSenders: Section = {
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
};

export const currentTime: Section = {
  name: 'current-time',
  modes: FULL_AND_MINIMAL,
  origin: 'configuration',
  lines: ({ timezone }) => (timezone === '' ? [] : ['## Current Date & Time', `Time zone: ${literal(timezone)}`]),
};

export const workspaceFiles: Section = {
  name: 'workspace-files',
  modes: FULL_AND_MINIMAL,
  origin: 'holdfast',
  lines: () => [
    '## Workspace Files (injected)',
    'The files below, under Project Context, belong to the user, who may edit them at any time.',
  ],
};
