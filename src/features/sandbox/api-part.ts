// A note of the readiness: it works, but commands run outside a sandbox, or not at all.
import type { CreateApiPart } from '../../api/part.ts';
import { readSandboxes } from './views.ts';

export const createApiPart: CreateApiPart = ({ config, reads }) => ({
  async readNotes() {
    if (!config.tools.exec.enabled || config.tools.exec.sandbox === 'off') return [];
    const off = (await readSandboxes(reads)).filter(({ status }) => status === 'off' || status === 'refused');
    if (off.length === 0) return [];
    // Everyone may read it: the reason, which may name paths, is in GET /v1/sandbox.
    const what =
      config.tools.exec.sandbox === 'required'
        ? 'run no commands, because the sandbox does not work'
        : 'run commands outside a sandbox';
    return [`${off.length} processes ${what}; GET /v1/sandbox says why`];
  },
});
