// Secrets from files: `DATABASE_URL_FILE` names a file that holds the value of DATABASE_URL, as secrets of Docker, Kubernetes and systemd are
// mounted. What is read here counts as if the variable itself were set.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { decodeText, NOT_TEXT } from '../core/text.ts';
import type { ConfigIssue } from './config-error.ts';
import type { Environment } from './process-environment.ts';

/** The variables whose value can be in a file. */
export const FILE_VARIABLES = [
  'DATABASE_URL',
  'REDIS_URL',
  'HOLDFAST_API_KEY',
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'GEMINI_API_KEY',
  'XAI_API_KEY',
  'OPENROUTER_API_KEY',
  'BRAVE_API_KEY',
  'TAVILY_API_KEY',
  'EXA_API_KEY',
] as const;

const SECRET_BYTES_MAX = 65_536;

/**
 * A copy of the environment with the content of each file, without white space at both ends, and every fault. `names` limits the variables
 * that are read. Relative paths start in `cwd`.
 */
export function readSecretFiles(
  env: Environment,
  cwd: string,
  names: readonly string[] = FILE_VARIABLES,
): { env: Environment; issues: ConfigIssue[] } {
  const read: Record<string, string> = {};
  const issues: ConfigIssue[] = [];
  for (const name of names) {
    const variable = findFileVariable(name, env);
    const file = variable === undefined ? undefined : env[variable]?.trim();
    if (variable === undefined || file === undefined) continue;
    const path = resolve(cwd, file);
    const allowed = `the path of a file that holds the value of ${name}`;
    const content = env[name]?.trim() ? { fault: `is set together with ${name}: unset one of them` } : readText(path);
    if ('text' in content) read[name] = content.text;
    else issues.push({ path: variable, value: path, allowed, message: `${content.fault}; allowed: ${allowed}` });
  }
  return { env: { ...env, ...read }, issues };
}

/** The variable that names the file of `name` when it is set: `DATABASE_URL_FILE`. */
export function findFileVariable(name: string, env: Environment): string | undefined {
  const variable = `${name}_FILE`;
  const isOffered = FILE_VARIABLES.some((each) => each === name);
  return isOffered && env[variable]?.trim() ? variable : undefined;
}

/** The text of a file without white space at both ends, or what is wrong with the file. */
export function readText(path: string): { text: string } | { fault: string } {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) return { fault: `names ${path}, which is not a file` };
    if (stats.size > SECRET_BYTES_MAX) return { fault: `names ${path}, which has more than ${SECRET_BYTES_MAX} bytes` };
    const text = decodeText(readFileSync(path))?.trim();
    if (text === undefined) return { fault: `names ${path}, which ${NOT_TEXT}` };
    return text === '' ? { fault: `names ${path}, which is empty` } : { text };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT') return { fault: `names ${path}, which does not exist` };
    return { fault: `names ${path}, which cannot be read (${code})` };
  }
}
