// `keys create`, `list` and `revoke`, and `open`.
import { Option, type Command } from 'commander';
import { KEY_ROLES } from '../core/access/key-role.ts';
import type { RunCommand } from './options.ts';

export interface NewKeyOptions {
  role: string;
  expires?: string;
}

export interface OpenOptions {
  print?: boolean;
}

/** Adds `keys` and `open`. */
export function addKeyCommands(program: Command, run: RunCommand): void {
  const load = () => import('./commands/keys.ts');
  program
    .command('open')
    .helpGroup('Look:')
    .description('open the dashboard in the browser, signed in; without a browser, print the address')
    .argument('[path]', 'a path of the dashboard such as /turns', '/')
    .option('--print', 'print the address, which signs one browser in within a minute, and do not open it')
    .action((path: string, options: OpenOptions, command: Command) =>
      run(command, async (terminal, flags) =>
        (await import('./commands/open.ts')).runOpen(path, options, flags, terminal),
      ),
    );
  const keys = program.command('keys').helpGroup('Run:').description('API keys, with roles (needs an admin key)');
  keys
    .command('create')
    .description('create an API key and print it; it is not shown again')
    .argument('<name>', 'whose key it is; unique')
    .addOption(
      new Option('--role <role>', 'viewer reads, operator also changes what runs, admin also manages keys')
        .choices(KEY_ROLES)
        .default('viewer'),
    )
    .option('--expires <time>', 'when the key expires: a duration such as 30d, or a time; by default never')
    .action((name: string, options: NewKeyOptions, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runKeysCreate(name, options, flags, terminal)),
    );
  keys
    .command('list')
    .description('list API keys, including revoked ones')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runKeysList(flags, terminal)),
    );
  keys
    .command('revoke')
    .description('revoke a key, and sign out the browsers that use it')
    .argument('<key>', 'its name or id')
    .action((named: string, _options: object, command: Command) =>
      run(command, async (terminal, flags) => (await load()).runKeysRevoke(named, flags, terminal)),
    );
}
