// Refuses a model that no provider serves where it is set, before anything is stored.
import { modelFault, type Config } from '../config.ts';
import type { SessionKey } from '../core/ids.ts';
import { agentIdOf } from '../core/session-key.ts';
import { Problem } from './problem.ts';

/** Throws `invalid_body` for a model that the agent of a session cannot be asked to use; absent and null pass. */
export function checkModel(config: Config, sessionKey: SessionKey, model: string | null | undefined): void {
  if (model === undefined || model === null) return;
  const fault = modelFault(config, agentIdOf(sessionKey), model);
  if (fault === null) return;
  throw modelProblem(fault);
}

/** The refusal of a model that no provider serves. */
export function modelProblem(fault: string): Problem {
  const message = `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;
  return new Problem('invalid_body', `model: ${message}`, { errors: [{ path: 'model', message }] });
}
