// What a person can do about a sandbox that does not work, or that lacks something.

/** Reasons for which something has to be installed. A canary prints some of them. */
export const NO_BUBBLEWRAP = 'bwrap is not on the PATH';
export const NO_SOCAT = 'socat is not on the PATH';
export const NO_SOCAT_IN_IMAGE = 'the image has no socat';

/** The reason may have others beside it. */
export function sandboxStep(reason: string): string {
  if (reason.includes(NO_BUBBLEWRAP)) return installStep('bubblewrap socat');
  if (reason.includes(NO_SOCAT)) return installStep('socat');
  if (reason.includes(NO_SOCAT_IN_IMAGE)) return 'Install socat in the image of `sandbox.image`.';
  return 'See "How to get it" in docs/sandbox.md.';
}

function installStep(packages: string): string {
  return `On the machine of the worker, run "apt-get install ${packages}" (or "dnf install", "apk add"), then restart the worker.`;
}
