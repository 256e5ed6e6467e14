// Reads the environment variables: text to checked values, every fault listed. An empty variable is an unset one.
import { resolve } from 'node:path';
import type { z } from 'zod';
import { checked } from './check-input.ts';
import type { ConfigIssue } from './config-error.ts';
import type { Environment } from './process-environment.ts';
import { readSecretFiles } from './read-secret-files.ts';
import { environmentSchema, variablesOf } from './schema-environment.ts';

/** The variables of OpenTelemetry that decide whether there are traces. */
const TRACE_SETTINGS = /^trace/;

/** Checks the environment. The log format is left out when no variable says it, and `concurrency` has only the lanes that were named. */
export function loadEnvironment(
  given: Environment,
  cwd: string,
): z.output<typeof environmentSchema> & { issues: ConfigIssue[] } {
  const { env, issues } = readSecretFiles(given, cwd);
  const isTraced =
    textOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() !== 'true' && textOf(env, 'OTEL_TRACES_EXPORTER') !== 'none';
  const variables: Record<string, string> = {};
  const texts: Record<string, string> = {};
  for (const [setting, schema] of Object.entries(environmentSchema.shape)) {
    if (TRACE_SETTINGS.test(setting) && !isTraced) continue;
    const name = variablesOf(schema).find((each) => textOf(env, each) !== undefined);
    if (name === undefined) continue;
    variables[setting] = name;
    texts[setting] = textOf(env, name) ?? '';
  }
  const { output, issues: faults } = checked(environmentSchema, texts, (setting) => variables[setting] ?? setting);
  return { ...output, dataDir: resolve(cwd, output.dataDir), issues: [...issues, ...faults] };
}

function textOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined;
}
