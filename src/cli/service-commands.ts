// Commands that run or inspect Holdfast on this machine.
import type { Command } from 'commander';
import { wholeNumber, type RunCommand } from './options.ts';

/** Adds start, migrate, demo, doctor, config, version and scripted-model. */
export function addServiceCommands(program: Command, run: RunCommand): void {
  program
    .command('start')
    .helpGroup('Run:')
    .description('run the service until SIGTERM, SIGHUP or Ctrl-C, which drain it')
    .option('--roles <roles>', 'which parts: api, worker, scheduler', 'api,worker,scheduler')
    .option('--no-migrate', 'do not bring the database to the newest layout first')
    .action((options: { roles: string; migrate: boolean }, command: Command) =>
      run(command, async (terminal) => (await import('./commands/start.ts')).runStart(options, terminal)),
    );
  program
    .command('migrate')
    .helpGroup('Run:')
    .description('bring the database to the newest layout')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/migrate.ts')).runMigrate(terminal)),
    );
  program
    .command('demo')
    .helpGroup('Run:')
    .description('watch it work: messages, tools, a killed worker and one that takes over, in under a minute')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/demo.ts')).runDemo(terminal)),
    );
  program
    .command('scripted-model')
    .helpGroup('Run:')
    .description('run the scripted model server by itself')
    .option('--port <port>', 'where to listen; 0: any free port', wholeNumber(0, 65_535), 0)
    .option('--host <host>', 'on which address', '127.0.0.1')
    .action((options: { port: number; host: string }, command: Command) =>
      run(command, async (terminal) =>
        (await import('./commands/scripted-model.ts')).runScriptedModel(options, terminal),
      ),
    );
  program
    .command('doctor')
    .helpGroup('Inspect:')
    .description('check everything that Holdfast needs; exit 1 when something is wrong')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/doctor.ts')).runDoctor(terminal)),
    );
  addConfigCommands(program, run);
  program
    .command('version')
    .helpGroup('Inspect:')
    .description('versions of Holdfast, Node and this machine')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/version.ts')).runVersion(terminal)),
    );
}

function addConfigCommands(program: Command, run: RunCommand): void {
  const config = program.command('config').helpGroup('Inspect:').description('the configuration of this machine');
  config
    .command('show')
    .description('every setting in use; secrets are not shown')
    .option('--sources', 'where each comes from')
    .action((options: { sources?: boolean }, command: Command) =>
      run(command, async (terminal) => (await import('./commands/config.ts')).runConfigShow(options, terminal)),
    );
  config
    .command('validate')
    .description('list every fault; exit 3 when there is one')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/config.ts')).runConfigValidate(terminal)),
    );
}
