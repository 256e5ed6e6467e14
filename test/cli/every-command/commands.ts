// The table of all commands. A command without a row needs a reason here.
import type { Command } from 'commander';
import { buildProgram } from '../../../src/cli/program.ts';
import { FEATURES } from '../../../src/features.ts';
import { ALERT_ROWS } from './alert-rows.ts';
import { CHANGE_ROWS } from './change-rows.ts';
import type { CommandRow } from './command-row.ts';
import { EVALUATION_ROWS } from './evaluation-rows.ts';
import { LOCAL_ROWS } from './local-rows.ts';
import { LOOK_ROWS } from './look-rows.ts';
import { TALK_ROWS } from './talk-rows.ts';

/** The commands with an output that each situation shows. */
export const ROWS: readonly CommandRow[] = [
  ...LOOK_ROWS,
  ...TALK_ROWS,
  ...CHANGE_ROWS,
  ...ALERT_ROWS,
  ...EVALUATION_ROWS,
  ...LOCAL_ROWS,
];

/** Commands without a row: the reason, and the file that tests them. */
export const OTHER_COMMANDS: Readonly<Record<string, { why: string; testedIn: string }>> = {
  start: { why: 'is the service', testedIn: 'test/cli/start.test.ts' },
  'scripted-model': { why: 'is a server', testedIn: 'test/cli/readme-examples.test.ts' },
  'scripted-platform telegram': { why: 'is a server', testedIn: 'test/cli/readme-examples.test.ts' },
  'scripted-platform slack': { why: 'is a server', testedIn: 'test/cli/readme-examples.test.ts' },
  'scripted-platform signal': { why: 'is a server', testedIn: 'test/cli/readme-examples.test.ts' },
  'scripted-platform discord': { why: 'is a server', testedIn: 'test/cli/readme-examples.test.ts' },
  demo: { why: 'starts services of its own', testedIn: 'test/cli/demo.test.ts' },
  backup: { why: 'needs an embedded database', testedIn: 'test/features/backup/commands.test.ts' },
  restore: { why: 'replaces an embedded database', testedIn: 'test/features/backup/commands.test.ts' },
  'channels list': { why: 'needs a bot', testedIn: 'test/features/channels/accounts.test.ts' },
  'channels add': { why: 'needs a bot', testedIn: 'test/features/channels/add-channel.test.ts' },
  'channels test': { why: 'needs a bot', testedIn: 'test/features/channels/accounts.test.ts' },
  'channels pause': { why: 'needs a bot', testedIn: 'test/features/channels/accounts.test.ts' },
  'channels resume': { why: 'needs a bot', testedIn: 'test/features/channels/accounts.test.ts' },
  'pairing list': { why: 'needs a person who has asked', testedIn: 'test/features/channels/pairings.test.ts' },
  'pairing approve': { why: 'needs a person who has asked', testedIn: 'test/features/channels/pairings.test.ts' },
  'pairing deny': { why: 'needs a person who has asked', testedIn: 'test/features/channels/pairings.test.ts' },
  'pairing delete': { why: 'needs a person who has asked', testedIn: 'test/features/channels/pairings.test.ts' },
  'approvals list': { why: 'needs a rule for approvals', testedIn: 'test/features/approvals/routes.test.ts' },
  'approvals show': { why: 'needs a rule for approvals', testedIn: 'test/features/approvals/routes.test.ts' },
  'approvals approve': { why: 'needs a rule for approvals', testedIn: 'test/features/approvals/routes.test.ts' },
  'approvals deny': { why: 'needs a rule for approvals', testedIn: 'test/features/approvals/routes.test.ts' },
  'approvals watch': { why: 'runs until it is interrupted', testedIn: 'test/features/approvals/routes.test.ts' },
  'mcp list': { why: 'needs an MCP server', testedIn: 'test/service/mcp.test.ts' },
  'mcp tools': { why: 'needs an MCP server', testedIn: 'test/service/mcp.test.ts' },
  'mcp login': { why: 'needs a browser', testedIn: 'test/features/mcp/mcp-login.test.ts' },
  'mcp probe': { why: 'needs an MCP server', testedIn: 'test/service/mcp.test.ts' },
  'sandbox check': { why: 'its exit code depends on the machine', testedIn: 'test/tools/sandbox.test.ts' },
  completion: { why: 'prints a script for a shell, with --json too', testedIn: 'test/cli/completion.test.ts' },
  __complete: { why: 'answers a shell, and prints no errors', testedIn: 'test/cli/completion.test.ts' },
};

/** The full name of each command of the program. */
export async function allCommands(): Promise<string[]> {
  return pathsBelow(await buildProgram(FEATURES, () => {}), []);
}

function pathsBelow(command: Command, before: readonly string[]): string[] {
  const below = command.commands.filter((each) => each.name() !== 'help');
  return below.length === 0 ? [before.join(' ')] : below.flatMap((each) => pathsBelow(each, [...before, each.name()]));
}
