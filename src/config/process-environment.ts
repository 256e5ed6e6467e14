// The environment of this process, for code that passes it on. It is a separate file because it is needed before anything heavy is loaded.

import { resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The defaults that the command line needs as well. */
export const DATA_DIR = './.holdfast';
export const HOST = '127.0.0.1';
export const PORT = 7420;

/** The data directory, absolute. The only setting that the command line needs before it needs a configuration. */
export function resolveDataDir(env: Environment, cwd: string): string {
  return resolve(cwd, env['HOLDFAST_DATA_DIR']?.trim() || DATA_DIR);
}

/** The environment of this process; commands of agents see it without its secrets. */
export function processEnvironment(): Environment {
  return process.env;
}

/** Adds to the environment of this process what it was given in another way, and removes the variable that said so. */
export function takeEnvironment(variables: Readonly<Record<string, string>>, mark: string): void {
  Object.assign(process.env, variables);
  delete process.env[mark];
}
