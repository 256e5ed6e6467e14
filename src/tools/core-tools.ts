// The tools that every agent starts with, before policy: files of the workspace, commands, and the session's status.
import { editTool } from './edit-tool.ts';
import { createExecTool, type ExecOptions } from './exec-tool.ts';
import { globTool } from './glob-tool.ts';
import { grepTool } from './grep-tool.ts';
import { readTool } from './read-tool.ts';
import { createSessionStatusTool, type SessionStatusSource } from './session-status-tool.ts';
import type { Tool } from './tool.ts';
import { writeTool } from './write-tool.ts';

export interface CoreToolOptions {
  /** Absent: there is no `exec`. */
  exec?: ExecOptions | undefined;
  sessionStatus: SessionStatusSource;
}

export function createCoreTools({ exec, sessionStatus }: CoreToolOptions): Tool[] {
  const tools = [readTool, writeTool, editTool, grepTool, globTool, createSessionStatusTool(sessionStatus)];
  return exec === undefined ? tools : [...tools, createExecTool(exec)];
}
