// Tools that other programs run: what a definition says, and the id of a call of one.
import { callerCallId, parseCallerCallId, type CallerCall } from './client-ids.ts';

export interface ExternalTool {
  name: string;
  description: string;
  /** JSON Schema of type object. */
  inputSchema: Record<string, unknown>;
  /** How long a call waits for its result, in milliseconds. */
  timeout: number;
}

/** The most tools of one message. */
export const EXTERNAL_TOOLS_MAX = 64;

/** A name that the model of any provider takes. */
export const TOOL_NAME = /^[A-Za-z][\w-]{0,63}$/;
export const TOOL_NAME_TEXT = 'expected a letter and at most 63 more letters, digits, "_" and "-"';

/** The id of a call of an external tool: it names its row in the ledger. */
export const toolCallId = (place: CallerCall): string => callerCallId(place);

/** Null: no call has such an id. */
export const parseToolCallId = (id: string): CallerCall | null => parseCallerCallId(id);
