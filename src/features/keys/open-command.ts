// `holdfast open`: the dashboard in the browser of this machine, signed in. The address has a code
// for one sign-in after its #, which browsers send to no server; the key itself is in no address.
import { spawn } from 'node:child_process';
import { usageError } from '../../cli/cli-error.ts';
import { command, type Words } from '../../cli/command.ts';

export const words: Words = {
  open: command({
    takes: {
      path: ['[path]', 'a path of the dashboard such as /turns', parsePath, '/'],
      print: ['--print', 'print the address, which signs one browser in within a minute, and do not open it'],
    },
    async run({ path, print }, api, terminal) {
      const { code, expiresAt } = await api.createSignInCode();
      const page = new URL(path, api.settings.url).href;
      const url = `${page}#code=${code}`;
      if (terminal.isJson) terminal.json({ url, expiresAt });
      else if (print === true || !(await openBrowser(url))) {
        terminal.print(url);
        terminal.note('open it within a minute; it signs one browser in');
      } else terminal.note(`opening ${page}; if no browser appears: holdfast open --print`);
    },
  }),
};

function parsePath(path: string): string {
  if (path.startsWith('/') && !path.startsWith('//')) return path;
  throw usageError(
    `${JSON.stringify(path)} is not a path of the dashboard`,
    'pass a path that begins with one slash, such as /turns',
    'bad_path',
  );
}

/** Passes the address to the program that opens addresses on this system; false: there is none. */
function openBrowser(url: string): Promise<boolean> {
  const [command, ...args] = chooseOpener(process.platform);
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}

function chooseOpener(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}
