// Notes of the readiness: it works, but commands run outside a sandbox, lack something in it, or do
// not run.
import type { CreateApiPart } from '../../api/part.ts';
import { readSandboxes } from './views.ts';

export const createApiPart: CreateApiPart = ({ config, reads }) => ({
  async readNotes() {
    if (!config.tools.exec.enabled || config.tools.exec.sandbox === 'off') return [];
    const processes = await readSandboxes(reads);
    // Everyone may read it: the reason, which may name paths, is in GET /v1/sandbox.
    return Object.entries(NOTES).flatMap(([noted, what]) => {
      const count = processes.filter(({ status }) => status === noted).length;
      return count === 0 ? [] : [`${count} processes ${what}; GET /v1/sandbox says why`];
    });
  },
});

const NOTES = {
  off: 'run commands outside a sandbox',
  refused: 'run no commands, because the sandbox does not work',
  unknown: 'do not know yet whether their commands run in a sandbox, and run none before',
  reduced: 'run commands in a sandbox where these lack something',
};
