// Command lines with a wrong name, a value that is not allowed, or a list that is empty for good
// reason: how each ends, by the exit codes of docs/cli.md.

const ID = '019a0000-0000-7000-8000-000000000001';

export interface WrongName {
  line: string;
  exitCode: 0 | 2 | 5;
  says: RegExp;
}

const ended = (exitCode: WrongName['exitCode'], lines: Readonly<Record<string, RegExp>>): WrongName[] =>
  Object.entries(lines).map(([line, says]) => ({ line, exitCode, says }));

export const WRONG_NAMES: readonly WrongName[] = [
  ...ended(5, {
    'sessions show nowhere': /no session agent:main:nowhere.*\n.*"holdfast sessions list"/,
    'sessions delete nowhere --yes': /nothing of a session nowhere.*\n.*"holdfast sessions list"/,
    'messages list --session nowhere': /no session agent:main:nowhere/,
    'turns list --session nowhere': /no session agent:main:nowhere/,
    'deliveries list --session nowhere': /no session agent:main:nowhere/,
    'subagents list nowhere': /no session agent:main:nowhere/,
    'cron list --agent nobody': /no agent nobody.*\n.*"holdfast config show"/,
    'cron run nothing': /no cron is named "nothing"/,
    [`messages show ${ID}`]: /"holdfast messages list"/,
    [`turns retry ${ID}`]: /"holdfast turns list"/,
    'turns show abcdef': /no turn among the/,
    [`deliveries redrive ${ID}`]: /"holdfast deliveries list"/,
    'dead show no_such_code': /no open dead letter no_such_code.*\n.*"holdfast dead list"/,
    'dead redrive no_such_code --yes': /no open dead letter no_such_code/,
    'dead discard no_such_code --yes': /no open dead letter no_such_code/,
    [`dead redrive ${ID}`]: /no open dead letter/,
    [`subagents kill ${ID}`]: /"holdfast subagents list <session>"/,
    [`workers drain ${ID}`]: /"holdfast workers list"/,
    'batch show nothing': /"holdfast batch list"/,
    [`bulk show ${ID}`]: /"holdfast bulk list"/,
    [`approvals show ${ID}`]: /"holdfast approvals list"/,
    'keys revoke nobody': /"holdfast keys list"/,
    'alerts test nothing': /"holdfast alerts list"/,
    'mcp tools nothing': /no MCP server nothing.*\n.*"holdfast mcp list"/,
    'channels test nothing': /"holdfast channels list"/,
    'pairing approve nothing': /no request has the code NOTHING/,
    'models probe nowhere': /No provider "nowhere" is configured/,
    'models show nowhere/x': /nothing is known of the model "nowhere\/x"/,
    'logs --turn abcdef': /no line of the log files is about the turn abcdef/,
    'pause --agent nobody': /no agent nobody/,
    'why nowhere': /no session agent:main:nowhere/,
  }),
  ...ended(0, {
    'dead list --code turn_timeout': /none/,
    'dead redrive turn_timeout --yes': /0 redriven/,
    'deliveries list --status expired': /none/,
    'approvals list': /no approvals/,
    'search xyzzy': /Nothing that was said/,
  }),
  ...ended(2, {
    'turns list --status faild': /status: is "faild"; allowed: .*\(did you mean "failed"\?\)/,
    'waiting --lane mian': /It must be one of .*\(did you mean "main"\?\)/,
    'completion bsh': /did you mean "bash"\?/,
    'dead list --state opne': /did you mean "open"\?/,
  }),
];
