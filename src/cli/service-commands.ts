// Commands that run or inspect Holdfast on this machine.
import type { BackupFlags } from './commands/backup.ts';
import type { ScriptedModelFlags } from './commands/scripted-model.ts';
import type { Command } from 'commander';
import { rate, wholeNumber, type RunCommand } from './options.ts';

/** Adds start, migrate, demo, doctor, config, version and scripted-model. */
export function addServiceCommands(program: Command, run: RunCommand): void {
  program
    .command('start')
    .helpGroup('Run:')
    .description('run the service; SIGTERM and Ctrl-C drain it, SIGHUP reads its configuration again')
    .option('--roles <roles>', 'the roles of this process: api, worker, scheduler', 'api,worker,scheduler')
    .option('--no-migrate', 'do not migrate the database first; refuse a database whose schema is too old')
    .action((options: { roles: string; migrate: boolean }, command: Command) =>
      run(command, async (terminal) => (await import('./commands/start.ts')).runStart(options, terminal)),
    );
  program
    .command('migrate')
    .helpGroup('Run:')
    .description('migrate the database to the newest schema')
    .option('--plan', 'print the migrations to apply and their locks, and change nothing')
    .action((options: { plan?: boolean }, command: Command) =>
      run(command, async (terminal) => {
        const migrate = await import('./commands/migrate.ts');
        return options.plan === true ? migrate.runMigratePlan(terminal) : migrate.runMigrate(terminal);
      }),
    );
  addBackupCommands(program, run);
  program
    .command('demo')
    .helpGroup('Run:')
    .description('show and check messages, tools, crons, subagents and a killed worker, in under a minute')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/demo.ts')).runDemo(terminal)),
    );
  program
    .command('scripted-model')
    .helpGroup('Run:')
    .description('run the scripted model server')
    .option('--port <port>', 'the port; 0: any free port', wholeNumber(0, 65_535), 0)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--batch-delay <ms>', 'duration of a message batch', wholeNumber(0, 86_400_000), 1000)
    .option('--batch-cache-hits <rate>', 'share of cached prefixes that a message batch finds, 0 to 1', rate)
    .action((options: ScriptedModelFlags, command: Command) =>
      run(command, async (terminal) =>
        (await import('./commands/scripted-model.ts')).runScriptedModel(options, terminal),
      ),
    );
  program
    .command('doctor')
    .helpGroup('Inspect:')
    .description('check everything that Holdfast needs; exit 1 if a check fails')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/doctor.ts')).runDoctor(terminal)),
    );
  addConfigCommands(program, run);
  program
    .command('version')
    .helpGroup('Inspect:')
    .description('print the versions of Holdfast, Node and the platform')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/version.ts')).runVersion(terminal)),
    );
}

function addBackupCommands(program: Command, run: RunCommand): void {
  program
    .command('backup <file>')
    .helpGroup('Run:')
    .description(
      'write the embedded database and the files of the data directory to a file; works while the service runs',
    )
    .option('--yes', 'overwrite the file')
    .action((file: string, options: BackupFlags, command: Command) =>
      run(command, async (terminal) => (await import('./commands/backup.ts')).runBackup(file, options, terminal)),
    );
  program
    .command('restore <file>')
    .helpGroup('Run:')
    .description('restore what "holdfast backup" has written; the service must not run')
    .option('--yes', 'replace the contents of the database')
    .action((file: string, options: BackupFlags, command: Command) =>
      run(command, async (terminal) => (await import('./commands/backup.ts')).runRestore(file, options, terminal)),
    );
}

function addConfigCommands(program: Command, run: RunCommand): void {
  const config = program.command('config').helpGroup('Inspect:').description('the configuration of this machine');
  config
    .command('show')
    .description('print every setting in use, without secrets')
    .option('--sources', 'print where each setting comes from')
    .action((options: { sources?: boolean }, command: Command) =>
      run(command, async (terminal) => (await import('./commands/config.ts')).runConfigShow(options, terminal)),
    );
  config
    .command('diff')
    .description('print the differences between the running configuration and the file, and which need a restart')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await import('./commands/reload.ts')).runConfigDiff(flags, terminal)),
    );
  config
    .command('reload')
    .description('reload the configuration in the API process; SIGHUP reloads it in any process')
    .action((_options: object, command: Command) =>
      run(command, async (terminal, flags) => (await import('./commands/reload.ts')).runConfigReload(flags, terminal)),
    );
  config
    .command('validate')
    .description('list all faults of the configuration; exit 3 if there are any')
    .action((_options: object, command: Command) =>
      run(command, async (terminal) => (await import('./commands/config.ts')).runConfigValidate(terminal)),
    );
}
