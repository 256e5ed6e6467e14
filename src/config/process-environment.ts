// The environment of this process, for code that passes it on. It is a separate file because it is needed before anything heavy is loaded.

/** The environment of this process; commands of agents see it without its secrets. */
export function processEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}

/** Adds to the environment of this process what it was given in another way, and removes the variable that said so. */
export function takeEnvironment(variables: Readonly<Record<string, string>>, mark: string): void {
  Object.assign(process.env, variables);
  delete process.env[mark];
}
