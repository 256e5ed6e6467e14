// The tools that every agent starts with, before policy: files of the workspace and its memory, commands, the web, messages, and the
// session's status. Which there are depends on the configuration alone, so that the list of an agent keeps its bytes.
import { editTool } from './edit-tool.ts';
import { createExecTool, type ExecOptions } from './exec-tool.ts';
import { globTool } from './glob-tool.ts';
import { grepTool } from './grep-tool.ts';
import { createReadTool } from './read-tool.ts';
import { memoryGetTool } from '../features/memory/memory-get-tool.ts';
import { createMemorySearchTool, type MemoryIndex } from '../features/memory/memory-search-tool.ts';
import { createMessageTool, type MessageToolOptions } from './message-tool.ts';
import { createProcessTool, type ProcessToolOptions } from './process-tool.ts';
import { createSessionStatusTool, type SessionStatusPort } from './session-status-tool.ts';
import type { Tool } from './tool.ts';
import { createWebFetchTool, type WebFetchOptions } from './web-fetch-tool.ts';
import { writeTool } from './write-tool.ts';

/** The tools whose options are absent do not exist. */
export interface CoreToolOptions {
  exec?: ExecOptions | undefined;
  process?: ProcessToolOptions | undefined;
  memory?: MemoryIndex | undefined;
  webFetch?: WebFetchOptions | undefined;
  message?: MessageToolOptions | undefined;
  sessionStatus: SessionStatusPort;
  /** Folders in addition to the workspace that `read` can access. Absent: none. */
  readRoots?: readonly string[] | undefined;
}

export function createCoreTools(options: CoreToolOptions): Tool[] {
  const { exec, process, memory, webFetch, message, sessionStatus, readRoots = [] } = options;
  return [
    createReadTool(readRoots),
    writeTool,
    editTool,
    grepTool,
    globTool,
    createSessionStatusTool(sessionStatus),
    ...(exec === undefined ? [] : [createExecTool(exec)]),
    ...(process === undefined ? [] : [createProcessTool(process)]),
    ...(memory === undefined ? [] : [createMemorySearchTool(memory), memoryGetTool]),
    ...(webFetch === undefined ? [] : [createWebFetchTool(webFetch)]),
    ...(message === undefined ? [] : [createMessageTool(message)]),
  ];
}
