// `holdfast agents`: the agents with what they did and cost in a week, and one with all that
// belongs to it.
import { printFields } from '../../cli/print.ts';
import { moneyText, simulatedNote } from '../../core/words.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import type { Terminal } from '../../cli/terminal.ts';
import { formatDuration } from '../../core/time.ts';
import type { AgentDetails } from './contract.ts';

export const words: Words = {
  agents: {
    list: command({
      summary: 'list agents, with what they did and cost in the last 7 days',
      takes: {},
      run: lists(
        'listAgents',
        () => [
          { title: 'AGENT', value: (row) => row.id },
          {
            title: 'STATE',
            value: (row) => stateText(row),
            style: (row) => (row.paused === null ? 'green' : 'yellow'),
          },
          { title: 'MODEL', value: (row) => row.model, dropOrder: 3 },
          {
            title: 'SESSIONS',
            value: ({ sessions }) => `${sessions.count}${sessions.isCapped ? '+' : ''}`,
            dropOrder: 4,
          },
          { title: 'CRONS', value: ({ crons }) => crons?.enabled ?? '', dropOrder: 5 },
          { title: 'TURNS', value: ({ week }) => week.turns, dropOrder: 2 },
          { title: 'FAILED', value: ({ week }) => week.failedTurns, dropOrder: 1 },
          { title: 'COST', value: ({ week }) => moneyText(week.costUsd), align: 'right' },
        ],
        {
          note({ items }, terminal) {
            const weeks = items.map(({ week }) => week);
            if (weeks.some(({ simulated }) => simulated)) terminal.note(simulatedNote(weeks) ?? SIMULATED);
          },
        },
      ),
    }),
    show: command({
      summary: 'print one agent: its costs, instructions, tools, crons, budgets, chats and failures',
      takes: { agent: ['<agent>', 'the id of the agent'] },
      run: prints('getAgent', printAgent),
    }),
  },
};

const SIMULATED = 'some of it is of the scripted model: that money was not spent';

function stateText({ paused }: Pick<AgentDetails, 'paused'>): string {
  return paused === null ? 'active' : `paused by ${paused.pausedBy ?? 'another key'}`;
}

function printAgent(agent: AgentDetails, terminal: Terminal): void {
  const { week, days, fallbacks, heartbeat, channels, toolList, budgets, cronList, mcpServers, lastFailures } = agent;
  const bound = channels.bindings.map(({ match }) => Object.values(match).join('/'));
  printFields(terminal, {
    agent: agent.id,
    state: stateText(agent),
    cost: `${moneyText(week.costUsd)} in the last 7 days, in ${week.turns} turns (${week.failedTurns} failed)`,
    latency: week.turns === 0 ? null : `${formatDuration(Math.round(week.turnMs / week.turns))} per turn`,
    model: [agent.model, ...fallbacks].join(', then '),
    workspace: agent.workspace,
    heartbeat:
      heartbeat.everyMs === 0
        ? null
        : `every ${formatDuration(heartbeat.everyMs)}${heartbeat.target === null ? '' : `, alerts to ${heartbeat.target}`}`,
    chats: [...bound, ...(channels.isDefault ? ['all that no binding matches'] : [])].join(', ') || null,
    tools: toolList.flatMap(({ name, isAllowed, isOffered }) => ((isOffered ?? isAllowed) ? [name] : [])).join(' '),
    'left out':
      toolList.flatMap(({ name, because }) => (because === null ? [] : [`${name} (${because})`])).join(', ') || null,
    'MCP servers': mcpServers.map(({ name, state }) => `${name} (${state})`).join(', ') || null,
  });
  const section = (title: string, lines: readonly string[]): void => {
    if (lines.length > 0)
      terminal.print(['', terminal.paint('bold', title), ...lines.map((line) => `  ${line}`)].join('\n'));
  };
  section(
    'By day',
    days.map(
      (day) =>
        `${day.startsAt.slice(0, 10)}  ${moneyText(day.costUsd)}  ${day.turns} turns${day.failedTurns === 0 ? '' : `, ${day.failedTurns} failed`}`,
    ),
  );
  section(
    'Instructions',
    agent.instructions.flatMap(({ name, versions: [newest, ...older] }) =>
      newest === undefined
        ? []
        : [
            `${name}  ${newest.sha256.slice(0, 12)}  ${newest.chars} characters, since ${terminal.time(newest.since)}${older.length === 0 ? '' : `; ${older.length} earlier`}`,
          ],
    ),
  );
  section(
    'Crons',
    cronList.map(({ id, name, enabled, nextRunAt }) => {
      const next = nextRunAt === null || !enabled ? 'does not fire' : `next ${terminal.time(nextRunAt)}`;
      return `${name}  ${next}  ${id}`;
    }),
  );
  section(
    'Budgets',
    budgets.map(
      ({ scope, per, spentUsd, limitUsd }) => `${scope} per ${per}  ${moneyText(spentUsd)} of ${moneyText(limitUsd)}`,
    ),
  );
  section(
    'Last failures',
    lastFailures.map(
      ({ turnId, title, code, text, since }) => `${terminal.time(since)}  ${title}  ${text} (${code})  ${turnId}`,
    ),
  );
  if (week.simulated) terminal.note(SIMULATED);
}
