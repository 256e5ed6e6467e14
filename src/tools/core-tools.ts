// The tools that every agent starts with, before policy: files of the workspace, commands, the web,
// messages, and the session's status. Features have further ones. Which there are depends on the
// configuration alone, so that the list of an agent keeps its bytes.
import { editTool, createReadTool, writeTool } from './file-tools.ts';
import { createExecTool, type ExecOptions } from './exec-tool.ts';
import { globTool } from './glob-tool.ts';
import { grepTool } from './grep-tool.ts';
import { createMessageTool, type MessageToolOptions } from './message-tool.ts';
import { createProcessTool, type ProcessToolOptions } from './process-tool.ts';
import { createSessionStatusTool, type SessionStatusPort } from './session-status-tool.ts';
import type { Tool } from './tool.ts';
import { createWebFetchTool, type WebFetchOptions } from './web-fetch-tool.ts';

/** The tools whose options are absent do not exist. */
export interface CoreToolOptions {
  exec?: ExecOptions | undefined;
  process?: ProcessToolOptions | undefined;
  webFetch?: WebFetchOptions | undefined;
  message?: MessageToolOptions | undefined;
  sessionStatus: SessionStatusPort;
  /** Folders in addition to the workspace that `read` can access. Absent: none. */
  readRoots?: readonly string[] | undefined;
}

export function createCoreTools(options: CoreToolOptions): Tool[] {
  const { exec, process, webFetch, message, sessionStatus, readRoots = [] } = options;
  return [
    createReadTool(readRoots),
    writeTool,
    editTool,
    grepTool,
    globTool,
    createSessionStatusTool(sessionStatus),
    ...(exec === undefined ? [] : [createExecTool(exec)]),
    ...(process === undefined ? [] : [createProcessTool(process)]),
    ...(webFetch === undefined ? [] : [createWebFetchTool(webFetch)]),
    ...(message === undefined ? [] : [createMessageTool(message)]),
  ];
}
