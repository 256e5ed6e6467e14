// Serves the `session_status` tool: the session's row and figures, and the one override that an agent may set for its own session.
import type { Clock } from '../src/clock.ts';
import { agentOrFirst } from '../src/config.ts';
import { sessionSettings } from '../src/config/session-settings.ts';
import { overrideSession } from '../src/service/override-session.ts';
import type { Service } from '../src/service/service.ts';
import { createReadSessionUsage } from '../src/store/session-usage.ts';
import type { SessionStatusPort } from '../src/tools/session-status-tool.ts';

/** Makes the port of a worker. */
export function createSessionStatusPort(service: Service, clock: Clock): SessionStatusPort {
  const { config, database } = service;
  const readSessionUsage = createReadSessionUsage(database);
  return {
    async status({ sessionKey, agentId, tokens }) {
      const agent = agentOrFirst(config, agentId);
      const about = { now: clock.now(), timezone: agent.userTimezone };
      const row = await readSessionUsage(sessionKey);
      if (row === null) return about;
      const { facts, cacheReadTokens, cacheWriteTokens, turns } = row;
      const { input, output, context } = facts.tokens;
      // The row has what ended turns have used.
      const usage = {
        inputTokens: input + tokens.inputTokens + tokens.cacheReadTokens + tokens.cacheWriteTokens,
        outputTokens: output + tokens.outputTokens,
        contextTokens: tokens.contextTokens || context,
        contextTokensMax: agent.contextTokens,
        cacheReadTokens: cacheReadTokens + tokens.cacheReadTokens,
        cacheWriteTokens: cacheWriteTokens + tokens.cacheWriteTokens,
        turns: turns + 1,
      };
      return { ...about, session: { settings: sessionSettings(config, facts), usage } };
    },
    async setModel({ sessionKey }, model) {
      const set = await overrideSession(service, sessionKey, { model });
      if (set.kind === 'refused') return set.message;
      return set.kind === 'done' ? null : 'this session no longer exists';
    },
  };
}
