// `holdfast open`: the dashboard in the browser of this machine, signed in. The address has a code for one sign-in after its #, which
// browsers send to no server; the key itself is in no address.
import { spawn } from 'node:child_process';
import { connectApi, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import type { OpenOptions } from '../key-commands.ts';
import type { Terminal } from '../terminal.ts';

/** Opens a path of the dashboard. */
export async function runOpen(
  path: string,
  { print = false }: OpenOptions,
  flags: ClientFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  if (!path.startsWith('/') || path.startsWith('//')) {
    throw new CliError({
      code: 'bad_path',
      exitCode: EXIT.usage,
      message: `${JSON.stringify(path)} is not a path of the dashboard`,
      fix: 'pass a path that begins with one slash, such as /turns',
    });
  }
  const api = connectApi(flags);
  const body = await api.createSignInCode();
  const url = new URL(path, api.settings.url);
  url.hash = `code=${body.code}`;
  if (terminal.isJson) terminal.json({ url: url.href, expiresAt: body.expiresAt });
  else if (print || !(await openBrowser(url.href))) {
    terminal.print(url.href);
    terminal.note('open it within a minute; it signs one browser in');
  } else {
    terminal.note(`opening ${new URL(path, api.settings.url).href}; if no browser appears: holdfast open --print`);
  }
  return EXIT.ok;
}

/** Passes the address to the program that opens addresses on this system; false: there is none. */
function openBrowser(url: string): Promise<boolean> {
  const [command, ...args] = openerOf(process.platform);
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}
