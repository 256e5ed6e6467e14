// What the demo has the scripted model do, as data: the same list of steps becomes the directives
// in the message and the labels on the screen, so the two cannot differ.

export interface ScriptedStep {
  /** The tool. */
  name: string;
  input: Record<string, unknown>;
  /** Its action, for people. */
  label: string;
  /** The status with which the model that is asked for it first refuses. */
  refusedWith?: number;
}

export interface ScriptedMessage {
  /** The user's text. */
  text: string;
  /** One tool call each, one after the other. */
  steps: readonly ScriptedStep[];
  /** The model's last text. */
  reply: string;
}

/**
 * Between two events of the reply, so that the reader can watch it being written, in milliseconds.
 */
const REPLY_PACE_MS = 60;

/** The message as it is sent: the user's words, then the directives. */
export function messageTextOf({ text, steps, reply }: ScriptedMessage): string {
  const calls = steps.map(({ name, input, refusedWith }) => {
    const refusal = refusedWith === undefined ? '' : `[[error: ${refusedWith}]] `;
    return `${refusal}[[tool: ${name} ${JSON.stringify(input)}]]`;
  });
  return [text, ...calls, `[[slow: ${REPLY_PACE_MS}]] [[reply: ${reply}]]`].join('\n');
}
