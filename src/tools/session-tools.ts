// The tools about sessions and subagents, before policy. Which of them a subagent has is said in `core/subagent-role.ts`.
import { createAgentsListTool } from './agents-list-tool.ts';
import { createSessionsHistoryTool } from './sessions-history-tool.ts';
import { createSessionsListTool } from './sessions-list-tool.ts';
import type { SessionsPort } from './sessions-port.ts';
import { createSessionsSendTool } from './sessions-send-tool.ts';
import { createSessionsSpawnTool } from './sessions-spawn-tool.ts';
import { createSessionsYieldTool } from './sessions-yield-tool.ts';
import { createSubagentsTool } from './subagents-tool.ts';
import type { Tool } from './tool.ts';

/** All of them over one port. */
export function createSessionTools(port: SessionsPort): Tool[] {
  return [
    createAgentsListTool(port),
    createSessionsListTool(port),
    createSessionsHistoryTool(port),
    createSessionsSendTool(port),
    createSessionsSpawnTool(port),
    createSessionsYieldTool(port),
    createSubagentsTool(port),
  ];
}
