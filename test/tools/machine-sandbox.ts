// Whether this machine has a sandbox, as the canary of the product says. Tests of one are skipped
// elsewhere, with the reason in their titles.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { openSandboxRig } from './sandbox-rig.ts';

/** The command lines of all processes of the machine, also of those in sandboxes. */
export function readCommandLines(): string[] {
  return readdirSync('/proc').flatMap((name) => {
    try {
      return /^\d+$/.test(name) ? [readFileSync(`/proc/${name}/cmdline`, 'utf8')] : [];
    } catch {
      return [];
    }
  });
}

/**
 * An image with bash, curl, grep, perl, socat and the programs of util-linux, for an engine that is
 * on the PATH.
 */
const image = process.env['HOLDFAST_TEST_CONTAINER'];

/**
 * The runtimes of the tests, with their settings, and why this machine does not have them, or not
 * with a network; null: it does.
 */
export const RUNTIMES = await Promise.all(
  [
    { name: 'bubblewrap', settings: {} },
    ...(image === undefined ? [] : [{ name: 'container', settings: { runtime: 'container', image } }]),
  ].map(async (runtime) => ({ ...runtime, ...(await findFaults(runtime.settings)) })),
);

/** What bubblewrap lacks on this machine. */
export const { fault: NO_SANDBOX = null, networkFault: NO_NETWORK = null } = RUNTIMES[0] ?? {};

// The report counts skipped tests and does not name them.
for (const { name, fault, networkFault } of RUNTIMES)
  if (networkFault !== null)
    process.stderr.write(
      `Skipped: the tests of ${fault === null ? 'the network of ' : ''}the sandbox of ${name}, because ${networkFault}\n`,
    );

/**
 * As the canary of a sandbox with a network finds it: what the product would do with these
 * settings.
 */
async function findFaults(settings: object) {
  const rig = await openSandboxRig({ sandbox: { ...settings, network: ['*'] } });
  const { status, reason } = await rig.sandbox.check();
  await rig.close();
  const isInside = status === 'on' || status === 'reduced';
  return { fault: isInside ? null : reason, networkFault: status === 'on' ? null : reason };
}

/** Tests that need what a machine may lack. They are skipped with the reason in their titles. */
export const describeUnless = (fault: string | null, title: string, body: () => void) =>
  describe.skipIf(fault !== null)(withReason(title, fault), body);

export const testUnless = (fault: string | null, title: string, body: () => Promise<void>) =>
  test.skipIf(fault !== null)(withReason(title, fault), body);

function withReason(title: string, fault: string | null): string {
  return fault === null ? title : `${title} [skipped: ${fault}]`;
}
