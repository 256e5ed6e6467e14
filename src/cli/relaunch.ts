// Replaces this process by one that is started as a service should be. The same process id, so whatever started and watches it notices
// nothing: signals, service managers and tests mean the service itself.
//
// `--disable-sigusr1`: by default SIGUSR1 opens Node's debugger on a local port, and every local user can then run code in the service.

const NO_DEBUGGER = '--disable-sigusr1';

/**
 * Starts this command line again with the flags of a service, unless it has them. Does not return when it does. Where a process cannot
 * replace itself (Windows, a child with a channel to its parent), the listener of `bin.mjs` keeps the debugger shut.
 */
export function relaunchAsService(argv: readonly string[]): void {
  const hasFlags = process.execArgv.includes(NO_DEBUGGER);
  if (hasFlags || process.execve === undefined || process.platform === 'win32' || process.channel !== undefined) return;
  const script = process.argv[1] ?? '';
  const flags = [...process.execArgv, NO_DEBUGGER];
  process.execve(process.execPath, [process.execPath, ...flags, script, ...argv], process.env);
}
