// The agents of the configuration: all of them with a summary, and one with all that belongs to it.
import { agentOf, isAgent, type AgentSettings, type Config } from '../../config.ts';
import type { ApiContext } from '../../api/context.ts';
import { notFound } from '../../api/problem.ts';
import { defineRead, type Route } from '../../api/route.ts';
import type { UsageItem } from '../../contract/costs.ts';
import type { PauseView } from '../../contract/pauses.ts';
import { EVERYTHING, holdsAgent, type Scope } from '../../core/scope.ts';
import { BUILT_IN_TOOLS } from '../../core/tool-policy.ts';
import { listPauses } from '../../kernel/views/pauses.ts';
import { listTurns } from '../../kernel/views/turns.ts';
import { budgetBookOf } from '../budgets/rounds.ts';
import { toBudgetView } from '../budgets/routes.ts';
import { listBindings } from '../channels/rules/bindings.ts';
import { viewUsage } from '../costs/views.ts';
import { listCrons, toCronView } from '../crons/views.ts';
import { listServers, listTools } from '../mcp/views.ts';
import { agentDetails, agentList, type AgentDetails, type AgentTool, type AgentView } from './contract.ts';
import { approvalOf, versionsOf, whyLeftOut, type NamedPolicy } from './rules.ts';
import { countByAgent, sumUsage, viewPrompts, type AgentPrompts } from './views.ts';

const DAY_MS = 86_400_000;
/** Today and the days before. */
const DAYS = 7;
const CRONS_MAX = 50;
const FAILURES_MAX = 5;

const getAgents = defineRead({
  operationId: 'listAgents',
  belongs: 'list',
  path: '/v1/agents',
  summary: 'The agents with a summary of their settings, their crons and sessions, and what they did in a week',
  shows: { description: 'All agents', schema: agentList },
  async read({ principal: { scope } }, { context }) {
    const ids = context.config.agents.list.map(({ id }) => id).filter((id) => holdsAgent(scope, id));
    return { items: (await viewAgents(context, ids, scope)).map(({ view }) => view), nextCursor: null };
  },
});

/** Agents, each with its days. */
async function viewAgents(
  context: ApiContext,
  ids: string[],
  scope: Scope,
): Promise<{ view: AgentView; days: UsageItem[] }[]> {
  const { config, views, clock } = context;
  const nowMs = clock.now().getTime();
  const from = new Date((Math.floor(nowMs / DAY_MS) - DAYS + 1) * DAY_MS);
  // A minute more: the clock of the database may be ahead.
  const to = new Date(nowMs + 60_000);
  const [counts, pauses, usage] = await Promise.all([
    countByAgent(views, ids, scope),
    listPauses(views),
    viewUsage(views, { by: 'day', from, to, group: 'agent', scope }),
  ]);
  return counts.map(({ id, ...counted }) => {
    const days = usage.filter(({ group }) => group === id);
    const { model, fallbacks, thinking, promptMode, workspaceDir, toolPolicies, heartbeat } = agentOf(config, id);
    const view = {
      id,
      paused: pauses.find((pause) => holdsAll(pause, id)) ?? null,
      week: sumUsage(days),
      model,
      fallbacks,
      thinking,
      promptMode,
      workspace: workspaceDir,
      toolPolicies: toolPolicies.map(({ allow, deny = [] }) => (allow === undefined ? { deny } : { allow, deny })),
      heartbeat: {
        everyMs: heartbeat.every,
        target: heartbeat.target,
        activeHours: heartbeat.activeHours ?? null,
        gate: classifyGate(heartbeat.when),
      },
      ...counted,
    };
    return { view, days };
  });
}

/** Whether a pause holds every session of an agent. */
function holdsAll({ lane, agent, session }: PauseView, id: string): boolean {
  return lane === null && session === null && (agent === null || agent === id);
}

/** The kind of a gate: its command or address can contain a secret. */
function classifyGate(gate: AgentSettings['heartbeat']['when']): 'command' | 'url' | 'file' | null {
  return (['command', 'url', 'file'] as const).find((kind) => gate?.[kind] !== undefined) ?? null;
}

const getAgent = defineRead({
  operationId: 'getAgent',
  belongs: 'agent',
  path: '/v1/agents/{agent}',
  summary: 'One agent: its instructions, tools, crons, budgets, chats, failures and costs, and whether it is paused',
  shows: { description: 'The agent', schema: agentDetails },
  async read({ params: { agent }, principal: { scope } }, { context }) {
    if (!isAgent(context.config, agent)) throw notFound(`agent ${agent}`);
    return viewDetails(context, agent, scope);
  },
});

async function viewDetails(context: ApiContext, id: string, scope: Scope): Promise<AgentDetails> {
  const { config, views, reads, service, modelInfo } = context;
  const names = config.workspace.bootstrapFiles;
  const failed = { scope, agentId: id, statuses: ['failed', 'timedOut'] as ('failed' | 'timedOut')[], hasSteps: false };
  // What has routes of its own that are refused to the caller is left out.
  const ofService = <Item>(all: readonly Item[]): Item[] => (scope === EVERYTHING ? [...all] : []);
  const [viewed, prompts, crons, budgets, servers, failures] = await Promise.all([
    viewAgents(context, [id], scope),
    viewPrompts(service, { agentId: id, names, scope }),
    listCrons(views, { agentId: id }, { limit: CRONS_MAX, after: null }),
    budgetBookOf(service).read(),
    listServers(config, reads),
    listTurns(views, failed, { limit: FAILURES_MAX, after: null }),
  ]);
  const { defaultAgent, items } = listBindings(config);
  const mcpServers = servers.filter(({ agents }) => agents === null || agents.includes(id));
  // One id, one agent.
  const { view, days } = viewed[0]!;
  return {
    ...view,
    days,
    instructions: names.map((name) => ({
      name,
      text: prompts.files.find(({ files }) => files.has(name))?.files.get(name)?.text ?? null,
      versions: versionsOf(name, prompts.files),
    })),
    toolList: await listAgentTools(
      context,
      id,
      mcpServers.map(({ name }) => name),
      prompts.toolNames,
    ),
    mcpServers: ofService(mcpServers),
    cronList: ofService(crons.items.map(toCronView)),
    budgets: ofService(budgets)
      .filter((budget) => budget.scope === 'all' || budget.scope === `agent:${id}`)
      .map((budget) => toBudgetView(budget, modelInfo)),
    channels: { isDefault: defaultAgent === id, bindings: ofService(items.filter(({ agent }) => agent === id)) },
    lastFailures: failures.items.flatMap(({ id: turnId, title, sessionKey, sessionTitle, error, endedAt, nextStep }) =>
      error === null || endedAt === null
        ? []
        : [
            {
              turnId,
              title,
              sessionKey,
              sessionTitle,
              code: error.code,
              text: error.message,
              since: endedAt,
              nextStep,
            },
          ],
    ),
  };
}

/** The tools that the configuration, the servers and the newest turn name. */
async function listAgentTools(
  { config, reads }: ApiContext,
  id: string,
  servers: readonly string[],
  offered: AgentPrompts['toolNames'],
): Promise<AgentTool[]> {
  const policies = policiesOf(config, id);
  const rules = config.tools.approvals.rules;
  const tool = (
    name: string,
    origin: AgentTool['origin'],
    more: Partial<Pick<AgentTool, 'server' | 'because' | 'approval'>> = {},
  ): AgentTool => {
    const because = more.because ?? whyLeftOut(name, policies);
    const approval = more.approval ?? approvalOf(name, id, rules);
    const isOffered = offered === null ? null : offered.has(name);
    return { name, origin, server: more.server ?? null, isAllowed: because === null, because, approval, isOffered };
  };
  const ofServers = await Promise.all(
    servers.map(async (server) => ({ server, tools: await listTools(config, reads, server) })),
  );
  const known = [
    ...BUILT_IN_TOOLS.map((name) => tool(name, 'holdfast')),
    ...ofServers.flatMap(({ server, tools }) =>
      (tools ?? []).map(({ offeredAs, leftOut, approval }) =>
        tool(offeredAs, 'mcp', { server, because: leftOut, approval }),
      ),
    ),
    ...config.tools.external.map(({ name }) => tool(name, 'external')),
  ];
  const names = new Set(known.map(({ name }) => name));
  return [...known, ...[...(offered ?? [])].filter((name) => !names.has(name)).map((name) => tool(name, 'plugin'))];
}

/** The policy of all agents and that of one, by their settings. */
function policiesOf(config: Config, id: string): NamedPolicy[] {
  const [ofAll, own] = agentOf(config, id).toolPolicies;
  return [
    { setting: 'tools', ...ofAll },
    { setting: `agents.list.${id}.tools`, ...own },
  ];
}

export const routes: Route[] = [getAgents, getAgent];
