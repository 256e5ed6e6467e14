// The command line as its users call it, against a real API with a database of its own.
import { ADMIN_KEY, type ApiRigOptions } from '../api/api-rig.ts';
import { useApiRig } from '../api/use-api-rig.ts';
import { runCli, type CliOptions } from './run-cli.ts';

/** `run` calls it with the first key of the API; `runWith` also with other options. */
export function useCliRig(options: ApiRigOptions = {}) {
  const holder = useApiRig(options);
  const runWith = async (args: readonly string[], { env, ...more }: CliOptions = {}) =>
    runCli(args, { ...more, env: { HOLDFAST_URL: await holder.rig.listen(), HOLDFAST_API_KEY: ADMIN_KEY, ...env } });
  return { holder, runWith, run: (...args: string[]) => runWith(args) };
}
