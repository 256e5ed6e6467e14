// Serves the `session_status` tool: the session's row and figures, and the one override that an agent may set for its own session.
import type { Clock } from '../src/clock.ts';
import { agentOf, isAgent, modelFault, type Config } from '../src/config.ts';
import { sessionSettings } from '../src/config/session-settings.ts';
import type { Database } from '../src/store/database.ts';
import { drizzle } from '../src/store/drizzle.ts';
import { patchSession } from '../src/store/patch-session.ts';
import { readSessionUsage } from '../src/store/session-usage.ts';
import type { SessionStatusPort } from '../src/tools/session-status-tool.ts';

/** Makes the port of a worker. */
export function createSessionStatusPort(parts: {
  config: Config;
  clock: Clock;
  database: Database;
}): SessionStatusPort {
  const { config, clock, database } = parts;
  const views = drizzle({ client: database.views });
  return {
    async status({ sessionKey, agentId }) {
      const agent = agentOf(config, isAgent(config, agentId) ? agentId : (config.agents.list[0]?.id ?? 'main'));
      const about = { now: clock.now(), timezone: agent.userTimezone };
      const row = await readSessionUsage(database, sessionKey);
      if (row === null) return about;
      const { facts, cacheReadTokens, cacheWriteTokens, turns } = row;
      const { input, output, context } = facts.tokens;
      const usage = {
        inputTokens: input,
        outputTokens: output,
        contextTokens: context,
        contextTokensMax: agent.contextTokens,
        cacheReadTokens,
        cacheWriteTokens,
        turns,
      };
      return { ...about, session: { settings: sessionSettings(config, facts), usage } };
    },
    async setModel({ sessionKey, agentId }, model) {
      const fault = model === null ? null : modelFault(config, agentId, model);
      if (fault !== null) return fault;
      return (await patchSession(views, sessionKey, { model })) ? null : 'this session no longer exists';
    },
  };
}
