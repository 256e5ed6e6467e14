// The port in front of the shell: what makes a sandbox, and what it makes of a command line.
import type { OsUser } from '../../config/places.ts';
import type { CommandLine, SandboxPolicy } from './rules/policy.ts';

/** A command line with all that decides how it runs. */
export interface PlainCommand extends CommandLine {
  /** The environment of the service: a sandbox keeps what programs need of it. */
  environment: Record<string, string>;
  /**
   * Variables that are meant for the command, such as those that a server of tools is configured
   * with; absent: none.
   */
  own?: Readonly<Record<string, string>>;
  /** Null: the user of this process. */
  user: OsUser | null;
}

/** The command as it runs inside. */
export interface WrappedCommand {
  argv: readonly string[];
  environment: Record<string, string>;
  /**
   * True: the command line runs as the user of this process, and sees to it that the command does
   * not. Absent: as the user of the command.
   */
  isOfService?: boolean;
}

export type WrapCommand = (command: PlainCommand) => WrappedCommand;

export interface SandboxRuntime {
  /** What `sandbox.runtime` names it by. */
  name: string;
  /**
   * The command line that runs a command under a policy, in the foreground: its output, its exit
   * code and its end are those of the command. Starts nothing itself.
   */
  wrap(policy: SandboxPolicy, command: PlainCommand): WrappedCommand;
}
